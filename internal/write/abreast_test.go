package write

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// slowDisk keeps everybody waiting who finishes a file.
type slowDisk struct {
	fileio.FileIO
	gate    chan struct{}
	waiting atomic.Int32
}

type slowFile struct {
	fileio.Writer
	disk *slowDisk
}

func (d *slowDisk) Create(ctx context.Context, p string) (fileio.Writer, error) {
	w, err := d.FileIO.Create(ctx, p)
	return &slowFile{w, d}, err
}

func (f *slowFile) Close() error {
	f.disk.waiting.Add(1)
	<-f.disk.gate
	f.disk.waiting.Add(-1)
	return f.Writer.Close()
}

// While some small files wait for the disk others are written, of large ones as many
// as there are workers.
func TestSmallBucketsAreFlushedAbreast(t *testing.T) {
	for _, c := range []struct {
		name            string
		workers, groups int
		text            int // bytes of a row
		want            int32
	}{
		{"small", 2, 40, 10, 2 * syncLanes},
		{"few", 2, 5, 10, 5},
		{"large", 2, 4, holdGathered, 2},
		{"one worker", 1, 40, 10, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, schema.Spec{
					Fields: []types.Field{
						{Name: "id", Type: types.MustParse("INT NOT NULL")}, {Name: "p", Type: types.MustParse("INT NOT NULL")},
						{Name: "v", Type: types.MustParse("STRING")},
					},
					PartitionKeys: []string{"p"}, PrimaryKeys: []string{"p", "id"},
					// A pooled coder made in the bubble could not be used by another test.
					Options: map[string]string{"bucket": "1", "file.compression": "none"},
				})
				defer f.alloc.AssertSize(t, 0)
				disk := &slowDisk{FileIO: f.fs, gate: make(chan struct{})}
				f.cfg.FileIO, f.cfg.Workers = disk, c.workers
				w := f.writer()
				defer w.Close()
				text := string(make([]byte, c.text))
				for p := range c.groups {
					if err := f.write(w, nil, []types.Value{int64(1), int64(p), text}); err != nil {
						t.Fatal(err)
					}
				}
				done := make(chan error, 1)
				go func() {
					messages, err := w.Prepare(context.Background())
					if err == nil && len(messages) != c.groups {
						t.Errorf("%d messages, want %d", len(messages), c.groups)
					}
					done <- err
				}()
				synctest.Wait()
				if n := disk.waiting.Load(); n != c.want {
					t.Errorf("%d files wait for the disk, want %d", n, c.want)
				}
				close(disk.gate)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Of small compactions more run at a time than there are workers, of large ones not.
func TestSmallCompactionsRunAbreast(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		want  int32
	}{{smallUnit, 2 * syncLanes}, {smallUnit + 1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPool(budget.New(1), 2)
			ctx, cancel := context.WithCancel(t.Context())
			var running, refused atomic.Int32
			for range 40 {
				go func() {
					end, err := p.begin(ctx, c.bytes)
					if err != nil {
						refused.Add(1)
						return
					}
					running.Add(1)
					<-ctx.Done()
					end()
				}()
			}
			synctest.Wait()
			if n := running.Load(); n != c.want {
				t.Errorf("%d compactions of %d bytes run at a time, want %d", n, c.bytes, c.want)
			}
			cancel()
			synctest.Wait()
			if running.Load()+refused.Load() != 40 {
				t.Error("a compaction neither ran nor was refused")
			}
			if end, err := p.begin(t.Context(), c.bytes); err != nil {
				t.Error(err)
			} else {
				end()
			}
		})
	}
}
