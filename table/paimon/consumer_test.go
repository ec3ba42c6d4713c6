package paimon_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

func (f *fixture) acknowledge(fl table.Follower) {
	f.Helper()
	if err := fl.Acknowledge(f.ctx); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wantConsumers(t table.Table, want ...table.Consumer) {
	f.Helper()
	got, err := t.Consumers(f.ctx)
	if err != nil || !slices.Equal(got, want) {
		f.Errorf("consumers %v, want %v: %v", got, want, err)
	}
}

// A consumer goes on where it has acknowledged what it read, wherever else it is
// told to begin.
func TestConsumer(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	for i, v := range []string{"a", "b", "c"} {
		f.mustWrite(tbl, ids("mon", v, i))
	}
	opts := table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartEarliest}, To: 3}

	fl := f.follow(tbl, opts)
	f.acknowledge(fl) // there is no position yet
	f.wantConsumers(tbl)
	f.want(f.next(fl), "1: 0|mon|0|a")
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 1})
	f.acknowledge(fl)
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 2})
	f.want(f.next(fl), "2: 0|mon|1|b")
	fl.Close()
	if err := fl.Acknowledge(f.ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("acknowledging after Close: %v", err)
	}

	for _, from := range []table.Start{{}, {Mode: table.StartEarliest}, {Mode: table.StartLatest}, {Mode: table.StartLatestFull}, {Mode: table.StartFull, Snapshot: 1}} {
		opts.From = from
		f.want(f.all(f.follow(tbl, opts)), "2: 0|mon|1|b", "3: 0|mon|2|c")
	}
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 2})

	// By the option; its progress ignored; and by a position that was kept elsewhere.
	opts.Consumer, opts.Options = "", map[string]string{"consumer-id": "c"}
	f.want(f.all(f.follow(tbl, opts)), "2: 0|mon|1|b", "3: 0|mon|2|c")
	opts.From = table.Start{Mode: table.StartAt, Snapshot: 3}
	f.want(f.all(f.follow(tbl, opts)), "3: 0|mon|2|c")
	opts.From, opts.Options["consumer.ignore-progress"] = table.Start{Mode: table.StartEarliest}, "true"
	fl = f.follow(tbl, opts)
	f.want(f.all(fl), "1: 0|mon|0|a", "2: 0|mon|1|b", "3: 0|mon|2|c")
	f.acknowledge(fl)
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 4})
}

// What has no changes is passed, and noted before the stream waits, unless rows
// are out that nobody has acknowledged.
func TestConsumerPassesQuietSnapshots(t *testing.T) {
	for _, acknowledged := range []bool{false, true} {
		f := newFixture(t)
		fs := f.create(keySpec())
		tbl := f.open(fs)
		f.mustWrite(tbl, ids("mon", "a", 1))
		f.mustWrite(tbl, ids("mon", "b", 1))
		f.compact(tbl, table.CompactOptions{}) // snapshot 3
		ctx, cancel := context.WithCancel(f.ctx)
		looks := 0
		fl := f.follow(f.open(faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			if strings.HasSuffix(call.Path, "snapshot-4") && call.Method == "open" {
				if looks++; looks == 3 {
					cancel()
				}
			}
			return faultio.Fault{}
		}))), table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartAt, Snapshot: 2}})
		f.want(f.next(fl), "2: 0|mon|1|b")
		want := []table.Consumer{{ID: "c", Next: 2}}
		if acknowledged {
			f.acknowledge(fl)
			want = []table.Consumer{{ID: "c", Next: 4}}
		}
		if _, err := fl.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		f.wantConsumers(tbl, want...)
	}
}

// A position that has expired is an error that names it, and where the consumer is
// (apache/paimon #5819); so is a consumer that expiry has not waited for.
func TestConsumerExpired(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	for i, v := range []string{"a", "b", "c"} {
		f.mustWrite(tbl, ids("mon", v, i))
	}
	if err := tbl.ResetConsumer(f.ctx, "c", 3); err != nil {
		t.Fatal(err)
	}
	place := layout.Table{Dir: dir}
	if err := fs.Delete(f.ctx, place.SnapshotFile(1), place.EarliestHint()); err != nil {
		t.Fatal(err)
	}
	_, err := f.follow(tbl, table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartAt, Snapshot: 1}}).Next(f.ctx)
	wantKind(t, err, tarnerr.Expired, "snapshot=1", "earliest=2", "consumer=c", "noted=3")
	f.want(f.next(f.follow(tbl, table.FollowOptions{Consumer: "c"})), "3: 0|mon|2|c")

	if err := fs.Replace(f.ctx, place.ConsumerFile("late"), []byte(`{"nextSnapshot":1}`)); err != nil {
		t.Fatal(err)
	}
	_, err = f.follow(tbl, table.FollowOptions{Consumer: "late"}).Next(f.ctx)
	wantKind(t, err, tarnerr.Expired, "snapshot=1", "consumer=late")
	wantKind(t, tbl.ResetConsumer(f.ctx, "c", 1), tarnerr.Expired, "earliest=2", "consumer=c")
	wantKind(t, tbl.ResetConsumer(f.ctx, "c", 5), tarnerr.NotFound, "latest=3")
	wantKind(t, tbl.ResetConsumer(f.ctx, "c", 0), tarnerr.Invalid, "begin with 1")
	wantKind(t, tbl.ResetConsumer(f.ctx, "a/b", 2), tarnerr.Invalid, "path separator")
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 3}, table.Consumer{ID: "late", Next: 1})
	for _, c := range []struct {
		id   string
		next int64
	}{{"late", 2}, {"c", 4}} {
		if err := tbl.ResetConsumer(f.ctx, c.id, c.next); err != nil {
			t.Error(err)
		}
	}
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 4}, table.Consumer{ID: "late", Next: 2})
	for _, want := range []tarnerr.Kind{0, tarnerr.NotFound} {
		err := tbl.DeleteConsumer(f.ctx, "late")
		if want == 0 && err != nil || want != 0 && !errors.Is(err, want) {
			t.Errorf("%v", err)
		}
	}
	wantKind(t, tbl.DeleteConsumer(f.ctx, "a/b"), tarnerr.Invalid, "path separator")
}

// Each storage call of a stream with a consumer fails once, before and after its
// effect: what comes after the restart begins at or before what was not acknowledged.
func TestEveryCallOfAConsumerFails(t *testing.T) {
	base := newFixture(t)
	fs := base.create(keySpec())
	for i, v := range []string{"a", "b", "c"} {
		base.mustWrite(base.open(fs), ids("mon", v, i))
	}
	changes := []string{"1: 0|mon|0|a", "2: 0|mon|1|b", "3: 0|mon|2|c"}
	faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
		f := newFixture(t)
		storage := fs.Clone()
		faulty := faultio.New(storage, nil)
		tbl := f.open(faulty)
		opened := faulty.Count()
		faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
			c.N -= opened
			return plan.Decide(c)
		}))
		opts := table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartEarliest}, To: 3}
		done, begun := 0, 0 // snapshots that are acknowledged, or may be
		run := func() error {
			fl, err := tbl.Follow(f.ctx, opts)
			if err != nil {
				return err
			}
			defer fl.Close()
			for range changes {
				c, err := fl.Next(f.ctx)
				if err != nil {
					return err
				}
				rec, err := c.Rows.Next(f.ctx)
				if err != nil {
					return err
				}
				_ = rec.NumRows()
				begun = int(c.Snapshot.ID)
				if err := fl.Acknowledge(f.ctx); err != nil {
					return err
				}
				done = begun
			}
			return nil
		}
		err := run()
		if err == nil && done != len(changes) {
			t.Errorf("no error after %d snapshots", done)
		}
		got := f.all(f.follow(f.open(storage), opts))
		if !slices.Equal(got, changes[done:]) && !slices.Equal(got, changes[begun:]) {
			t.Errorf("%d acknowledged, %d begun (%v): then came %q", done, begun, err, got)
		}
		return faulty.Count() - opened
	})
}
