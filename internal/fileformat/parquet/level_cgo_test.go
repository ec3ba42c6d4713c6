//go:build cgo

package parquet

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// Numbers with as many zeroes as others take no more bytes than with Java's zstd,
// which streams: 3.36 a value of three random ones. Where the table names a level, pages
// are compressed as asked for.
func TestFewRandomBytesAreCompressedWell(t *testing.T) {
	const n = 60_000
	rnd := rand.New(rand.NewPCG(7, 8))
	fields := []types.Field{field(0, "v", "BIGINT NOT NULL")}
	file := func(limit int64, opts fileformat.WriteOptions) (int64, arrow.RecordBatch) {
		rows := make([][]types.Value, n)
		for i := range rows {
			rows[i] = []types.Value{rnd.Int64N(limit)}
		}
		rec := record(t, memory.NewGoAllocator(), fields, rows)
		fs, s := write(t, fields, opts, rec)
		f := open(t, fs, memory.DefaultAllocator)
		got, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: fields})
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		back, err := got.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(back.NumRows()) {
			if a, b := back.Column(0).ValueStr(i), rec.Column(0).ValueStr(i); a != b {
				t.Fatalf("row %d is %s, was %s", i, a, b)
			}
		}
		return s.FileSize, rec
	}
	few, _ := file(10_000_000, fileformat.WriteOptions{})
	if per := float64(few) / n; per > 3.40 {
		t.Errorf("%.3f bytes a value of three random bytes", per)
	}
	if size, _ := file(10_000_000, fileformat.WriteOptions{ZstdLevel: 3}); size == few {
		t.Error("a level that the table names makes no difference")
	}
}
