package orc

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// BenchmarkRead reads the file that TARN_ORC_FILE names (testdata/bench.py makes
// one with the columns of the peers' benchmark), else a small one.
func BenchmarkRead(b *testing.B) {
	path := os.Getenv("TARN_ORC_FILE")
	if path == "" {
		path = "testdata/scalars-zstd.orc"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	fs := mem.New(mem.Posix)
	if err := fileio.WriteFile(context.Background(), fs, testPath, data); err != nil {
		b.Fatal(err)
	}
	open := func() *File {
		f, err := Open(context.Background(), fs, testPath, int64(len(data)), memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	f := open()
	all := f.Fields()
	f.Close()
	run := func(name string, req fileformat.ReadRequest) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			rows := int64(0)
			for b.Loop() {
				f := open()
				r, err := f.Read(context.Background(), req)
				if err != nil {
					b.Fatal(err)
				}
				if err := eachBatch(r, func(rec arrow.RecordBatch) error { rows += rec.NumRows(); return nil }); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
	for _, workers := range []int{1, 2} {
		run(fmt.Sprintf("all/workers=%d", workers), fileformat.ReadRequest{Columns: all, Workers: workers})
	}
	for _, c := range all {
		run("column="+c.Name, fileformat.ReadRequest{Columns: []types.Field{c}})
	}
}
