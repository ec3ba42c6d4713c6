package lookup

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/budget"
)

// BenchmarkLookup looks keys up that lie all over a file of 500,000 rows: in the data
// file, in a local file none of whose blocks is in memory, and in one with memory. Bytes
// are those of the data file or of blocks that an operation reads: what price.go goes by.
func BenchmarkLookup(b *testing.B) {
	const rows = 500_000
	f := newFixture(b, nil)
	f.budget = budget.New(1 << 30)
	all := many(rows, 2, 0)
	for i := range all {
		all[i].v = int64(uint64(i) * 0x9e3779b97f4a7c15 >> 4)
	}
	files := f.flush(3, all...)
	cfg := f.config()
	cfg.Mem = memory.NewGoAllocator()
	direct := f.readerOf(cfg)
	cfg.Files = f.open().Files("t", f.parsed().LookupFiles, nil)
	cfg.Files.always = true
	local := f.readerOf(cfg)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			local.Drop(dir, files)
			f.build(local, files[0])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		b.ReportMetric(float64(f.store.Use().Disk)/float64(files[0].FileSize), "size")
	})
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		asked := make([]row, n)
		for i := range asked {
			asked[i] = all[i*(rows/n)+rows/n/2]
		}
		keys, release := f.keys(asked)
		for _, how := range []string{"direct", "local", "memory"} {
			b.Run(fmt.Sprint(how, "/keys=", n), func(b *testing.B) {
				var read int64
				for b.Loop() {
					r := local
					switch how {
					case "direct":
						r = direct
					case "local":
						f.store.shed(1 << 40)
					}
					before := f.store.Use().BytesRead
					in := r.Bucket(dir, files, nil)
					found, err := in.Get(context.Background(), keys)
					if err != nil {
						b.Fatal(err)
					}
					if len(found.Batches) == 0 {
						b.Fatal("nothing was found")
					}
					found.Release()
					read += in.read.BytesRead() + f.store.Use().BytesRead - before
					closeBucket(b, in)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
				b.ReportMetric(float64(read)/float64(b.N), "bytes")
			})
		}
		release()
	}
}
