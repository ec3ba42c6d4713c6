package commitlog

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

var place = layout.Table{Dir: "/w/db.db/t"}

func record(user string, id int64) Record {
	return Record{User: user, Identifier: id, Kind: snapshot.Append, Base: 4, Delta: "manifest-list-1", Files: []string{"a", "b"}, Millis: 1000}
}

func TestBeginOnce(t *testing.T) {
	ctx := context.Background()
	for _, profile := range mem.Profiles {
		s := NewStore(mem.New(profile), place, 1)
		r := record("u", 7)
		if earlier, err := s.Begin(ctx, r); earlier != nil || err != nil {
			t.Fatalf("%v: %+v, %v", profile, earlier, err)
		}
		earlier, err := s.Begin(ctx, record("u", 7))
		r.Version = Version
		if d := cmp.Diff(&r, earlier); d != "" || err != nil || !earlier.Pending() {
			t.Errorf("%v: %v\n%s", profile, err, d)
		}
		ended := r.Ended(End{Millis: 2000, Status: Succeeded, Snapshot: 5})
		if err := s.PutAt(ctx, s.Path(r), ended); err != nil {
			t.Fatal(err)
		}
		earlier, err = s.Begin(ctx, r)
		if err != nil || earlier.Pending() || earlier.End.Snapshot != 5 || earlier.Files != nil {
			t.Errorf("%v: %+v, %v", profile, earlier, err)
		}
	}
}

// A record lies where the same commit looks for it, and no other one does.
func TestPaths(t *testing.T) {
	batch := func(files ...string) Record {
		return Record{User: "u", Identifier: snapshot.BatchIdentifier, Kind: snapshot.Append, Files: files}
	}
	compact := record("u", 7)
	compact.Kind = snapshot.Compact
	seen := map[string]string{}
	for name, r := range map[string]Record{
		"stream": record("u", 7), "next": record("u", 8), "compact": compact, "dot": record(".u", 7), "slash": record("a/b", 7),
		"underscore": record("a_b", 7), "long": record(strings.Repeat("x", 200), 7), "longer": record(strings.Repeat("x", 201), 7),
		"batch": batch("a", "b"), "other batch": batch("a", "c"), "one file": batch("ab"),
	} {
		p := r.Path(place)
		if other, twice := seen[p]; twice {
			t.Errorf("%s and %s share %s", name, other, p)
		}
		seen[p] = name
		if path.Dir(p) != Dir(place) || len(path.Base(p)) > 160 || strings.HasPrefix(path.Base(p), ".") {
			t.Errorf("%s: %s", name, p)
		}
		if p != r.Path(place) {
			t.Errorf("%s: the path changes", name)
		}
	}
	if got := record("u", 7).Path(place.WithBranch("b")); got != "/w/db.db/t/branch/branch-b/.tarn/commit/u-7-append.json" {
		t.Error(got)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	e := End{Status: Failed, Error: strings.Repeat("é", maxText), Evidence: Evidence{}}
	for i := range 1000 {
		e.Attempts = append(e.Attempts, Attempt{Snapshot: int64(i), Cause: strings.Repeat("c", 5000)})
		e.Conflicts = append(e.Conflicts, Conflict{Files: make([]string, 1000)})
	}
	r := record("u", 1)
	r.Files = make([]string, 10000)
	data, err := r.Ended(e).marshal()
	if err != nil || len(data) > 150<<10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	back, err := Parse(data)
	if err != nil || back.End.Attempts[len(back.End.Attempts)-1].Snapshot != 999 {
		t.Errorf("%v: the last attempts must stay", err)
	}
	e.Status = Unknown
	if kept := r.Ended(e); len(kept.Files) != 10000 || !kept.Pending() {
		t.Error("a commit in doubt must keep the names of its files")
	}
}

func TestAllAndSurplus(t *testing.T) {
	ctx := context.Background()
	for _, workers := range []int{1, 4} {
		fs := mem.New(mem.ObjectStore)
		s := NewStore(fs, place, workers)
		for i := range int64(10) {
			r := record("u", i)
			if err := s.Put(ctx, r); err != nil {
				t.Fatal(err)
			}
			if i%3 != 0 { // 0, 3, 6 and 9 stay pending
				if err := s.Put(ctx, r.Ended(End{Status: Failed})); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := fileio.WriteFile(ctx, fs, Dir(place)+"/u-zzz.json", []byte("{")); err != nil {
			t.Fatal(err)
		}
		if err := fileio.WriteFile(ctx, fs, Dir(place)+"/.u-8-append.json.x.tmp", []byte("{")); err != nil {
			t.Fatal(err)
		}
		got, bad := 0, 0
		for f, err := range s.All(ctx) {
			switch {
			case err == nil:
				got++
			case tarnerr.KindOf(err) == tarnerr.Corrupt && strings.HasSuffix(f.Path, "u-zzz.json"):
				bad++
			default:
				t.Error(err)
			}
		}
		if got != 10 || bad != 1 {
			t.Errorf("%d records, %d that cannot be read", got, bad)
		}
		names := func(keep Keep, now int64, limit int) (out []string) {
			paths, err := s.Surplus(ctx, keep, now, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				out = append(out, path.Base(p)[2:3])
			}
			slices.Sort(out)
			return out
		}
		const forever = 1 << 60
		if got := names(Keep{Count: 100, AgeMillis: forever}, 0, 100); got != nil {
			t.Errorf("kept are all, not %v", got)
		}
		if got := fmt.Sprint(names(Keep{Count: 0, AgeMillis: forever}, 0, 100)); got != "[1 2 4 5 7 8]" {
			t.Errorf("those that ended: %v", got)
		}
		if got := fmt.Sprint(names(Keep{Count: 100, AgeMillis: 1}, forever, 2)); len(got) != len("[1 2]") {
			t.Errorf("two of the oldest: %v", got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range []Record{record("u", 1), record("u", 2).Ended(End{Status: Succeeded, Snapshot: 3, Evidence: Evidence{Attempts: []Attempt{{Snapshot: 3}}}})} {
		data, err := r.marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"version":1,"user":"u","identifier":1,"kind":"APPEND","baseSnapshot":1,"deltaManifestList":"m","files":[],"timeMillis":1}`))
	f.Add([]byte(`{"version":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if k := tarnerr.KindOf(err); k != tarnerr.Corrupt && k != tarnerr.Unsupported {
				t.Fatal(err)
			}
			return
		}
		again, err := r.marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil || back.Pending() != r.Pending() || back.Path(place) != r.Path(place) {
			t.Fatalf("%s becomes %s: %v", data, again, err)
		}
	})
}

func TestSearchFrom(t *testing.T) {
	r := record("u", 1)
	r.Base = 3
	for _, c := range []struct{ readTo, latest, want int64 }{
		{0, 9, 3}, {5, 9, 5}, {9, 9, 9}, {2, 9, 3}, {5, 4, 3}, // rolled back since
	} {
		if got := r.Ended(End{Status: Unknown, ReadTo: c.readTo}); got.SearchFrom(c.latest) != c.want {
			t.Errorf("read to %d, latest %d: %d, want %d", c.readTo, c.latest, got.SearchFrom(c.latest), c.want)
		}
	}
	if got := r.SearchFrom(9); got != 3 {
		t.Errorf("a bare intent is searched from %d on", got)
	}
}
