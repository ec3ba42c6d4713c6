package local

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// synced is a local file system that notes what it syncs, and may fail to.
type synced struct {
	*FS
	dir  string
	log  []string
	fail string // the sync that fails
}

var temporary = regexp.MustCompile(`\.(\w+)\.[0-9a-f-]+\.tmp$`)

// errSync is an error of the disk, as classify gives it back.
var errSync = errors.New("the disk is on fire")

func newSynced(t *testing.T, d fileio.Durability) *synced {
	s := &synced{FS: New(Options{Durability: d}), dir: t.TempDir()}
	note := func(what, name string) error {
		rel, err := filepath.Rel(s.dir, name)
		if err != nil {
			t.Error(err)
		}
		what += " " + temporary.ReplaceAllString(filepath.ToSlash(rel), "temporary $1")
		// What is there to be synced: the whole file, the name in its directory.
		if data, err := os.ReadFile(filepath.Join(s.dir, "f")); err == nil {
			what += ", f=" + string(data)
		}
		s.log = append(s.log, what)
		if what == s.fail {
			return errSync
		}
		return nil
	}
	file, dir := s.fsync, s.fsyncDir
	s.fsync = func(f *os.File) error { return errors.Join(note("file", f.Name()), file(f)) }
	s.fsyncDir = func(d string) error { return errors.Join(note("directory", d), dir(d)) }
	return s
}

// path is one that FileIO takes, on Windows too.
func (s *synced) path(name string) string {
	p := filepath.ToSlash(filepath.Join(s.dir, name))
	if p[0] != '/' {
		p = "/" + p
	}
	return p
}

func (s *synced) write(t *testing.T, name string) error {
	w, err := s.Create(t.Context(), s.path(name))
	if err != nil {
		return err
	}
	for _, part := range []string{"o", "n", "e"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.log) > 0 && s.log[len(s.log)-1][:4] == "file" {
		t.Errorf("%s is synced before it is whole: %q", name, s.log)
	}
	return w.Close()
}

// A file is synced when it is whole and before its name is public, a directory after
// it has gained a name; without durability nothing is.
func TestWhatIsSynced(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*testing.T, *synced) error
		want []string
	}{
		{"create", func(t *testing.T, s *synced) error { return s.write(t, "f") },
			[]string{"file f, f=one", "directory ., f=one"}},
		{"create if absent", func(t *testing.T, s *synced) error {
			return s.CreateIfAbsent(t.Context(), s.path("f"), []byte("one"))
		}, []string{"file temporary f", "directory ., f=one"}},
		{"replace", func(t *testing.T, s *synced) error {
			if err := os.WriteFile(filepath.Join(s.dir, "f"), []byte("old"), 0o600); err != nil {
				return err
			}
			return s.Replace(t.Context(), s.path("f"), []byte("new"))
		}, []string{"file temporary f, f=old", "directory ., f=new"}},
		{"create below new directories", func(t *testing.T, s *synced) error { return s.write(t, "a/b/g") },
			[]string{"directory .", "directory a", "file a/b/g", "directory a/b"}},
		{"create if absent below a new directory", func(t *testing.T, s *synced) error {
			return s.CreateIfAbsent(t.Context(), s.path("a/g"), nil)
		}, []string{"directory .", "file a/temporary g", "directory a"}},
		{"replace below a new directory", func(t *testing.T, s *synced) error {
			return s.Replace(t.Context(), s.path("a/g"), nil)
		}, []string{"directory .", "file a/temporary g", "directory a"}},
		{"make directories", func(t *testing.T, s *synced) error { return s.MakeDir(t.Context(), s.path("a/b")) },
			[]string{"directory .", "directory a"}},
		{"make a directory that is there", func(t *testing.T, s *synced) error { return s.MakeDir(t.Context(), s.path(".")) },
			nil},
		{"rename", func(t *testing.T, s *synced) error {
			if err := os.WriteFile(filepath.Join(s.dir, "e"), []byte("one"), 0o600); err != nil {
				return err
			}
			return s.Rename(t.Context(), s.path("e"), s.path("a/g"))
		}, []string{"directory .", "directory a", "directory ."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for d, want := range map[fileio.Durability][]string{fileio.Fsync: c.want, fileio.OS: nil} {
				s := newSynced(t, d)
				if err := c.do(t, s); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(s.log, want) {
					t.Errorf("%v: synced %q, want %q", d, s.log, want)
				}
			}
		})
	}
}

// What could not be synced did not happen, or, once its name is public, may have.
func TestFailedSync(t *testing.T) {
	for _, c := range []struct {
		name, fail string
		do         func(*testing.T, *synced) error
		kind       tarnerr.Kind
		left       string // in f; nothing else may be left
	}{
		{"create", "file f, f=one", func(t *testing.T, s *synced) error { return s.write(t, "f") }, tarnerr.Unavailable, ""},
		{"create", "directory ., f=one", func(t *testing.T, s *synced) error { return s.write(t, "f") }, tarnerr.Unavailable, ""},
		{"create if absent", "file temporary f", func(t *testing.T, s *synced) error {
			return s.CreateIfAbsent(t.Context(), s.path("f"), []byte("one"))
		}, tarnerr.Unavailable, ""},
		{"create if absent", "directory ., f=one", func(t *testing.T, s *synced) error {
			return s.CreateIfAbsent(t.Context(), s.path("f"), []byte("one"))
		}, tarnerr.Ambiguous, "one"},
		{"replace", "file temporary f", func(t *testing.T, s *synced) error {
			return s.Replace(t.Context(), s.path("f"), []byte("one"))
		}, tarnerr.Unavailable, ""},
		{"replace", "directory ., f=one", func(t *testing.T, s *synced) error {
			return s.Replace(t.Context(), s.path("f"), []byte("one"))
		}, tarnerr.Ambiguous, "one"},
	} {
		t.Run(c.name+" "+c.fail, func(t *testing.T) {
			s := newSynced(t, fileio.Fsync)
			s.fail = c.fail
			if err := c.do(t, s); !errors.Is(err, errSync) || tarnerr.KindOf(err) != c.kind {
				t.Errorf("%v (%v), want %v", err, tarnerr.KindOf(err), c.kind)
			}
			got := ""
			entries, err := os.ReadDir(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				data, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
				if err != nil || e.Name() != "f" {
					t.Errorf("left behind: %s, %v", e.Name(), err)
				}
				got += string(data)
			}
			if got != c.left {
				t.Errorf("f holds %q, want %q", got, c.left)
			}
		})
	}
}
