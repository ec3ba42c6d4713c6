package compact

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/lsm"
)

// gatedDisk keeps everybody waiting who makes a file.
type gatedDisk struct {
	fileio.FileIO
	gate    chan struct{}
	waiting atomic.Int32
}

func (d *gatedDisk) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if strings.Contains(path, "/data-") {
		d.waiting.Add(1)
		<-d.gate
		d.waiting.Add(-1)
	}
	return d.FileIO.Create(ctx, path)
}

// Sections on both sides of a large file that only moves are merged side by side,
// where there is more than one worker.
func TestSectionsAreMergedAbreast(t *testing.T) {
	for workers, want := range map[int]int32{1: 1, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			// A pooled coder made in the bubble could not be used by another test.
			f := newFixture(t, []string{"k"}, map[string]string{"target-file-size": "2 kb", "file.compression": "none"})
			defer f.mem.AssertSize(t, 0)
			some := func(from, n, seq int64) []record {
				rows := make([]record, n)
				for i := range rows {
					rows[i] = record{key: from + int64(i), value: int64(i) * 7919, seq: seq + int64(i)}
				}
				return rows
			}
			var u lsm.Unit
			u.OutputLevel = 5
			for i, from := range []int64{0, 0, 5000, 5000} { // two sections of two runs
				u.Files = append(u.Files, f.flush(0, some(from, 20, int64(i)*100)...)...)
			}
			u.Files = append(u.Files, f.flush(0, some(1000, 400, 10000)...)...)
			disk := &gatedDisk{FileIO: f.fs, gate: make(chan struct{})}
			f.fio = disk
			var out Result
			done := make(chan error, 1)
			go func() {
				var err error
				out, err = f.rewriter(workers).Rewrite(context.Background(), Task{Unit: u, Highest: 5, DropDeletes: true})
				done <- err
			}()
			synctest.Wait()
			if n := disk.waiting.Load(); n != want {
				t.Errorf("%d workers: %d sections are written at a time, want %d", workers, n, want)
			}
			close(disk.gate)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if len(out.Before) != 5 || len(out.After) != 3 {
				t.Errorf("%d files became %d", len(out.Before), len(out.After))
			}
		})
	}
}
