package maintain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/tarnerr"
)

// A plan is read as it was written.
func TestPlanComesBack(t *testing.T) {
	f := newFixture(t)
	f.snapshot(1, []string{"+a!a.index", "c:ca", "i:i1", "s:s1"})
	f.snapshot(2, []string{"-a!a.index", "+b", "i:i2"})
	x := f.expirer(1, false)
	p, _, err := x.planSnapshots(f.ctx, x.cfg.Snapshots.Try, 1, 2, 2)
	f.must(err)
	p.Run = Header{ID: "1-x", By: "test", Options: map[string]string{"k": "v"}, Millis: 5, Before: 4}
	f.must(x.writeRecord(f.ctx, x.planFile("1-x"), p))
	back, err := x.readPlan(f.ctx, "1-x")
	f.must(err)
	if d := cmp.Diff(p, back); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(p.Files, func() Files { return draftOf(&back.Files).files() }()); d != "" {
		t.Errorf("as a draft and back:\n%s", d)
	}
	if n := p.Files.count(); n != 10 { // a and its side, ca, i1, indexes, s1, base, delta, changelog and its manifest
		t.Errorf("%d files: %+v", n, p.Files)
	}
	open, closed, err := x.records(f.ctx)
	if err != nil || !slices.Equal(open, []string{"1-x"}) || len(closed) != 0 {
		t.Errorf("%v, %v, %v", open, closed, err)
	}
}

// A plan that cannot be read stops the next run, which names it; one of a later
// release is left to that.
func TestPlanCannotBeRead(t *testing.T) {
	for text, kind := range map[string]tarnerr.Kind{"{": tarnerr.Corrupt, `{"version":2}`: tarnerr.Unsupported, `{"version":1}`: tarnerr.Corrupt, `{"version":1,"going":[{"id":3}]}`: tarnerr.Corrupt, `{"version":1,"going":[null],"stays":{"id":1}}`: tarnerr.Corrupt} {
		f := newFixture(t)
		f.snapshot(1, []string{"+a"})
		f.snapshot(2, []string{"-a"})
		x := f.expirer(1, false)
		f.fs.Put(x.planFile("1-x"), []byte(text))
		before := f.fs.Paths()
		_, err := x.Run(f.ctx, Request{})
		if err == nil || tarnerr.KindOf(err) != kind || !strings.Contains(err.Error(), "1-x.plan") {
			t.Errorf("%s: %v", text, err)
		}
		if !slices.Equal(before, f.fs.Paths()) {
			t.Errorf("%s: something changed", text)
		}
	}
}

// A plan that is taken comes back as it was.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"version":1,"round":2,"run":{"id":"1-x","options":{"k":"v"}},"going":[{"id":1},{"id":3}],"stays":{"id":4},"files":{"data":[{"name":"a","path":"/a","extra":["/a.index"],"bytes":3}],"lists":["l"]}}`))
	f.Add([]byte(`{"version":1,"round":1,"changelogs":true,"going":[{"id":1}],"stays":{"id":2}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePlan(data)
		if err != nil {
			if k := tarnerr.KindOf(err); k != tarnerr.Corrupt && k != tarnerr.Unsupported {
				t.Fatal(err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parsePlan(again)
		if err != nil || fmt.Sprint(len(back.Going), back.Files.count()) != fmt.Sprint(len(p.Going), p.Files.count()) {
			t.Fatalf("%s becomes %s: %v", data, again, err)
		}
	})
}
