package compact

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/datafile"
)

// appended are files of the sizes given, written one after the other.
func appended(sizes ...int64) []*datafile.Meta {
	out := make([]*datafile.Meta, len(sizes))
	for i, n := range sizes {
		out[i] = &datafile.Meta{FileName: fmt.Sprint("f", i), FileSize: n, MinSequence: int64(10 * i)}
	}
	return out
}

func namesOf(files []*datafile.Meta) string {
	var out []string
	for _, f := range files {
		out = append(out, f.FileName)
	}
	return strings.Join(out, " ")
}

func TestPack(t *testing.T) {
	rules := PackRules{Target: 100, SmallFile: 70, OpenCost: 4, MinFileNum: 3}
	for _, c := range []struct {
		name  string
		sizes []int64
		want  []string
	}{
		{"nothing", nil, nil},
		{"too few", []int64{1, 2}, nil},
		{"enough of them", []int64{3, 1, 2}, []string{"f1 f2 f0"}},
		{"large ones are left alone", []int64{70, 1, 2, 500, 3}, []string{"f1 f2 f4"}},
		{"twice the target", []int64{60, 60, 60, 60, 60}, []string{"f0 f1 f2 f3"}},
		{"opening costs", []int64{46, 46, 46, 46}, []string{"f0 f1 f2 f3"}},
		{"many bins", []int64{65, 65, 65, 65, 65, 65, 65}, []string{"f0 f1 f2", "f3 f4 f5"}},
	} {
		var got []string
		for _, g := range Pack(appended(c.sizes...), rules) {
			got = append(got, namesOf(g))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	rules.MinFileNum = 1
	if got := Pack(appended(5), rules); got != nil {
		t.Errorf("one file is joined with itself: %v", got)
	}
}

func TestJoinAll(t *testing.T) {
	rules := PackRules{Target: 100, SmallFile: 70}
	for _, c := range []struct {
		name  string
		sizes []int64
		all   bool
		want  string
	}{
		{"nothing", nil, false, ""},
		{"too few", []int64{1, 1}, false, ""},
		{"small ones", []int64{1, 1, 1}, false, "f0 f1 f2"},
		{"from the first small one on", []int64{100, 100, 1, 1, 100, 1}, false, "f2 f3 f4 f5"},
		{"as many large ones", []int64{100, 1, 1, 100, 100}, false, ""},
		{"too few behind the large ones", []int64{100, 100, 1, 1}, false, ""},
		{"all large", []int64{100, 100, 100}, false, ""},
		{"forced", []int64{100, 1}, true, "f0 f1"},
	} {
		rules.RewriteAll = c.all
		if got := namesOf(JoinAll(appended(c.sizes...), rules)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	files := appended(1, 2, 3)
	files[0], files[2] = files[2], files[0]
	rules.RewriteAll = false
	if got := namesOf(JoinAll(files, rules)); got != "f0 f1 f2" {
		t.Errorf("order %s", got)
	}
}

func TestJoinSome(t *testing.T) {
	rules := PackRules{Target: 100, SmallFile: 70, MinFileNum: 3}
	for _, c := range []struct {
		name       string
		sizes      []int64
		want, rest string
	}{
		{"nothing", nil, "", ""},
		{"too few", []int64{1, 1}, "", ""},
		{"so many", []int64{1, 1, 1, 1}, "f0 f1 f2", "f3"},
		{"past large ones", []int64{300, 1, 1, 1, 5}, "f1 f2 f3", "f4"},
		{"past what is enough", []int64{150, 60, 60, 60}, "f1 f2 f3", ""},
		{"the last may be large", []int64{1, 1, 500}, "f0 f1 f2", ""},
	} {
		picked, rest := JoinSome(appended(c.sizes...), rules)
		if namesOf(picked) != c.want || namesOf(rest) != c.rest {
			t.Errorf("%s: %q and %q, want %q and %q", c.name, namesOf(picked), namesOf(rest), c.want, c.rest)
		}
	}
}

// Joined files hold the same rows in the same order, numbered on.
func TestJoin(t *testing.T) {
	for workers, c := range map[int]struct {
		target string
		files  int
	}{1: {"2 kb", 4}, 2: {"1 mb", 1}} {
		f := newFixture(t, nil, map[string]string{"target-file-size": c.target})
		var files []*datafile.Meta
		for i := range int64(4) {
			var rows []record
			for k := range 700 + i {
				rows = append(rows, record{key: k, value: i, seq: i * 1000})
			}
			files = append(files, f.flush(0, rows...)...)
		}
		want := f.rows(files...)
		out, err := f.rewriter(workers).Join(context.Background(), Bucket{}, files)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, f.rows(out.After...), cmp.AllowUnexported(record{})); d != "" {
			t.Error(d)
		}
		next := files[0].MinSequence
		for _, m := range out.After {
			if m.MinSequence != next || m.MaxSequence != next+m.RowCount-1 || *m.FileSource != datafile.Compact || m.Level != 0 {
				t.Errorf("metadata %+v", *m)
			}
			next = m.MaxSequence + 1
		}
		if len(out.Before) != 4 || len(out.After) != c.files {
			t.Errorf("%d files became %d", len(out.Before), len(out.After))
		}
		f.mem.AssertSize(t, 0)
	}
}
