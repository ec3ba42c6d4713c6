package parquet

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// boundedRows reads a file with batches of at most so many bytes.
func boundedRows(t *testing.T, f *File, req fileformat.ReadRequest, most int64) (rows []string, batches int, err error) {
	t.Helper()
	r, err := f.reader(req)
	if err != nil {
		return nil, 0, err
	}
	r.columns.allowance.Most = most
	if r.narrowing != nil {
		r.narrowing.columns.allowance.Most = most
	}
	err = eachBatch(fileformat.NewReader(r.columns.schema, "Parquet", testPath, r), func(rec arrow.RecordBatch) error {
		rows, batches = append(rows, textOf(req.Columns, rec)...), batches+1
		return nil
	})
	return rows, batches, err
}

// TestLargeBatches: what gets too large for one batch comes in several, with the
// same rows. A row alone that is too large is an error with its place.
func TestLargeBatches(t *testing.T) {
	alloc := checked(t)
	fields := []types.Field{
		field(0, "id", "BIGINT NOT NULL"), field(1, "same", "STRING"), field(2, "list", "ARRAY<ROW<a BIGINT, b STRING>>"), field(3, "m", "MAP<INT, ARRAY<INT>>"),
	}
	var rows [][]types.Value
	text := strings.Repeat("a text that is often the same ", 30)
	for i := range 1500 {
		var list []types.Value
		for k := range i % 7 * 5 {
			if k%3 == 0 {
				list = append(list, nil)
			} else {
				list = append(list, []types.Value{int64(k), nil})
			}
		}
		entry := types.Entry{Key: int64(i), Value: []types.Value{nil, int64(i), nil}}
		rows = append(rows, []types.Value{int64(i), text[:i%900], list, []types.Entry{entry}})
	}
	rec := record(t, alloc, fields, rows)
	defer rec.Release()
	fs, _ := write(t, fields, fileformat.WriteOptions{Options: map[string]string{"parquet.page.row.count.limit": "200", "parquet.block.size": "40000"}}, rec)
	f := open(t, fs, alloc)
	where, err := expr.Bind(expr.Compare{Column: "id", Op: expr.Gt, Value: 700}, fields)
	if err != nil {
		t.Fatal(err)
	}
	for name, req := range map[string]fileformat.ReadRequest{
		"all": {Columns: fields, Workers: 2}, "part": {Columns: fields, From: 130, To: 1311}, "filtered": {Columns: fields, Where: where},
		"other members": {Columns: []types.Field{fields[0], field(2, "list", "ARRAY<ROW<a BIGINT, b STRING, other BIGINT>>")}},
	} {
		t.Run(name, func(t *testing.T) {
			want := rowsOf(t, f, req)
			before := 0
			for _, most := range []int64{1 << 30, 200_000, 20_000} {
				got, batches, err := boundedRows(t, f, req, most)
				if err != nil {
					t.Fatal(err)
				}
				sameRows(t, got, want)
				if batches <= before {
					t.Errorf("%d batches of %d bytes, %d before", batches, most, before)
				}
				before = batches
			}
		})
	}
	_, _, err = boundedRows(t, f, fileformat.ReadRequest{Columns: fields[2:]}, 100)
	if !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "too much memory") || !strings.Contains(err.Error(), "path="+testPath) ||
		!strings.Contains(err.Error(), "column=") || !strings.Contains(err.Error(), "rowGroup=") {
		t.Errorf("%v", err)
	}
}

// TestClaimedEntries: a page of a few bytes that claims to hold lists of two
// thousand million nulls.
func TestClaimedEntries(t *testing.T) {
	fields := []types.Field{field(0, "list", "ARRAY<BIGINT>")}
	rec := record(t, checked(t), fields, [][]types.Value{{[]types.Value{nil, nil, nil}}})
	defer rec.Release()
	fs, _ := write(t, fields, fileformat.WriteOptions{Compression: "none"}, rec)
	data := content(t, fs)
	f, err := openBytes(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l := newLeafReader(f, f.leaves[0], nil, columnOf(t), true)
	alloc := &formattest.Peak{Allocator: checked(t)}
	l.out.Mem = alloc
	l.dec, _, err = leafDecoder(f.leaves[0], types.Type{Root: types.BigInt, Nullable: true})
	if err != nil {
		t.Fatal(err)
	}
	l.out.Allowance.Most = 1 << 20
	l.out.Allowance.Begin(true)
	const claim = 1<<31 - 1
	run := []byte{0xfe, 0xff, 0xff, 0xff, 0x0f} // as many times what follows
	l.rows, l.left = 1, claim
	l.defs, l.reps = newHybrid(append(run, 2), 2), newHybrid(append(append([]byte{2, 0}, run...), 1), 1)
	if err := l.dec.page(encPlain, nil, claim); err != nil {
		t.Fatal(err)
	}
	err = l.takeNested(t.Context(), 1, true)
	l.out.Release()
	if !errors.Is(err, errMemory) || alloc.Most() > 3<<20 || cap(l.batchDefs) > 3<<20 {
		t.Errorf("%v, after %d bytes and %d levels", err, alloc.Most(), cap(l.batchDefs))
	}
}

// TestPageBombs: a page does not decompress to any size.
func TestPageBombs(t *testing.T) {
	src := make([]byte, 10_000)
	if _, err := decompress(codecZstd, nil, src, 1<<30); !errors.Is(err, errBomb) {
		t.Errorf("a gigabyte of ten kilobytes: %v", err)
	}
	if _, err := decompress(codecZstd, nil, src, 32<<20); errors.Is(err, errBomb) {
		t.Errorf("%v", err)
	}
}

// TestFooterBombs: lists of a footer are bounded.
func TestFooterBombs(t *testing.T) {
	for _, n := range []int{maxColumns, maxColumns + 1} {
		b := []byte{0x29, 0xfc} // member 2, a list of structs
		for v := n; ; v >>= 7 {
			if v < 0x80 {
				b = append(b, byte(v))
				break
			}
			b = append(b, byte(v)|0x80)
		}
		b = append(b, make([]byte, n+1)...)
		if m, ok := decodeFooter(b); ok != (n == maxColumns) || ok && len(m.schema) != n {
			t.Errorf("%d elements: %d, %v", n, len(m.schema), ok)
		}
	}
	if _, ok := decodeFooter(append([]byte{0x49, 0x1c, 0x19, 0x1c, 0, 0}, 0)); ok {
		t.Error("a chunk of which nothing is said")
	}
}
