package tarn_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []tarn.Config{{Memory: 1}, {Memory: -5}, {Workers: -1}, {Durability: 9}, {History: tarn.History{Commits: -1}}, {History: tarn.History{Age: -1}}} {
		if _, err := tarn.NewRuntime(cfg); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	rt, err := tarn.NewRuntime(tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if m := rt.Memory(); m.Limit != tarn.DefaultMemory || m.Used != 0 {
		t.Errorf("memory %+v", m)
	}
}

func TestSchemesAreRefusedByName(t *testing.T) {
	rt, err := tarn.NewRuntime(tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for uri, name := range map[string]string{
		"s3://bucket/w": "s3", "rest+https://host": "rest+https", "jdbc+mysql://host": "jdbc+mysql", "iceberg+s3://b/w": "iceberg+s3", "hdfs://nn/w": "hdfs",
	} {
		_, err := rt.Open(t.Context(), uri)
		if err == nil || tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "scheme "+name) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := rt.Open(t.Context(), "file://host/w"); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Error(err)
	}
}

func TestMissingWarehouse(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir()+"/none", tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	_, err = cat.ListDatabases(t.Context())
	if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound || !strings.Contains(err.Error(), "no such warehouse") {
		t.Errorf("got %v", err)
	}
}

func TestClosedRuntime(t *testing.T) {
	rt, err := tarn.NewRuntime(tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := rt.Open(t.Context(), t.TempDir()); tarnerr.KindOf(err) != tarnerr.Closed {
		t.Errorf("got %v", err)
	}
}

func TestComponents(t *testing.T) {
	var calls int
	var text bytes.Buffer
	fs := mem.New(mem.Posix)
	cat, err := tarn.Open(t.Context(), "/w", tarn.Config{Durability: fileio.OS, Components: tarn.Components{
		FileIO:    fs,
		Listener:  &event.Listener{StorageCall: func(event.StorageCall) { calls++ }},
		Logger:    slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Allocator: memory.NewCheckedAllocator(memory.DefaultAllocator),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "db", false); err != nil {
		t.Fatal(err)
	}
	if calls == 0 || !strings.Contains(text.String(), "method=make-dir") {
		t.Errorf("%d calls heard, log:\n%s", calls, text.String())
	}
	if page, err := fs.List(t.Context(), "/w", fileio.ListOptions{Dirs: true}); err != nil || len(page.Entries) != 1 {
		t.Errorf("the storage given was not used: %+v, %v", page, err)
	}
	if err := cat.Close(); err != nil {
		t.Error(err)
	}
}

// mutex is a lock of one process.
type mutex struct{ sync.Mutex }

func (m *mutex) Run(ctx context.Context, _, _ string, f func(context.Context) error) error {
	m.Lock()
	defer m.Unlock()
	return f(ctx)
}

// A storage without conditional create takes commits under a lock, and without one
// refuses them with the way out.
func TestLockMakesAStorageWritable(t *testing.T) {
	ctx := t.Context()
	made, bare := mem.New(mem.Posix), mem.New(mem.NoConditional)
	id := table.Identifier{Database: "db", Table: "t"}
	cat, err := tarn.Open(ctx, "/w", tarn.Config{Components: tarn.Components{FileIO: made}})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "db", false); err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateTable(ctx, id, schema.Spec{Fields: []types.Field{{Name: "id", Type: types.MustParse("BIGINT NOT NULL")}}}, false); err != nil {
		t.Fatal(err)
	}
	for _, p := range made.Paths() {
		data, err := fileio.ReadFile(ctx, made, p)
		if err == nil {
			err = bare.Replace(ctx, p, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, lock := range []table.Lock{nil, &mutex{}} {
		cat, err := tarn.Open(ctx, "/w", tarn.Config{Components: tarn.Components{FileIO: bare, Lock: lock}})
		if err != nil {
			t.Fatal(err)
		}
		defer cat.Close()
		tbl, err := cat.LoadTable(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tbl.NewBatchWrite(ctx, table.WriteOptions{})
		if lock == nil {
			if tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "Components.Lock") {
				t.Errorf("without a lock: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		rec := oneRow(tbl.ArrowSchema())
		defer rec.Release()
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		if r, err := w.Commit(ctx); err != nil || r.Snapshots[0] != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
