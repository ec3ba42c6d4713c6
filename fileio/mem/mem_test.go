package mem_test

import (
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/fileiotest"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestContract(t *testing.T) {
	for _, p := range mem.Profiles {
		t.Run(p.String(), func(t *testing.T) {
			fileiotest.Run(t, func(*testing.T) (fileio.FileIO, string) { return mem.New(p), "/w" })
		})
	}
}

func TestUnfinishedFile(t *testing.T) {
	for _, p := range mem.Profiles {
		fs := mem.New(p)
		w, err := fs.Create(t.Context(), "/w/f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		data, visible := fs.Get("/w/f")
		if visible != (p == mem.Posix) || visible && string(data) != "half" {
			t.Errorf("%v: before Close visible=%v %q", p, visible, data)
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	fs := mem.New(mem.Posix, mem.WithClock(func() time.Time { return time.UnixMilli(7) }))
	w, err := fs.Create(t.Context(), "/w/open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	fs.Put("/w/f", []byte("1"))
	c := fs.Clone()
	fs.Put("/w/f", []byte("2"))
	fs.Remove("/w/g")
	if _, err := w.Write([]byte("cd")); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "/w/none"); err != nil {
		t.Fatal(err)
	}
	if d, _ := c.Get("/w/f"); string(d) != "1" {
		t.Errorf("the copy saw a later change: %q", d)
	}
	if d, _ := c.Get("/w/open"); string(d) != "ab" {
		t.Errorf("the copy saw a later write: %q", d)
	}
	if i, err := c.Stat(t.Context(), "/w/f"); err != nil || i.ModMilli != 7 {
		t.Errorf("Stat = %+v, %v", i, err)
	}
}

func TestPosixCreateTakenName(t *testing.T) {
	fs := mem.New(mem.Posix)
	fs.Put("/w/f", nil)
	if _, err := fs.Create(t.Context(), "/w/f"); tarnerr.KindOf(err) != tarnerr.AlreadyExists {
		t.Errorf("got %v", err)
	}
	if _, err := fs.Create(t.Context(), "/w/f/g"); tarnerr.KindOf(err) != tarnerr.AlreadyExists {
		t.Errorf("below a file: %v", err)
	}
}
