package commit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/schema"
)

// metas are n data files that are only names.
func metas(e env.Env, n int) []*datafile.Meta {
	out := make([]*datafile.Meta, n)
	uuid := e.UUID()
	for i := range out {
		out[i] = &datafile.Meta{
			FileName: fmt.Sprintf("data-%s-%d.parquet", uuid, i), FileSize: 1234567, RowCount: 10_000, MinKey: binaryrow.Empty, MaxKey: binaryrow.Empty,
			KeyStats: datafile.EmptyStats(), ValueStats: datafile.EmptyStats(), MaxSequence: 9999, ExtraFiles: []string{},
			CreationMillis: ptr(e.Now().UnixMilli()), DeleteRowCount: ptr[int64](0), FileSource: ptr(datafile.Append), ValueStatsCols: []string{},
		}
	}
	return out
}

// BenchmarkSmallCommits makes 400 commits of one file on a table of many, on a
// local directory, and reports the median, the 99th percentile and the worst in
// microseconds, and the most bytes of manifests that one commit rewrote.
func BenchmarkSmallCommits(b *testing.B) {
	ctx := context.Background()
	for _, files := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			var all []time.Duration
			var most int64
			for b.Loop() {
				fs := local.New(local.Options{Durability: fileio.OS}) // what the disk takes is not of interest
				at := layout.Table{Dir: b.TempDir() + "/t"}
				if _, err := schema.NewStore(fs, at.Dir, env.Real()).Create(ctx, spec(false, nil)); err != nil {
					b.Fatal(err)
				}
				tb := open(b, fs, at, env.Real())
				c := tb.committer()
				put := func(id int64, n int) *commit.Report {
					m := &commitmsg.Message{Partition: binaryrow.Empty, TotalBuckets: ptr[int32](-1), NewFiles: metas(tb.env, n)}
					r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: []*commitmsg.Message{m}})
					if err != nil {
						b.Fatal(err)
					}
					return r
				}
				put(1, files)
				for id := range int64(400) {
					start := time.Now()
					r := put(id+2, 1)
					all = append(all, time.Since(start))
					most = max(most, r.Rewritten)
				}
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(all[len(all)-1].Microseconds()), "max-µs")
			b.ReportMetric(float64(most), "rewritten-B")
		})
	}
}
