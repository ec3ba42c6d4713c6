package paimon_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// owedSpec is changeSpec in one bucket of each partition s.
func owedSpec(options map[string]string) schema.Spec {
	s := changeSpec(options)
	s.Options["bucket"] = "1"
	s.Fields[2].Type = types.MustParse("INT NOT NULL")
	s.PrimaryKeys, s.PartitionKeys = []string{"k", "s"}, []string{"s"}
	return s
}

// A bucket that nothing is written to any more is compacted fully with the next such
// commit all the same: with full-compaction, its rows are told by that alone.
func TestIdleBucketsAreOwedAFullCompaction(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(owedSpec(map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"})))
	f.owed(tbl, 3, nil)
}

// What a full compaction that failed was to do is done by the next one.
func TestFailedFullCompactionIsOwed(t *testing.T) {
	f := newFixture(t)
	disk := faultio.New(f.create(owedSpec(map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"})), faultio.None())
	f.owed(f.open(disk), 4, func(n int64) {
		plan := faultio.None()
		if n == 2 {
			plan = faultio.FailWhere(func(c faultio.Call) bool { return c.Method == "open" && strings.Contains(c.Path, "/s=1/") }, faultio.Before, tarnerr.Unavailable)
		}
		disk.SetPlan(plan)
	})
	if disk.Injected() == 0 {
		t.Error("nothing failed")
	}
}

// Compactions that are given up because another writer was first in one of the buckets
// are owed in all.
func TestLostFullCompactionIsOwed(t *testing.T) {
	f := newFixture(t)
	var armed atomic.Bool
	var other table.Table
	f.events = &event.Listener{CompactEnd: func(event.CompactEnd) {
		if armed.CompareAndSwap(true, false) {
			if _, err := f.write(other, `[{"k":3,"n":9,"s":2}]`); err != nil {
				t.Error(err)
			}
		}
	}}
	fs := f.create(owedSpec(map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"}))
	other = f.open(fs)
	lost := f.owed(f.open(fs), 4, func(n int64) { armed.Store(n == 2) })
	if lost != 1 {
		t.Errorf("%d compactions were lost", lost)
	}
}

// owed writes to the partition 1 with the first commit of a stream and to the partition
// 2 with all. After the last, the changelog is the table. It returns how many
// compactions were in vain.
func (f *fixture) owed(tbl table.Table, commits int64, before func(n int64)) int {
	f.Helper()
	w := f.stream(tbl)
	position, lost := int64(1), 0
	state := map[int32]string{}
	for n := int64(1); n <= commits; n++ {
		if before != nil {
			before(n)
		}
		rows := fmt.Sprintf(`[{"k":2,"n":%d,"s":2}]`, n)
		if n == 1 {
			rows = `[{"k":1,"n":1,"s":1},{"k":2,"n":1,"s":2}]`
		}
		f.put(w, tbl, rows)
		r, err := w.Commit(f.ctx, n)
		if err != nil {
			f.Fatal(err)
		}
		if r.Compaction != "" {
			lost++
		}
		position = f.fold(tbl, state, position, slices.Max(r.Snapshots))
	}
	f.want(slices.Sorted(maps.Values(state)), f.rows(tbl, table.Scan{})...)
	return lost
}

// owedRow is the row of the n-th commit: of the first one in a bucket of its own, which
// no later one writes to.
func owedRow(n int64) string {
	if n == 1 {
		return `[{"k":1,"n":1,"s":1}]`
	}
	return fmt.Sprintf(`[{"k":2,"n":%d,"s":2}]`, n)
}

// With lookup-compact=gentle rows stay on level 0 for a while, and are told after it
// even when nothing more is written to their bucket; so they are when the stream was
// aborted in between.
func TestIdleBucketsAreOwedALookup(t *testing.T) {
	for _, abort := range []bool{false, true} {
		t.Run(fmt.Sprint("abort=", abort), func(t *testing.T) {
			f := newFixture(t)
			tbl := f.open(f.create(owedSpec(map[string]string{
				"changelog-producer": "lookup", "lookup-compact": "gentle", "lookup-compact.max-interval": "6",
			})))
			w := f.stream(tbl)
			position := int64(1)
			state := map[int32]string{}
			for n := int64(1); n <= 9; n++ {
				f.put(w, tbl, owedRow(n))
				r, err := w.Commit(f.ctx, n)
				if err != nil {
					t.Fatal(err)
				}
				position = f.fold(tbl, state, position, slices.Max(r.Snapshots))
				if n < 5 && state[1] != "" {
					t.Fatalf("commit %d tells of the row already: the test does not show what it should", n)
				}
				if abort && n == 2 {
					if err := w.Abort(f.ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			if state[1] != "1|1|1" {
				t.Errorf("the changelog ends with %v", state)
			}
		})
	}
}

// A stream that only prepares is not told that a compaction of its was lost where it
// was committed. It finds the files gone and compacts the bucket no more; deletes stay
// deletes. A stream opened anew goes on, and tells what was not told.
func TestPreparedCompactionsThatAreLost(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "lookup"},
		{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
		{"num-sorted-run.compaction-trigger": "2"},
	} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(owedSpec(options))
			tbl, other := f.open(fs), f.open(fs)
			w := f.stream(tbl)
			w.WaitForCompaction(true)
			position, lost, compacted := int64(1), 0, 0
			state := map[int32]string{}
			for n := int64(1); n <= 9; n++ {
				if n == 9 {
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
					w = f.stream(tbl)
					w.WaitForCompaction(true)
				}
				f.put(w, tbl, fmt.Sprintf(`[{"k":2,"n":%d,"s":2},{"k":%d,"n":0,"s":2}]`, n, 10+n))
				f.putKinds(w, tbl, fmt.Sprintf(`[{"k":%d,"n":0,"s":2}]`, 9+n), []types.RowKind{types.Delete})
				messages, err := w.Prepare(f.ctx)
				if err != nil {
					t.Fatal(err)
				}
				if n == 3 {
					f.mustWrite(other, `[{"k":3,"n":9,"s":2}]`)
					f.compact(other, table.CompactOptions{})
				}
				r, err := tbl.Commit(f.ctx, table.Committable{User: w.User(), Identifier: n, Messages: messages})
				if err != nil {
					t.Fatal(err)
				}
				if r.Compaction != "" {
					lost++
				}
				if n >= 5 && len(r.Snapshots) == 2 {
					compacted++
				}
				if options["changelog-producer"] != "" {
					position = f.fold(tbl, state, position, slices.Max(r.Snapshots))
				}
			}
			if lost == 0 {
				t.Error("no compaction was lost")
			}
			f.want([]string{"19|0|2", "2|9|2", "3|9|2"}, f.rows(tbl, table.Scan{})...)
			if options["changelog-producer"] != "" {
				f.want(slices.Sorted(maps.Values(state)), f.rows(tbl, table.Scan{})...)
			}
			if compacted != 1 {
				t.Errorf("%d compactions after one was lost, want that of the stream opened anew", compacted)
			}
		})
	}
}

// Without full-compaction.delta-commits each commit compacts fully where the changelog
// comes of that, in a stream and in a batch.
func TestFullCompactionsWithoutDeltaCommits(t *testing.T) {
	spec := owedSpec(map[string]string{"changelog-producer": "full-compaction"})
	t.Run("stream", func(t *testing.T) {
		f := newFixture(t)
		f.owed(f.open(f.create(spec)), 3, nil)
	})
	t.Run("a batch", func(t *testing.T) {
		f := newFixture(t)
		tbl := f.open(f.create(spec))
		last := slices.Max(f.mustWrite(tbl, `[{"k":2,"n":1,"s":2}]`).Snapshots)
		state := map[int32]string{}
		f.fold(tbl, state, 1, last)
		f.want(slices.Sorted(maps.Values(state)), "2|1|2")
	})
}

// What a stream left to compactions is done by the one that goes on after it, in buckets
// that it does not write to, too.
func TestRestartedStreamsOweWhatWasLeft(t *testing.T) {
	for _, c := range []struct {
		name    string
		options map[string]string
	}{
		{"full-compaction", map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"}},
		{"lookup-wait=false", map[string]string{"changelog-producer": "lookup", "lookup-wait": "false"}},
		{"lookup gentle", map[string]string{"changelog-producer": "lookup", "lookup-compact": "gentle", "lookup-compact.max-interval": "6"}},
		{"first-row gentle", map[string]string{"merge-engine": "first-row", "lookup-compact": "gentle", "lookup-compact.max-interval": "6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(owedSpec(c.options))
			if c.name == "lookup-wait=false" { // the first stream leaves its rows where they are
				w, err := f.open(fs).NewStreamWrite(f.ctx, table.WriteOptions{User: "job", Options: map[string]string{"write-only": "true"}})
				if err != nil {
					t.Fatal(err)
				}
				f.restarted(f.open(fs), w)
				return
			}
			f.restarted(f.open(fs), f.stream(f.open(fs)))
		})
	}
}

// restarted writes to the partition 1 by a first stream, and by the next ones to the
// partition 2. In the end the rows of both are read, and told where they are.
func (f *fixture) restarted(tbl table.Table, w table.StreamWrite) {
	f.Helper()
	var last int64
	for n := int64(1); n <= 12; n++ {
		f.put(w, tbl, owedRow(n))
		r, err := w.Commit(f.ctx, n)
		if err != nil {
			f.Fatal(err)
		}
		last = slices.Max(r.Snapshots)
		if n == 1 {
			if err := w.Close(); err != nil {
				f.Fatal(err)
			}
			w = f.stream(tbl)
		}
		if n > 1 {
			w.WaitForCompaction(n > 2)
		}
	}
	rows := f.rows(tbl, table.Scan{})
	if !slices.Contains(rows, "1|1|1") {
		f.Errorf("the idle bucket is not read: %v", rows)
	}
	if tbl.Schema().Options["changelog-producer"] == "" {
		return
	}
	state := map[int32]string{}
	f.fold(tbl, state, 1, last)
	if state[1] != "1|1|1" {
		f.Errorf("the idle bucket is not told: %v", state)
	}
}
