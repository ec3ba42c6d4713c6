package tarn_test

import (
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// Rows whose keys or sequence fields are the two zeroes, one commit each in one
// bucket: what is read is what Java 1.4.2 reads. (Later Java keeps −0.0 and 0.0
// apart.)
func TestZeroesInKeysAndSequences(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, c := range []struct {
		name     string
		key, seq string
		rows     [][2]float64 // key or sequence field, value
		want     []string
	}{
		{"a key, 0.0 last", "d", "", [][2]float64{{0, 1}, {negative, 2}, {0, 3}}, []string{"0 3"}},
		{"a key, -0.0 last", "d", "", [][2]float64{{0, 1}, {0, 2}, {negative, 3}}, []string{"-0 3"}},
		{"a sequence field, -0.0 last", "k", "d", [][2]float64{{0, 1}, {negative, 2}}, []string{"-0 2"}},
		{"a sequence field, 0.0 last", "k", "d", [][2]float64{{negative, 1}, {0, 2}}, []string{"0 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			cat, err := openOS(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			if err := cat.CreateDatabase(ctx, "db", false); err != nil {
				t.Fatal(err)
			}
			spec := schema.Spec{
				Fields: []types.Field{
					{Name: "k", Type: types.MustParse("BIGINT")}, {Name: "d", Type: types.MustParse("DOUBLE")}, {Name: "v", Type: types.MustParse("BIGINT")},
				},
				PrimaryKeys: []string{c.key}, Options: map[string]string{"bucket": "1"},
			}
			if c.seq != "" {
				spec.Options["sequence.field"] = c.seq
			}
			if err := cat.CreateTable(ctx, keyTable, spec, false); err != nil {
				t.Fatal(err)
			}
			tbl, err := cat.LoadTable(ctx, keyTable)
			if err != nil {
				t.Fatal(err)
			}
			w, err := tbl.NewStreamWrite(ctx, table.WriteOptions{User: "u"})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			for i, r := range c.rows {
				b := array.NewRecordBuilder(memory.DefaultAllocator, tbl.ArrowSchema())
				b.Field(0).(*array.Int64Builder).Append(7)
				b.Field(1).(*array.Float64Builder).Append(r[0])
				b.Field(2).(*array.Int64Builder).Append(int64(r[1]))
				rec := b.NewRecordBatch()
				b.Release()
				err := w.Write(ctx, rec)
				rec.Release()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Commit(ctx, int64(i)+1); err != nil {
					t.Fatal(err)
				}
			}
			r, err := tbl.Scan(ctx, table.Scan{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for {
				rec, err := r.Next(ctx)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(rec.NumRows()) {
					got = append(got, fmt.Sprint(rec.Column(1).(*array.Float64).Value(i), rec.Column(2).(*array.Int64).Value(i)))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("rows %q, want %q", got, c.want)
			}
		})
	}
}
