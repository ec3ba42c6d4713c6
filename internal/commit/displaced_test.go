package commit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// A commit of a process is gone when it makes its next one: it says so, once, and
// raises no alarm where nothing is gone.
func TestDisplacedSnapshots(t *testing.T) {
	// others commits n times for another process that has not seen what fs has
	// beyond what before has, and moves all over, as Java does.
	others := func(fs, before *mem.FS, n int) {
		other := open(t, before, place, seeded(90))
		c := other.committer()
		for i := range n {
			other.put(c, "java", int64(i+1), "j", int64(50+i))
		}
		for _, p := range before.Paths() {
			data, _ := before.Get(p)
			fs.Put(p, slices.Clone(data))
		}
	}
	rollBack := func(fs *mem.FS) {
		fs.Remove(place.SnapshotFile(2))
		fs.Put(place.LatestHint(), []byte("1"))
	}
	for _, c := range []struct {
		name  string
		does  func(fs, before *mem.FS) // after snapshot 2, which is ours; before is the storage without it
		want  []commit.Displaced
		lands int64
		rows  string
	}{
		{"published over", func(fs, before *mem.FS) { others(fs, before, 1) },
			[]commit.Displaced{{Snapshot: 2, User: "u", Identifier: 1, Operation: "APPEND", OtherUser: "java", Latest: 2}}, 3, "[1=a 3=b 4=b 50=j]"},
		{"published over and built upon", func(fs, before *mem.FS) { others(fs, before, 3) },
			[]commit.Displaced{{Snapshot: 2, User: "u", Identifier: 1, Operation: "APPEND", OtherUser: "java", Latest: 4}}, 5, "[1=a 3=b 4=b 50=j 51=j 52=j]"},
		{"rolled back", func(fs, _ *mem.FS) { rollBack(fs) },
			[]commit.Displaced{{Snapshot: 2, User: "u", Identifier: 1, Operation: "APPEND", Latest: 1}}, 2, "[1=a 3=b 4=b]"},
		{"rolled back and built upon", func(fs, _ *mem.FS) {
			rollBack(fs)
			others(fs, fs.Clone(), 2)
		}, []commit.Displaced{{Snapshot: 2, User: "u", Identifier: 1, Operation: "APPEND", OtherUser: "java", Latest: 3}}, 4, "[1=a 3=b 4=b 50=j 51=j]"},
		{"others have committed", func(fs, _ *mem.FS) { others(fs, fs.Clone(), 3) }, nil, 6, "[1=a 2=b 3=b 4=b 50=j 51=j 52=j]"},
		{"others have committed and it has expired", func(fs, _ *mem.FS) {
			others(fs, fs.Clone(), 3)
			fs.Remove(place.SnapshotFile(1), place.SnapshotFile(2))
			fs.Put(place.EarliestHint(), []byte("3"))
		}, nil, 6, "[1=a 2=b 3=b 4=b 50=j 51=j 52=j]"},
		{"nothing has happened", func(_, _ *mem.FS) {}, nil, 3, "[1=a 2=b 3=b 4=b]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := prepared(t, mem.ObjectStore, false)
			before := fs.Clone()
			tb := open(t, fs, place, seeded(5))
			var told []event.SnapshotDisplaced
			var metrics event.Metrics
			tb.listener = event.Tee(metrics.Listener(), &event.Listener{
				SnapshotDisplaced: func(d event.SnapshotDisplaced) { told = append(told, d) },
				Warning:           func(w event.Warning) { t.Errorf("%s: %v", w.Doing, w.Err) },
			})
			tb.groups = &commit.Groups{}
			tb.put(tb.committer(), "u", 1, "b", 2)
			c.does(fs, before)

			// Whoever of the process commits next notices.
			r := tb.put(tb.committer(), "v", 1, "b", 3)
			if !slices.Equal(r.Displaced, c.want) || r.Status != commit.Succeeded || r.IDs()[0] != c.lands {
				t.Errorf("%+v, lands as %v; want %+v and %d", r.Displaced, r.IDs(), c.want, c.lands)
			}
			if len(told) != len(c.want) {
				t.Errorf("told %+v", told)
			}
			for i, d := range told {
				w := c.want[i]
				if d != (event.SnapshotDisplaced{Table: "db.t", Snapshot: w.Snapshot, User: w.User, Identifier: w.Identifier, Operation: w.Operation, OtherUser: w.OtherUser, Latest: w.Latest}) {
					t.Errorf("told %+v", d)
				}
			}
			var text strings.Builder
			if err := metrics.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), `tarn_commit_displaced_total{table="db.t"} 1`) != (c.want != nil) {
				t.Errorf("counted %s", &text)
			}
			if r := tb.put(tb.committer(), "v", 2, "b", 4); r.Displaced != nil {
				t.Errorf("told again: %+v", r.Displaced)
			}
			if got := fmt.Sprint(rows(t, fs, place)); got != c.rows {
				t.Errorf("rows %s, want %s", got, c.rows)
			}
		})
	}
}

// A compaction that is undone is made again, and not missed; nor is a snapshot of
// a table that was dropped.
func TestNotDisplaced(t *testing.T) {
	quiet := func(tb *table, groups *commit.Groups) *commit.Committer {
		tb.listener = &event.Listener{SnapshotDisplaced: func(d event.SnapshotDisplaced) { t.Errorf("told %+v", d) }}
		tb.groups = groups
		return tb.committer()
	}
	for _, catalog := range []bool{false, true} {
		var process *table
		var c *commit.Committer
		d := deed{prepare: func(w *world) commit.Request {
			process = open(t, w.fs, place, seeded(650))
			if catalog {
				process.rollback = rollbackFunc(func(latest int64) {
					w.fs.Remove(place.SnapshotFile(latest))
					w.fs.Put(place.LatestHint(), []byte(fmt.Sprint(latest-1)))
				})
			}
			c = quiet(process, &commit.Groups{})
			process.put(c, "u", 1, "c", 9)
			f := w.files["f1"]
			m := w.like(f)
			m.DeletedFiles = []*datafile.Meta{f}
			if _, err := c.Commit(context.Background(), commit.Request{User: "u", Identifier: 2, Messages: []*commitmsg.Message{w.compacted(0)}}); err != nil {
				t.Fatal(err)
			}
			return commit.Request{User: "u", Identifier: 3, Messages: []*commitmsg.Message{m}}
		}}
		fs, removal := d.stage(t)
		if r, err := c.Commit(context.Background(), removal); err != nil || !slices.Equal(r.RolledBack, []int64{4}) {
			t.Fatalf("%v, %+v", err, r)
		}
		process.put(c, "u", 4, "c", 10)
		if got := fmt.Sprint(rows(t, fs, place)); got != "[10=c 2=b 3=b 9=c]" {
			t.Errorf("catalog=%v: rows %s", catalog, got)
		}
	}

	fs := prepared(t, mem.Posix, false)
	tb := open(t, fs, place, seeded(5))
	tb.put(quiet(tb, &commit.Groups{}), "u", 1, "b", 2)
	drop(t, fs)
	create(t, fs, env.Seeded(8, time.Unix(1_800_000_000, 0).UTC()), spec(false, nil))
	again := open(t, fs, place, seeded(6))
	again.put(quiet(again, tb.groups), "u", 1, "b", 2)
}

// rollbackFunc is a catalog that rolls back.
type rollbackFunc func(latest int64)

func (f rollbackFunc) Rollback(_ context.Context, latest, _ *snapshot.Snapshot) error {
	f(latest.ID)
	return nil
}

// Seeing to it costs nothing where nobody else commits, else one file to open.
func TestDisplacedCost(t *testing.T) {
	fs := prepared(t, mem.ObjectStore, false)
	count := layer.Count(fs)
	tb := open(t, count, place, seeded(5))
	c := tb.committer()
	other := open(t, fs, place, seeded(6))
	oc := other.committer()
	for id, want := range []int64{0, 11, 16} {
		messages, err := tb.prepare(context.Background(), "b", int64(id))
		if err != nil {
			t.Fatal(err)
		}
		if id == 2 {
			other.put(oc, "other", 1, "o", 9)
		}
		count.Reset()
		if _, err := c.Commit(context.Background(), commit.Request{User: "u", Identifier: int64(id + 1), Messages: messages}); err != nil {
			t.Fatal(err)
		}
		if got := count.Total(); want > 0 && got != want || count.Calls(layer.List) != 0 {
			t.Errorf("commit %d asks %d times, want %d: %v", id+1, got, want, count)
		}
	}
}
