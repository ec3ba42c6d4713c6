package snapshot

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Consumers are noted in the bytes that Java writes, and read as it does.
func TestConsumers(t *testing.T) {
	f := newFixture(t)
	c := f.store.Consumers()
	if all, err := c.All(f.ctx); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if next, err := c.Get(f.ctx, "c1"); err != nil || next != 0 {
		t.Fatalf("%d, %v", next, err)
	}
	for id, next := range map[string]int64{"weird-name.2": 3, "c1": 4} {
		if err := c.Set(f.ctx, id, next); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Set(f.ctx, "weird-name.2", 7); err != nil {
		t.Fatal(err)
	}
	if data, ok := f.fio.Get("/w/db.db/t/consumer/consumer-weird-name.2"); !ok || string(data) != "{\n  \"nextSnapshot\" : 7\n}" {
		t.Errorf("%q", data)
	}
	f.write(t, f.table.ConsumerFile("odd"), `{"nextSnapshot":5,"more":{}}`)
	f.write(t, f.table.ConsumerDir()+"/_SUCCESS", "")
	f.write(t, f.table.ConsumerDir()+"/"+layout.ConsumerPrefix, "")
	all, err := c.All(f.ctx)
	if want := []Consumer{{"c1", 4}, {"odd", 5}, {"weird-name.2", 7}}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	for range 2 {
		if err := c.Delete(f.ctx, "odd"); err != nil {
			t.Fatal(err)
		}
	}
	if next, err := c.Get(f.ctx, "odd"); err != nil || next != 0 {
		t.Errorf("%d, %v", next, err)
	}

	// A branch has its own.
	branch := NewStore(f.fio, f.table.WithBranch("b")).Consumers()
	if next, err := branch.Get(f.ctx, "c1"); err != nil || next != 0 {
		t.Errorf("%d, %v", next, err)
	}
	if err := branch.Set(f.ctx, "c1", 2); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.fio.Get("/w/db.db/t/branch/branch-b/consumer/consumer-c1"); !ok {
		t.Error("no file of the branch")
	}
}

func TestConsumerRefusals(t *testing.T) {
	f := newFixture(t)
	c := f.store.Consumers()
	for _, id := range []string{"", " ", "a/b", `a\b`, "../snapshot", "a\n"} {
		_, err := c.Get(f.ctx, id)
		for _, err := range []error{err, c.Set(f.ctx, id, 1), c.Delete(f.ctx, id)} {
			if err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if n := len(f.fio.Paths()); n != 0 {
		t.Errorf("%d files", n)
	}
	for _, text := range []string{"", "{", "[]", "{}", `{"nextSnapshot":null}`, `{"nextSnapshot":0}`, `{"nextSnapshot":"4"}`, `{"NEXTSNAPSHOT":4}`} {
		f.write(t, f.table.ConsumerFile("bad"), text)
		if _, err := c.Get(f.ctx, "bad"); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := c.All(f.ctx); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A file that another writer is about to finish is read again.
func TestConsumerHalfWritten(t *testing.T) {
	fs := mem.New(mem.Posix)
	place := layout.Table{Dir: "/w/db.db/t"}
	fs.Put(place.ConsumerFile("c"), []byte(`{"nextSn`))
	finish := finisher{Env: env.Seeded(1, time.Unix(0, 0)), do: func() { fs.Put(place.ConsumerFile("c"), marshalConsumer(9)) }}
	next, err := NewStore(fs, place).WithEnv(finish).Consumers().Get(context.Background(), "c")
	if err != nil || next != 9 {
		t.Errorf("%d, %v", next, err)
	}
}

// finisher does something while others sleep.
type finisher struct {
	env.Env
	do func()
}

func (f finisher) Sleep(context.Context, time.Duration) error {
	f.do()
	return nil
}

func FuzzParseConsumer(f *testing.F) {
	f.Add(marshalConsumer(7))
	f.Add([]byte(`{"nextSnapshot":1e3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		next, err := parseConsumer(data)
		if err != nil {
			return
		}
		if again, err := parseConsumer(marshalConsumer(next)); err != nil || again != next || next < 1 {
			t.Errorf("%d, %d, %v", next, again, err)
		}
	})
}
