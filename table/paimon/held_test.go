package paimon_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
)

// heldSpec is of a table whose coders may be made in a bubble: none are pooled.
func heldSpec(options map[string]string) schema.Spec {
	s := changeSpec(options)
	s.Options["bucket"], s.Options["file.compression"], s.Options["manifest.compression"] = "1", "none", "none"
	return s
}

// heldDisk lets nobody read a data file before its gate is closed.
type heldDisk struct {
	fileio.FileIO
	gate chan struct{}
}

func (d heldDisk) Open(ctx context.Context, path string) (fileio.File, error) {
	if strings.Contains(path, "/data-") {
		<-d.gate
	}
	return d.FileIO.Open(ctx, path)
}

// held opens a table whose compactions read nothing until gate is closed.
func (f *fixture) held(options map[string]string, gate chan struct{}) table.Table {
	return f.open(heldDisk{f.create(heldSpec(options)), gate})
}

// A writer that has more sorted runs than num-sorted-run.stop-trigger in a bucket waits
// for its compaction, after it has flushed and not before, and tells that it waited.
func TestStopTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		flushes, written := 0, 0
		var waits []event.CompactWait
		f.events = &event.Listener{
			FlushEnd:    func(event.FlushEnd) { flushes++ },
			CompactWait: func(i event.CompactWait) { waits = append(waits, i) },
		}
		gate := make(chan struct{})
		tbl := f.held(map[string]string{
			"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "3", "write-buffer-size": "1 b", "write-buffer-spillable": "false",
		}, gate)
		w, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "job"})
		if err != nil {
			t.Fatal(err)
		}
		const rows = 9
		done := make(chan struct{})
		go func() {
			defer close(done)
			for k := range rows { // each one flushes the one before
				f.put(w, tbl, fmt.Sprintf(`[{"k":%d,"n":1,"s":1}]`, k))
				written++
			}
			if _, err := w.Commit(f.ctx, 1); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		// The fifth flush finds four runs, and waits when it is done.
		if flushes != 5 || written != 5 || len(waits) != 0 {
			t.Errorf("the writer stands still after %d flushes of %d rows; it has waited %d times", flushes, written, len(waits))
		}
		close(gate)
		<-done
		if len(waits) == 0 || waits[0].Runs != 5 || waits[0].Table != "db.t" {
			t.Errorf("waits told %+v", waits)
		}
		if got := f.rows(tbl, table.Scan{}); len(got) != rows {
			t.Errorf("%d rows", len(got))
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A commit of a stream waits for the changelog that is looked up, and with
// lookup-wait=false it does not: a later one has it.
func TestLookupWait(t *testing.T) {
	for _, wait := range []bool{true, false} {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				gate := make(chan struct{})
				tbl := f.held(map[string]string{"changelog-producer": "lookup", "lookup-wait": fmt.Sprint(wait)}, gate)
				w, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "job"})
				if err != nil {
					t.Fatal(err)
				}
				f.put(w, tbl, `[{"k":1,"n":1,"s":1}]`)
				var first *table.CommitReport
				done := make(chan struct{})
				go func() {
					defer close(done)
					var err error
					if first, err = w.Commit(f.ctx, 1); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait()
				if ended := first != nil; ended == wait {
					t.Errorf("the commit has ended: %v", ended)
				}
				close(gate)
				<-done
				synctest.Wait() // what is looked up beside the commit ends
				state := map[int32]string{}
				position := f.fold(tbl, state, 1, slices.Max(first.Snapshots))
				if told := len(state) == 1; told != wait {
					t.Errorf("the first commit tells %v", state)
				}
				w.WaitForCompaction(true)
				f.put(w, tbl, `[{"k":2,"n":1,"s":1}]`)
				second, err := w.Commit(f.ctx, 2)
				if err != nil {
					t.Fatal(err)
				}
				f.fold(tbl, state, position, slices.Max(second.Snapshots))
				f.want(slices.Sorted(maps.Values(state)), "1|1|1", "2|1|1")
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
