package maintain

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// at is a table's head, to go back to.
type at struct {
	base []manifest.FileMeta
	last *snapshot.Snapshot
}

func (f *fixture) head() at { return at{f.base, f.last} }

// rollBack makes a snapshot the latest again.
func (f *fixture) rollBack(to at) {
	for id := to.last.ID + 1; id <= f.last.ID; id++ {
		f.fs.Remove(place.SnapshotFile(id))
	}
	f.base, f.last = to.base, to.last
}

// stopped leaves the plan of an expiry that is not carried out.
func (f *fixture) stopped() {
	f.Helper()
	faulty := faultio.New(f.fs, faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "replace" && strings.HasSuffix(c.Path, planSuffix) {
			return faultio.Fault{When: faultio.After}
		}
		return faultio.Fault{}
	}))
	if _, err := f.expirerOn(faulty, 1, false).Run(f.ctx, Request{}); err == nil {
		f.Fatal("the plan was to fail")
	}
}

func (f *fixture) has(names ...string) {
	f.Helper()
	left := f.left()
	for _, n := range names {
		if !slices.Contains(left, n) {
			f.Errorf("%s is gone; left are %q", n, left)
		}
	}
}

// A plan is found after the table was rolled back, written and expired past the plan by
// others: the old history has left no sign but what the new one holds of it.
func TestPlanOfAHistoryThatIsGone(t *testing.T) {
	f := newFixture(t)
	f.snapshot(1, []string{"+a", "i:i1", "s:s1"})
	f.snapshot(2, []string{"+b"})
	two := f.head()
	f.snapshot(3, []string{"-a", "+c", "i:i3"})
	f.snapshot(4, []string{"merged", "+d"})
	f.stopped()
	f.rollBack(two)
	for id, words := range [][]string{3: {"+e"}, 4: {"+f"}, 5: {"+g", "-b"}} {
		if words != nil {
			f.snapshot(int64(id), words)
		}
	}
	for id := range int64(4) {
		f.fs.Remove(place.SnapshotFile(id + 1))
	}
	r, err := f.expirer(1, false).Run(f.ctx, Request{})
	f.must(err)
	if r.Resumed == "" {
		t.Error("the plan was not found")
	}
	f.has("a", "e", "f", "g", "i1", "manifest of delta of 1 0", "manifest of delta of 2 0", "base of 5", "delta of 5")
}

// The snapshot that is to stay is replaced while those before it go.
func TestWhatStaysIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.snapshot(1, []string{"+a"})
	f.snapshot(2, []string{"+b"})
	two := f.head()
	f.snapshot(3, []string{"-a", "-b", "+c:5", "merged"})
	done := false
	x := f.expirerOn(faultio.New(f.fs, faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "delete" && c.Path == place.SnapshotFile(2) {
			f.rollBack(two)
			f.snapshot(3, nil)
			done = true
		}
		return faultio.Fault{}
	})), 1, false)
	if _, err := x.Run(f.ctx, Request{}); err != nil || !done {
		t.Fatal(done, err)
	}
	f.has("a", "b", "manifest of delta of 1 0", "manifest of delta of 2 0")
}

// Changelogs outlived their snapshots once, and the table keeps none any longer: what
// they name stays. Of that Java's expiry may have taken some.
func TestDecouplingTurnedOff(t *testing.T) {
	for name, gone := range map[string]string{"": "", "a manifest is gone": "manifest of delta of 1 0"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.snapshot(1, []string{"+a"})
			f.snapshot(2, []string{"+b"})
			f.snapshot(3, []string{"+c"})
			_, err := f.expirer(10, false).Run(f.ctx, Request{})
			f.must(err)
			f.snapshot(4, []string{"-a", "-b", "-c", "+m:5", "merged"})
			f.snapshot(5, []string{"+d", "merged"})
			if gone != "" {
				f.fs.Remove(place.ManifestFile(gone))
			}
			r, err := f.expirer(1, false).Run(f.ctx, Request{})
			f.must(err)
			if !slices.Equal(r.Snapshots, []int64{3, 4}) {
				t.Errorf("expired %v", r.Snapshots)
			}
			f.has("b", "m", "d", "delta of 1", "delta of 2", "manifest of delta of 2 0")
			if gone == "" {
				f.has("a", "manifest of delta of 1 0")
			}
			if slices.Contains(f.left(), "c") {
				t.Error("c is left, which no changelog names")
			}
		})
	}
}

// Who finishes another run's plan leaves the next one to it.
func TestNextPlanOfARunAtWork(t *testing.T) {
	f := newFixture(t)
	f.snapshot(1, []string{"+a"})
	f.snapshot(2, []string{"-a", "+b"})
	f.snapshot(3, []string{"+c"})
	f.stopped()
	file := ""
	for _, p := range f.fs.Paths() {
		if strings.HasSuffix(p, planSuffix) {
			file = p
		}
	}
	data, _ := f.fs.Get(file)
	next := strings.Replace(string(data), `"round":1`, `"round":2`, 1)
	replaced := false
	x := f.expirerOn(faultio.New(f.fs, faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		if c.Method == "replace" && c.Path == strings.TrimSuffix(file, planSuffix)+auditSuffix {
			f.fs.Put(file, []byte(next))
			replaced = true
		}
		return faultio.Fault{}
	})), 1, false)
	_, err := x.Run(f.ctx, Request{})
	f.must(err)
	if now, there := f.fs.Get(file); !replaced || !there || string(now) != next {
		t.Errorf("replaced %v, there %v: %s", replaced, there, now)
	}
}
