package paimon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

func (f *fixture) wantNoted(fl table.Follower, want int64) {
	f.Helper()
	if got := fl.Noted(); got != want {
		f.Errorf("noted %d, want %d", got, want)
	}
}

// The first snapshot whose changes go out is noted before they do, so that expiry
// keeps it and what comes after: a follower that is gone before it has acknowledged
// anything has lost nothing.
func TestConsumerIsNotedBeforeRows(t *testing.T) {
	for _, from := range []table.Start{{Mode: table.StartEarliest}, {Mode: table.StartTime, Time: time.UnixMilli(0)}, {Mode: table.StartAt, Snapshot: 1}} {
		f := newFixture(t)
		tbl := f.open(f.create(keySpec()))
		for i, v := range []string{"a", "b", "c"} {
			f.mustWrite(tbl, ids("mon", v, i))
		}
		opts := table.FollowOptions{Consumer: "c", From: from, To: 3}
		fl := f.follow(tbl, opts)
		f.wantConsumers(tbl)
		if _, err := fl.Next(f.ctx); err != nil { // rows that nobody reads
			t.Fatal(err)
		}
		f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 1})
		f.wantNoted(fl, 1)
		if _, err := fl.Next(f.ctx); err != nil {
			t.Fatal(err)
		}
		f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 1})
		fl.Close()
		opts.From = table.Start{Mode: table.StartLatest}
		f.want(f.all(f.follow(tbl, opts)), "1: 0|mon|0|a", "2: 0|mon|1|b", "3: 0|mon|2|c")
	}
}

// Where the first snapshot cannot be noted, its rows do not go out.
func TestConsumerCannotBeNoted(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	f.mustWrite(f.open(fs), ids("mon", "a", 1))
	tbl := f.open(faultio.New(fs, faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "replace" && strings.HasSuffix(c.Path, "consumer-c")
	}, faultio.Before, tarnerr.Denied)))
	_, err := f.follow(tbl, table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartEarliest}}).Next(f.ctx)
	wantKind(t, err, tarnerr.Denied, "consumer=c")
	_, err = tbl.Follow(f.ctx, table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartLatest}})
	wantKind(t, err, tarnerr.Denied, "consumer=c")
}

// What comes from now on is noted at once: what is committed before the first
// Next, and before a restart, is part of it.
func TestConsumerOfTheLatest(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	opts := table.FollowOptions{Consumer: "empty", From: table.Start{Mode: table.StartLatest}, To: 2}
	f.follow(tbl, opts)
	f.wantConsumers(tbl, table.Consumer{ID: "empty", Next: 1})
	f.mustWrite(tbl, ids("mon", "a", 1))
	opts.Consumer = "one"
	fl := f.follow(tbl, opts)
	f.wantNoted(fl, 2)
	f.mustWrite(tbl, ids("mon", "b", 2))
	f.wantConsumers(tbl, table.Consumer{ID: "empty", Next: 1}, table.Consumer{ID: "one", Next: 2})
	f.want(f.all(f.follow(tbl, opts)), "2: 0|mon|2|b")
	opts.Consumer = "empty"
	f.want(f.all(f.follow(tbl, opts)), "1: 0|mon|1|a", "2: 0|mon|2|b")
	// A consumer that is there is moved by what is acknowledged alone.
	opts.Options = map[string]string{"consumer.ignore-progress": "true"}
	f.wantNoted(f.follow(tbl, opts), 1)
	f.wantConsumers(tbl, table.Consumer{ID: "empty", Next: 1}, table.Consumer{ID: "one", Next: 2})
}

// The rows of a whole state cannot be noted, nor anything behind them until they
// are acknowledged: the consumer would go on without them.
func TestConsumerOfAState(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1))
	f.mustWrite(tbl, ids("mon", "b", 2))
	opts := table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartFull, Snapshot: 1}, To: 2}
	fl := f.follow(tbl, opts)
	f.want(f.next(fl), "1: 0|mon|1|a")
	f.wantConsumers(tbl)
	f.want(f.next(fl), "2: 0|mon|2|b")
	f.wantConsumers(tbl)
	f.wantNoted(fl, 0)
	fl.Close()
	fl = f.follow(tbl, opts)
	f.want(f.next(fl), "1: 0|mon|1|a")
	f.acknowledge(fl)
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 2})
	f.want(f.next(fl), "2: 0|mon|2|b")
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 2})
}

// idle is a stream that finds nothing after the first snapshot, and what it
// writes of its consumer meanwhile.
type idle struct {
	*fixture
	table  table.Table
	stream table.Follower
	clock  env.Env
	writes []time.Time
	look   func(n int) // called before the nth look for snapshot 2
}

func newIdle(t *testing.T, options ...string) *idle {
	i := &idle{fixture: newFixture(t), clock: env.Seeded(seed.Add(1), time.UnixMilli(1_700_000_000_000)), look: func(int) {}}
	fs := i.create(with(keySpec(), options...))
	i.table = i.open(fs)
	i.mustWrite(i.table, ids("mon", "a", 1))
	looks := 0
	c := i.components(faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		switch {
		case call.Method == "replace" && strings.HasSuffix(call.Path, "consumer-c"):
			i.writes = append(i.writes, i.clock.Now())
		case call.Method == "open" && strings.HasSuffix(call.Path, "snapshot-2"):
			looks++
			i.look(looks)
		}
		return faultio.Fault{}
	})))
	c.Env = i.clock
	watched, err := paimon.Open(i.ctx, c, name, dir)
	if err != nil {
		t.Fatal(err)
	}
	i.stream = i.follow(watched, table.FollowOptions{Consumer: "c", From: table.Start{Mode: table.StartEarliest}})
	i.want(i.next(i.stream), "1: 0|mon|1|a")
	return i
}

// idle looks as often, and at the last look does what is told.
func (i *idle) idle(looks int, last func(cancel func())) {
	i.Helper()
	ctx, cancel := context.WithCancel(i.ctx)
	defer cancel()
	i.look = func(n int) {
		if n == looks {
			last(cancel)
		}
	}
	if _, err := i.stream.Next(ctx); err != nil && !errors.Is(err, context.Canceled) {
		i.Fatal(err)
	}
}

// A consumer does not age while its stream waits or its rows are not acknowledged:
// it is written again long before the table's commits would drop it.
func TestConsumerDoesNotAge(t *testing.T) {
	for _, acknowledged := range []bool{true, false} {
		i := newIdle(t, "consumer.expiration-time", "100 s")
		next := int64(1)
		if acknowledged {
			i.acknowledge(i.stream)
			next = 2
		}
		before := len(i.writes)
		i.idle(60, func(cancel func()) { cancel() }) // 600 s
		i.wantConsumers(i.table, table.Consumer{ID: "c", Next: next})
		for n, at := range append(i.writes[1:], i.clock.Now()) {
			if age := at.Sub(i.writes[n]); age > 50*time.Second {
				t.Errorf("acknowledged %v: write %d is %v old", acknowledged, n, age)
			}
		}
		if n := len(i.writes) - before; n > 24 {
			t.Errorf("acknowledged %v: %d writes for 60 looks", acknowledged, n)
		}
		i.wantNoted(i.stream, next)
	}

	// Where consumers do not age, nothing is written that is there already.
	i := newIdle(t)
	i.acknowledge(i.stream)
	before := len(i.writes)
	i.idle(60, func(cancel func()) { cancel() })
	if n := len(i.writes) - before; n != 0 {
		t.Errorf("%d writes of what is noted", n)
	}
}

// A stream that looks seldom wakes up for its consumer; and one that is slow in
// between has it written by Acknowledge, also where there is no progress.
func TestConsumerOfASlowStream(t *testing.T) {
	i := newIdle(t, "consumer.expiration-time", "100 s", "continuous.discovery-interval", "1 h")
	i.acknowledge(i.stream)
	i.idle(20, func(cancel func()) { cancel() })
	for n, at := range append(i.writes[1:], i.clock.Now()) {
		if age := at.Sub(i.writes[n]); age > 50*time.Second {
			t.Errorf("write %d is %v old", n, age)
		}
	}
	before := len(i.writes)
	if err := i.clock.Sleep(i.ctx, 40*time.Second); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		i.acknowledge(i.stream)
	}
	if n := len(i.writes) - before; n != 1 {
		t.Errorf("%d writes by two Acknowledges", n)
	}
}

// Who deletes or resets a consumer is not overruled by a stream that waits, but by
// one that goes on.
func TestConsumerIsTakenAway(t *testing.T) {
	for what, c := range map[string]struct {
		do   func(context.Context, table.Table) error
		want []table.Consumer
	}{
		"delete": {func(ctx context.Context, t table.Table) error { return t.DeleteConsumer(ctx, "c") }, nil},
		"reset":  {func(ctx context.Context, t table.Table) error { return t.ResetConsumer(ctx, "c", 1) }, []table.Consumer{{ID: "c", Next: 1}}},
	} {
		i := newIdle(t, "consumer.expiration-time", "100 s")
		i.acknowledge(i.stream)
		if err := c.do(i.ctx, i.table); err != nil {
			t.Fatal(what, err)
		}
		i.idle(60, func(cancel func()) { cancel() })
		i.wantConsumers(i.table, c.want...)
		i.look = func(int) {}
		i.mustWrite(i.table, ids("mon", "b", 2))
		i.want(i.next(i.stream), "2: 0|mon|2|b")
		i.wantConsumers(i.table, c.want...)
		i.acknowledge(i.stream)
		i.wantConsumers(i.table, table.Consumer{ID: "c", Next: 3})
	}
}

// A consumer's age is not known to a stream that begins: it is written at the first
// occasion, as it was.
func TestConsumerGoesOnYoung(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "consumer.expiration-time", "100 s"))
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1))
	if err := tbl.ResetConsumer(f.ctx, "c", 1); err != nil {
		t.Fatal(err)
	}
	writes := 0
	watched := f.open(faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if call.Method == "replace" && call.Path == (layout.Table{Dir: dir}).ConsumerFile("c") {
			writes++
		}
		return faultio.Fault{}
	})))
	fl := f.follow(watched, table.FollowOptions{Consumer: "c"})
	f.want(f.next(fl), "1: 0|mon|1|a")
	if writes != 1 {
		t.Errorf("%d writes before the first rows", writes)
	}
	f.wantConsumers(tbl, table.Consumer{ID: "c", Next: 1})
}
