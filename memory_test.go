package tarn_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// With memory that is used again, what is written, merged and read again and again
// is right, and a batch that was retained stays as it is.
func TestRecycledMemory(t *testing.T) {
	const n = 20_000
	ctx, mem := t.Context(), tarn.RecycledMemory()
	cat, err := tarn.Open(ctx, t.TempDir(), tarn.Config{Durability: fileio.OS, Components: tarn.Components{Allocator: mem}})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	spec := schema.Spec{
		Fields:      []types.Field{{Name: "k", Type: types.MustParse("BIGINT")}, {Name: "s", Type: types.MustParse("STRING")}},
		PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1", "write-only": "true"},
	}
	if err := cat.CreateDatabase(ctx, "db", false); err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateTable(ctx, keyTable, spec, false); err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.LoadTable(ctx, keyTable)
	if err != nil {
		t.Fatal(err)
	}
	// read gives the texts of all rows and a batch that it retained.
	read := func() (out []string, kept arrow.RecordBatch) {
		r, err := tbl.Scan(ctx, table.Scan{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			rec, err := r.Next(ctx)
			if err == io.EOF {
				return out, kept
			}
			if err != nil {
				t.Fatal(err)
			}
			if kept == nil {
				kept = rec
				kept.Retain()
			}
			for i := range int(rec.NumRows()) {
				out = append(out, fmt.Sprint(rec.Column(0).(*array.Int64).Value(i), rec.Column(1).(*array.String).Value(i)))
			}
		}
	}
	var held []arrow.RecordBatch
	for commit := range 3 {
		b := array.NewRecordBuilder(mem, tbl.ArrowSchema())
		for k := range n {
			b.Field(0).(*array.Int64Builder).Append(int64(k))
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("text %d of commit %d", k, commit))
		}
		rec := b.NewRecordBatch()
		b.Release()
		w, err := tbl.NewBatchWrite(ctx, table.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		if _, err := w.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := make([]string, n)
		for k := range want {
			want[k] = fmt.Sprint(k, fmt.Sprintf("text %d of commit %d", k, commit))
		}
		for range 3 {
			got, kept := read()
			if !slices.Equal(got, want) {
				t.Fatalf("commit %d: %d rows, not those written", commit, len(got))
			}
			held = append(held, kept)
		}
	}
	for i, rec := range held {
		for _, row := range []int{0, int(rec.NumRows()) - 1} {
			k := rec.Column(0).(*array.Int64).Value(row)
			if got, want := rec.Column(1).(*array.String).Value(row), fmt.Sprintf("text %d of commit %d", k, i/3); got != want {
				t.Errorf("read %d: %q, want %q", i, got, want)
			}
		}
		rec.Release()
	}
}
