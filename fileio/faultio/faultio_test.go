package faultio_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/fileiotest"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestContract(t *testing.T) {
	fileiotest.Run(t, func(*testing.T) (fileio.FileIO, string) { return faultio.New(mem.New(mem.Posix), nil), "/w" })
}

func TestPublishBeforeAndAfter(t *testing.T) {
	for _, tt := range []struct {
		when faultio.When
		kind tarnerr.Kind
		want tarnerr.Kind
		file bool
	}{
		{faultio.Before, 0, tarnerr.Unavailable, false},
		{faultio.Before, tarnerr.Denied, tarnerr.Denied, false},
		{faultio.Before, tarnerr.Ambiguous, tarnerr.Ambiguous, false},
		{faultio.After, 0, tarnerr.Ambiguous, true},
		{faultio.Halfway, 0, tarnerr.Ambiguous, true},
	} {
		inner := mem.New(mem.ObjectStore)
		fs := faultio.New(inner, faultio.FailCall(1, tt.when, tt.kind))
		err := fs.CreateIfAbsent(t.Context(), "/w/snapshot-1", []byte("x"))
		if err == nil || tarnerr.KindOf(err) != tt.want {
			t.Errorf("%v: %v", tt.when, err)
		}
		if _, ok := inner.Get("/w/snapshot-1"); ok != tt.file {
			t.Errorf("%v: file there = %v", tt.when, ok)
		}
		if fs.Injected() != 1 {
			t.Errorf("%v: injected %d", tt.when, fs.Injected())
		}
	}
}

// Every call of writing a file fails at every point; whatever happens, a nil
// error means the whole file and a failure before the effect means none.
func TestSweepOfOneFile(t *testing.T) {
	for _, p := range mem.Profiles {
		t.Run(p.String(), func(t *testing.T) {
			runs, faults := 0, 0
			faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After, faultio.Halfway}, func(t *testing.T, plan faultio.Plan) int {
				inner := mem.New(p)
				fs := faultio.New(inner, plan)
				err := fileio.WriteFile(t.Context(), fs, "/w/f", []byte("12345678"))
				data, there := inner.Get("/w/f")
				switch {
				case err == nil && string(data) != "12345678":
					t.Errorf("success, but the file holds %q", data)
				case err != nil && tarnerr.KindOf(err) == tarnerr.Unavailable && there:
					t.Errorf("no effect, but the file holds %q: %v", data, err)
				}
				runs++
				faults += fs.Injected()
				return fs.Count()
			})
			if runs != 10 || faults != 9 { // create, write, close
				t.Errorf("%d runs, %d faults", runs, faults)
			}
		})
	}
}

func TestHalfwayWriteCannotBeClosedWell(t *testing.T) {
	inner := mem.New(mem.ObjectStore)
	fs := faultio.New(inner, faultio.FailCall(2, faultio.Halfway, 0))
	w, err := fs.Create(t.Context(), "/w/f")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write([]byte("1234")); n != 2 || err == nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	if err := w.Close(); err == nil {
		t.Error("Close passed over a failed write")
	}
	if _, ok := inner.Get("/w/f"); ok {
		t.Error("a file with a hole is visible")
	}
}

func TestDiskFull(t *testing.T) {
	inner := mem.New(mem.Posix)
	inner.Put("/w/old", []byte("x"))
	fs := faultio.New(inner, faultio.DiskFull(1))
	ctx := t.Context()
	for what, err := range map[string]error{
		"WriteFile":      fileio.WriteFile(ctx, fs, "/w/f", []byte("1")),
		"CreateIfAbsent": fs.CreateIfAbsent(ctx, "/w/f", nil),
		"Replace":        fs.Replace(ctx, "/w/f", nil),
		"MakeDir":        fs.MakeDir(ctx, "/w/d"),
	} {
		if err == nil || tarnerr.KindOf(err) != tarnerr.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := fileio.ReadFile(ctx, fs, "/w/old"); err != nil {
		t.Error(err)
	}
	if err := fs.Delete(ctx, "/w/old"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string(nil), inner.Paths()); d != "" {
		t.Error(d)
	}
}

func TestCrashEndsEverything(t *testing.T) {
	inner := mem.New(mem.Posix)
	fs := faultio.New(inner, faultio.Crash(2, faultio.After))
	ctx := t.Context()
	if err := fs.Replace(ctx, "/w/1", nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/w/2", "/w/3"} {
		if err := fs.Replace(ctx, p, nil); err == nil {
			t.Errorf("%s: no error after the crash", p)
		}
	}
	if d := cmp.Diff([]string{"/w/1", "/w/2"}, inner.Paths()); d != "" {
		t.Error(d)
	}
}

func TestRandomRepeats(t *testing.T) {
	history := func(seed uint64) (out []string) {
		fs := faultio.New(mem.New(mem.Posix), faultio.Random(seed, 0.3))
		for range 200 {
			err := fs.Replace(t.Context(), "/w/f", []byte("x"))
			var e *tarnerr.Error
			if errors.As(err, &e) {
				out = append(out, e.Error())
			}
		}
		return out
	}
	a := history(1)
	if d := cmp.Diff(a, history(1)); d != "" {
		t.Error(d)
	}
	if len(a) < 30 || len(a) > 90 || cmp.Equal(a, history(2)) {
		t.Errorf("%d faults of 200", len(a))
	}
}

func TestFailWhere(t *testing.T) {
	fs := faultio.New(mem.New(mem.Posix), faultio.FailWhere(func(c faultio.Call) bool { return c.Method == "stat" }, faultio.After, 0))
	if err := fs.MakeDir(t.Context(), "/w"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(t.Context(), "/w/f"); err == nil || tarnerr.KindOf(err) != tarnerr.Unavailable {
		t.Errorf("a failed read has no effect to doubt: %v", err)
	}
	fs.SetPlan(faultio.None())
	if _, err := fs.Stat(t.Context(), "/w/f"); tarnerr.KindOf(err) != tarnerr.NotFound {
		t.Error(err)
	}
}
