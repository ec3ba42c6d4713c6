package layer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/fileiotest"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestContract(t *testing.T) {
	l := &event.Listener{StorageCall: func(event.StorageCall) {}}
	t.Run("count", func(t *testing.T) {
		fileiotest.Run(t, func(*testing.T) (fileio.FileIO, string) { return layer.Count(mem.New(mem.Posix)), "/w" })
	})
	t.Run("observe", func(t *testing.T) {
		fileiotest.Run(t, func(*testing.T) (fileio.FileIO, string) {
			return layer.Observe(mem.New(mem.ObjectStore), l, env.Real()), "/w"
		})
	})
}

// walk makes each call at least once.
func walk(t *testing.T, fio fileio.FileIO) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(fileio.WriteFile(ctx, fio, "/w/a", []byte("12345")))
	_, err := fileio.ReadFile(ctx, fio, "/w/a")
	must(err)
	must(fio.CreateIfAbsent(ctx, "/w/b", []byte("12")))
	must(fio.Replace(ctx, "/w/b", []byte("1")))
	must(fio.Rename(ctx, "/w/b", "/w/c"))
	must(fio.MakeDir(ctx, "/w/d"))
	_, err = fio.List(ctx, "/w", fileio.ListOptions{})
	must(err)
	if _, err := fio.Stat(ctx, "/w/none"); tarnerr.KindOf(err) != tarnerr.NotFound {
		t.Fatal(err)
	}
	must(fio.Delete(ctx, "/w/a", "/w/none"))
	must(fio.DeleteAll(ctx, "/w"))
}

func TestCount(t *testing.T) {
	c := layer.Count(mem.New(mem.Posix))
	walk(t, c)
	want := "open=1 create=1 create-if-absent=1 replace=1 delete=1 list=1 stat=1 rename=1 delete-all=1 make-dir=1 read=1 write=1 close=1"
	if got := c.String(); got != want {
		t.Errorf("counted %s", got)
	}
	if c.Total() != 10 || c.BytesRead() != 5 || c.BytesWritten() != 8 {
		t.Errorf("total %d, read %d, written %d", c.Total(), c.BytesRead(), c.BytesWritten())
	}
	c.Reset()
	if c.String() != "" || c.Total() != 0 || c.BytesRead() != 0 || c.BytesWritten() != 0 {
		t.Errorf("after Reset: %s", c)
	}
}

func TestObserve(t *testing.T) {
	var got []string
	l := &event.Listener{StorageCall: func(c event.StorageCall) {
		s := c.Method + " " + c.Path
		if c.Err != nil {
			s += " " + tarnerr.KindOf(c.Err).String()
		}
		got = append(got, s)
	}}
	fs := mem.New(mem.Posix)
	walk(t, layer.Observe(fs, l, env.Real()))
	want := []string{
		"create /w/a", "write /w/a", "close /w/a", "open /w/a", "read /w/a", "create-if-absent /w/b", "replace /w/b",
		"rename /w/c", "make-dir /w/d", "list /w", "stat /w/none not found", "delete /w/a", "delete-all /w",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if layer.Observe(fs, &event.Listener{}, env.Real()) != fileio.FileIO(fs) {
		t.Error("nobody listens: no layer is needed")
	}
}
