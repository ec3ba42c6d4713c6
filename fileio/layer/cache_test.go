package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/fileiotest"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
)

func always(string) bool { return true }

func TestCacheContract(t *testing.T) {
	for name, immutable := range map[string]func(string) bool{"all": always, "none": func(string) bool { return false }} {
		t.Run(name, func(t *testing.T) {
			fileiotest.Run(t, func(*testing.T) (fileio.FileIO, string) {
				return layer.Cache(mem.New(mem.Posix), layer.NewStore(1<<20), immutable), "/w"
			})
		})
	}
}

func read(t *testing.T, fio fileio.FileIO, path string) string {
	t.Helper()
	data, err := fileio.ReadFile(t.Context(), fio, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCacheSavesCalls(t *testing.T) {
	c := layer.Count(mem.New(mem.Posix))
	fio := layer.Cache(c, layer.NewStore(1<<20), func(p string) bool { return strings.Contains(p, "/manifest/") })
	for _, p := range []string{"/w/manifest/a", "/w/snapshot/LATEST"} {
		if err := fileio.WriteFile(t.Context(), fio, p, []byte("1")); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		read(t, fio, "/w/manifest/a")
		read(t, fio, "/w/snapshot/LATEST")
	}
	if c.Calls(layer.Open) != 3 {
		t.Errorf("%s: what was written is read from memory, what can change is not", c)
	}
	other := layer.Cache(c, layer.NewStore(1<<20), always)
	c.Reset()
	for range 3 {
		read(t, other, "/w/manifest/a")
	}
	if c.Calls(layer.Open) != 1 {
		t.Errorf("%s: what was read once is read from memory", c)
	}
	if err := other.Delete(t.Context(), "/w/manifest/a"); err != nil {
		t.Fatal(err)
	}
	if ok, err := fileio.Exists(t.Context(), other, "/w/manifest/a"); ok || err != nil {
		t.Errorf("deleted, but %v, %v", ok, err)
	}
	if _, err := other.Open(t.Context(), "/w/manifest/a"); err == nil {
		t.Error("deleted through the cache, but still read")
	}
}

func TestCacheStaysInItsLimit(t *testing.T) {
	c := layer.Count(mem.New(mem.Posix))
	store := layer.NewStore(64 << 10)
	fio := layer.Cache(c, store, always)
	for i := range 100 {
		if err := fileio.WriteFile(t.Context(), fio, fmt.Sprintf("/w/%02d", i), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := fileio.WriteFile(t.Context(), fio, "/w/large", make([]byte, 9<<10)); err != nil {
		t.Fatal(err)
	}
	if n := store.Bytes(); n > 64<<10 || n < 60<<10 {
		t.Errorf("%d bytes are held", n)
	}
	c.Reset()
	read(t, fio, "/w/99")
	read(t, fio, "/w/00")
	if c.Calls(layer.Open) != 1 {
		t.Errorf("%s: the last file is held, the first is not", c)
	}
	c.Reset()
	read(t, fio, "/w/large")
	read(t, fio, "/w/large")
	if c.Calls(layer.Open) != 2 {
		t.Errorf("%s: a large file is passed through", c)
	}
}

func TestCacheKeepsNoFailedFile(t *testing.T) {
	fs := mem.New(mem.Posix)
	faulty := faultio.New(fs, nil)
	fio := layer.Cache(faulty, layer.NewStore(1<<20), always)
	for when := faultio.Before; when <= faultio.Halfway; when++ {
		for n := 1; n <= 3; n++ {
			path := fmt.Sprintf("/w/%v-%d", when, n)
			base := faulty.Count()
			faulty.SetPlan(faultio.FailCall(base+n, when, 0))
			if err := fileio.WriteFile(t.Context(), fio, path, []byte("1234")); err == nil {
				t.Errorf("%s: no error", path)
			}
			faulty.SetPlan(faultio.None())
			got, err := fileio.ReadFile(t.Context(), fio, path)
			there, ok := fs.Get(path)
			if (err == nil) != ok || string(got) != string(there) {
				t.Errorf("%s: the cache reads %q, %v; the storage holds %q, %v", path, got, err, there, ok)
			}
		}
	}
}
