package parquet

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// The parts of a file are its rows, whatever rows they end between, also with
// a predicate, whose rows come from one part alone.
func TestPartsOfAFile(t *testing.T) {
	f, fields, _ := sortedFile(t, memory.NewGoAllocator())
	all := rowsOf(t, f, fileformat.ReadRequest{Columns: fields})
	r := rand.New(rand.NewPCG(2, 3))
	for range 40 {
		cuts := []int{0}
		for at := 0; at < len(all); at = cuts[len(cuts)-1] {
			cuts = append(cuts, min(len(all), at+1+r.IntN(400)))
		}
		var got []string
		for i, from := range cuts[:len(cuts)-1] {
			got = append(got, rowsOf(t, f, fileformat.ReadRequest{Columns: fields, From: int64(from), To: int64(cuts[i+1]), BatchRows: 1 + r.IntN(300)})...)
		}
		sameRows(t, got, all)
	}
	id := r.IntN(len(all))
	where, err := expr.Bind(expr.Compare{Column: "id", Op: expr.Eq, Value: int64(id)}, fields)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for from := 0; from < len(all); from += 100 {
		for _, row := range rowsOf(t, f, fileformat.ReadRequest{Columns: fields, Where: where, From: int64(from), To: int64(from + 100)}) {
			if row == all[id] {
				found++
			}
		}
	}
	if found != 1 {
		t.Errorf("row %d came %d times", id, found)
	}
	if got := rowsOf(t, f, fileformat.ReadRequest{Columns: fields[:1], From: 900}); len(got) != 100 {
		t.Errorf("%d rows from 900 on", len(got))
	}
	for _, part := range [][2]int64{{-1, 0}, {5, 4}, {0, 1001}, {1001, 0}} {
		if _, err := f.Read(context.Background(), fileformat.ReadRequest{Columns: fields, From: part[0], To: part[1]}); tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%v: %v", part, err)
		}
	}
}

func TestPortable(t *testing.T) {
	alloc := checked(t)
	fields := []types.Field{field(0, "a", "INT")}
	rec := record(t, alloc, fields, [][]types.Value{{int64(1)}})
	defer rec.Release()
	for _, name := range []string{"zstd", "snappy", "gzip", "none"} {
		fs, _ := write(t, fields, fileformat.WriteOptions{Mem: alloc, Compression: name}, rec)
		f := open(t, fs, alloc)
		if !f.Portable() {
			t.Error(name)
		}
		f.meta.groups[0].columns[0].codec = codecLZ4
		if f.Portable() {
			t.Error("the LZ4 of Hadoop is portable")
		}
	}
}
