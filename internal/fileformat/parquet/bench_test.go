package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// benchFields are the ten columns of the peers' benchmark: 93 bytes a row as
// Arrow, 41 as Parquet.
func benchFields() []types.Field {
	return []types.Field{
		field(0, "k", "BIGINT NOT NULL"), field(1, "seq", "BIGINT"), field(2, "cat", "STRING"), field(3, "amt", "DECIMAL(12,2)"),
		field(4, "n", "INT"), field(5, "d", "DOUBLE"), field(6, "h", "STRING"), field(7, "ts", "TIMESTAMP(3)"),
		field(8, "day", "DATE"), field(9, "ok", "BOOLEAN"),
	}
}

const benchRows = 500_000

func benchRecord(b testing.TB) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([][]types.Value, benchRows)
	for i := range rows {
		var d types.Value
		if r.IntN(10) > 0 {
			d = r.Float64() * 1000
		}
		rows[i] = []types.Value{
			int64(i) * 3, r.Int64N(1 << 40), fmt.Sprintf("category-%02d", r.IntN(100)), decimalValue(r.Int64N(1_000_000)),
			int64(r.IntN(1000)), d, fmt.Sprintf("%08x%08x%04x", r.Uint32(), r.Uint32(), r.Uint32()&0xffff),
			types.Instant{Millis: 1_700_000_000_000 + int64(i)*37}, int32(19_000 + r.IntN(365)), r.IntN(2) == 0,
		}
	}
	return record(b, memory.NewGoAllocator(), benchFields(), rows)
}

func report(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkWrite(b *testing.B) {
	rec := benchRecord(b)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, s := write(b, benchFields(), fileformat.WriteOptions{Workers: workers}, rec)
				b.SetBytes(s.FileSize)
			}
			report(b, benchRows)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	rec := benchRecord(b)
	fs, _ := write(b, benchFields(), fileformat.WriteOptions{Workers: 2}, rec)
	all := benchFields()
	where := func(lo, hi int64) *expr.Bound {
		w, err := expr.Bind(expr.And{expr.Compare{Column: "k", Op: expr.Ge, Value: lo}, expr.Compare{Column: "k", Op: expr.Lt, Value: hi}}, all)
		if err != nil {
			b.Fatal(err)
		}
		return w
	}
	for _, c := range []struct {
		name string
		req  fileformat.ReadRequest
	}{
		{"all/workers=1", fileformat.ReadRequest{Columns: all}},
		{"all/workers=2", fileformat.ReadRequest{Columns: all, Workers: 2}},
		{"all/hold=8MiB", fileformat.ReadRequest{Columns: all, Hold: 8 << 20}},
		{"two/workers=1", fileformat.ReadRequest{Columns: []types.Field{all[2], all[4]}}},
		{"key=1percent", fileformat.ReadRequest{Columns: all, Where: where(benchRows, benchRows+benchRows*3/100)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				readAll(b, fs, c.req)
			}
			report(b, benchRows)
		})
	}
}

func readAll(b *testing.B, fs *mem.FS, req fileformat.ReadRequest) {
	info, err := fs.Stat(context.Background(), testPath)
	if err != nil {
		b.Fatal(err)
	}
	f, err := Open(context.Background(), fs, testPath, info.Size, memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r, err := f.Read(context.Background(), req)
	if err != nil {
		b.Fatal(err)
	}
	if err := eachBatch(r, func(arrow.RecordBatch) error { return nil }); err != nil {
		b.Fatal(err)
	}
}
