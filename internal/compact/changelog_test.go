package compact

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/types"
)

// The changelog folded is the state of the levels it tells of, after every
// compaction (INV-READ-1): of all above 0 where old rows are looked up, of the
// highest one where full compactions tell. Each row of it fits what was before.
func TestChangelogFolds(t *testing.T) {
	checks := "15"
	if raceDetector {
		checks = "3"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	for _, producer := range []string{"lookup", "full-compaction"} {
		for _, options := range []map[string]string{
			{},
			{"changelog-producer.row-deduplicate": "true"},
			{"changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "v"},
			{"sequence.field": "u"},
			{"sequence.field": "u", "sequence.field.sort-order": "descending", "target-file-size": "1 kb"},
			{"num-sorted-run.compaction-trigger": "2", "data-file.thin-mode": "true", "target-file-size": "1 kb", "changelog-file.prefix": "cl-"},
			{"ignore-delete": "true"},
		} {
			all := map[string]string{"changelog-producer": producer}
			maps.Copy(all, options)
			t.Run(fmt.Sprint(producer, options), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					f := newFixture(t2{t}, []string{"k"}, all)
					tellHistory(t, f, rapid.IntRange(1, 3).Draw(t, "workers"))
					f.mem.AssertSize(t2{t}, 0)
				})
			})
		}
	}
}

// values are the states of keys as far as the changelog must know them.
func values(rows map[int64]record, deduplicates, ignoring bool) map[int64]string {
	out := map[int64]string{}
	for k, r := range rows {
		out[k] = fmt.Sprint(r.user)
		if !deduplicates || !ignoring {
			out[k] = fmt.Sprint(r.value, r.user)
		}
	}
	return out
}

func tellHistory(t *rapid.T, f *fixture, workers int) {
	o := f.options()
	r := f.rewriter(workers)
	u := lsm.Universal{Compaction: o.Compaction}
	var memory lsm.Memory
	var files []*datafile.Meta
	state := map[int64]record{}
	seq := int64(0)
	lookup := o.Changelog.Producer == "lookup"
	for range rapid.IntRange(2, 14).Draw(t, "steps") {
		if rapid.Bool().Draw(t, "write") {
			var rows []record
			for k := int64(0); k < 24; k++ {
				if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
					continue
				}
				row := record{key: k, value: rapid.Int64Range(0, 1).Draw(t, "value"), seq: seq, kind: rapid.SampledFrom([]types.RowKind{0, 0, 2, 3}).Draw(t, "kind")}
				if n := rapid.IntRange(0, 3).Draw(t, "user"); n > 0 {
					row.user = int64(n)
				}
				if o.IgnoreDelete && row.kind == types.Delete {
					row.kind = types.UpdateAfter // a writer leaves deletes out
				}
				rows = append(rows, row)
				seq++
			}
			if len(rows) > 0 {
				files = append(files, f.flush(0, rows...)...)
			}
			continue
		}
		levels := f.levels(files, r)
		unit, ok := u.Pick(&memory, f.env.Now(), levels.Count(), levels.Runs())
		if rapid.IntRange(0, 3).Draw(t, "full") == 0 {
			unit, ok = f.pickFull(r, levels)
		}
		if !ok {
			continue
		}
		out, err := r.Rewrite(context.Background(), Task{
			Unit: unit, Highest: levels.Count() - 1, DropDeletes: levels.DropsDeletes(&unit), Below: Below(levels, &unit),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Changelog {
			if !strings.HasPrefix(c.FileName, o.Changelog.Prefix) || int(c.Level) != unit.OutputLevel || c.FileSource == nil || *c.FileSource != datafile.Append {
				t.Fatalf("changelog file %+v", c)
			}
		}
		replay(t, state, f.rows(out.Changelog...), &o)
		if levels, err = levels.With(out.Before, out.After, r.KeyTypes()); err != nil {
			t.Fatal(err)
		}
		files = levels.Files()
		told := slices.DeleteFunc(slices.Clone(files), func(m *datafile.Meta) bool {
			return m.Level == 0 || !lookup && int(m.Level) != levels.Count()-1
		})
		ignoring := len(o.Changelog.IgnoreFields) > 0
		want := values(f.seen(told), o.Changelog.Deduplicate, ignoring)
		if d := cmp.Diff(want, values(state, o.Changelog.Deduplicate, ignoring)); d != "" {
			t.Fatalf("the changelog folds to another state: %s", d)
		}
	}
}

// seen are the rows of a read; where -D rows are older by the sequence field they
// stay hidden as in the table.
func (f *fixture) seen(files []*datafile.Meta) map[int64]record {
	f.t.Helper()
	o := f.options()
	out := map[int64]record{}
	for _, r := range f.rows(files...) {
		old, ok := out[r.key]
		n := newer(r, old, o.SequenceFields != nil)
		if ok && o.SequenceDescending && r.user != nil && old.user != nil && r.user != old.user {
			n = !n
		}
		if !ok || n {
			out[r.key] = r
		}
	}
	for k, r := range out {
		if r.kind.IsRetract() {
			delete(out, k)
		}
	}
	return out
}

// replay applies changes to a state and holds each against it.
func replay(t *rapid.T, state map[int64]record, rows []record, o *option.Options) {
	deduplicates, ignoring := o.Changelog.Deduplicate, len(o.Changelog.IgnoreFields) > 0
	pending := map[int64]bool{} // keys whose -U has come
	for _, r := range rows {
		old, had := state[r.key]
		// Updates that are none have left their mark in the table only.
		equal := old.user == r.user && (ignoring || old.value == r.value)
		same := had && equal && (deduplicates || old.seq == r.seq)
		switch r.kind {
		case types.Insert:
			if had {
				t.Fatalf("+I of a key that is there: %+v after %+v", r, old)
			}
			state[r.key] = r
		case types.UpdateBefore, types.Delete:
			if !same {
				t.Fatalf("%v takes back %+v, but there is %+v", r.kind, r, old)
			}
			delete(state, r.key)
			if r.kind == types.UpdateBefore {
				pending[r.key] = true
				state[r.key] = old // until its +U comes
			}
		case types.UpdateAfter:
			if !pending[r.key] {
				t.Fatalf("+U without -U: %+v", r)
			}
			if deduplicates && equal {
				t.Fatalf("an update that changes nothing: %+v", r)
			}
			delete(pending, r.key)
			state[r.key] = r
		}
	}
	if len(pending) > 0 {
		t.Fatalf("-U without +U: %v", pending)
	}
}

// What is looked up lies in few pages of a big file: the others are not read.
func TestLookupReadsFewPages(t *testing.T) {
	f := newFixture(t, []string{"k"}, map[string]string{"changelog-producer": "lookup", "file.block-size": "64 kb"})
	var rows []record
	for k := int64(0); k < 200_000; k++ {
		rows = append(rows, record{key: k, value: k, seq: k})
	}
	big := f.flush(5, rows...)
	for _, m := range big {
		m.Level = 5
	}
	fresh := f.flush(0, record{key: 7, value: 1, seq: 200_000, kind: types.UpdateAfter}, record{key: 59_000, seq: 200_001, kind: types.Delete},
		record{key: 700_000, value: 3, seq: 200_002})
	counted := layer.Count(f.fs)
	f.fio = counted
	r := f.rewriter(1)
	levels := f.levels(append(fresh, big...), r)
	unit := lsm.Unit{OutputLevel: 4, Files: fresh}
	out, err := r.Rewrite(context.Background(), Task{Unit: unit, Highest: 5, Below: Below(levels, &unit)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.rows(out.Changelog...) {
		got = append(got, fmt.Sprint(c.kind, " ", c.key, " ", c.value))
	}
	if want := []string{"-U 7 7", "+U 7 1", "-D 59000 59000", "+I 700000 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(out.After) != 1 || out.After[0].Level != 4 || out.After[0].FileName != fresh[0].FileName {
		t.Errorf("a file that nothing merges with is written anew: %+v", out.After)
	}
	if n := counted.BytesRead(); n > big[0].FileSize/2 {
		t.Errorf("%d bytes read of a file of %d: %v", n, big[0].FileSize, counted)
	}
	f.mem.AssertSize(t, 0)
}

// Where rows are looked up, what a compaction makes of them holds what lies below:
// a merge of all levels must not count that twice, nor a compaction of any.
func TestLookupAggregates(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "lookup"},
		{"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "2", "target-file-size": "1 kb"},
		{"force-lookup": "true"},
	} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				all := map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
				maps.Copy(all, options)
				f := newFixture(t2{t}, []string{"k"}, all)
				sumHistory(t, f)
				f.mem.AssertSize(t2{t}, 0)
			})
		})
	}
}

func sumHistory(t *rapid.T, f *fixture) {
	r := f.rewriter(1)
	o := f.options()
	u := lsm.Universal{Compaction: o.Compaction}
	var memory lsm.Memory
	var files []*datafile.Meta
	sums, state := map[int64]int64{}, map[int64]int64{}
	seq := int64(0)
	for range rapid.IntRange(2, 16).Draw(t, "steps") {
		if rapid.Bool().Draw(t, "write") {
			var rows []record
			for k := int64(0); k < 12; k++ {
				if rapid.Bool().Draw(t, "has") {
					rows = append(rows, record{key: k, value: 1 + seq, seq: seq})
					sums[k] += 1 + seq
					seq++
				}
			}
			if len(rows) > 0 {
				files = append(files, f.flush(0, rows...)...)
			}
		} else {
			levels := f.levels(files, r)
			unit, ok := u.Pick(&memory, f.env.Now(), levels.Count(), levels.Runs())
			switch rapid.IntRange(0, 5).Draw(t, "unit") {
			case 0:
				unit, ok = f.pickFull(r, levels)
			case 1, 2: // level 0 alone, to the lowest level that is free
				unit, ok = lsm.Unit{OutputLevel: 1 + rapid.IntRange(0, 3).Draw(t, "level")}, false
				for _, run := range levels.Runs() {
					if run.Level <= unit.OutputLevel {
						unit.Files = append(unit.Files, run.Run...)
						ok = true
					}
				}
			}
			if !ok {
				continue
			}
			out, err := r.Rewrite(context.Background(), Task{
				Unit: unit, Highest: levels.Count() - 1, DropDeletes: levels.DropsDeletes(&unit), Below: Below(levels, &unit),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range f.rows(out.Changelog...) {
				if c.kind == types.UpdateBefore && state[c.key] != c.value {
					t.Fatalf("-U of %d, but there is %d", c.value, state[c.key])
				}
				state[c.key] = c.value
			}
			if levels, err = levels.With(out.Before, out.After, r.KeyTypes()); err != nil {
				t.Fatal(err)
			}
			files = levels.Files()
			if o.Changelog.Producer == "none" {
				if len(out.Changelog) > 0 {
					t.Fatal("a changelog that nobody asked for")
				}
				continue
			}
			told := slices.DeleteFunc(slices.Clone(files), func(m *datafile.Meta) bool { return m.Level == 0 })
			if d := cmp.Diff(f.sums(r, told), state); d != "" {
				t.Fatalf("the changelog folds to another state: %s", d)
			}
		}
		if d := cmp.Diff(sums, f.sums(r, files)); d != "" {
			t.Fatalf("sums: %s", d)
		}
	}
}

// sums merges files as a compaction of all of them does.
func (f *fixture) sums(r *Rewriter, files []*datafile.Meta) map[int64]int64 {
	f.t.Helper()
	sections, err := lsm.Sections(files, r.KeyTypes())
	if err != nil {
		f.t.Fatal(err)
	}
	in := r.merged(f.dir(), sections, false, 0, 1)
	defer in.Close()
	out := map[int64]int64{}
	for {
		rec, err := in.Next(context.Background())
		if err == io.EOF {
			return out
		}
		if err != nil {
			f.t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			out[int64(rec.Column(1).(*array.Int32).Value(i))] = rec.Column(0).(*array.Int64).Value(i)
		}
	}
}

// Where rows are looked up, also a row that is alone is folded, as Java's
// LookupMergeFunction does: what is taken back from nothing is there with the
// opposite sign. Without lookups it stays what it is.
func TestLookupFoldsLoneRows(t *testing.T) {
	for _, c := range []struct {
		options      map[string]string
		level        int
		rows, change []string
	}{
		{map[string]string{"changelog-producer": "lookup"}, 4, []string{"+I 1 -5", "+I 2 3", "+I 3 -7"}, []string{"+I 1 -5", "+I 2 3", "+I 3 -7"}},
		{map[string]string{"changelog-producer": "lookup"}, 5, []string{"+I 1 -5", "+I 2 3", "+I 3 -7"}, []string{"+I 1 -5", "+I 2 3", "+I 3 -7"}},
		{map[string]string{"force-lookup": "true"}, 4, []string{"+I 1 -5", "+I 2 3", "+I 3 -7"}, nil},
		{map[string]string{"changelog-producer": "full-compaction"}, 5, []string{"+U 2 3"}, []string{"+I 2 3"}},
		{map[string]string{"compaction.force-rewrite-all-files": "true"}, 4, []string{"-D 1 5", "+U 2 3", "-U 3 7"}, nil},
	} {
		all := map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.s.ignore-retract": "true"}
		maps.Copy(all, c.options)
		f := newFixture(t, []string{"k"}, all)
		r := f.rewriter(1)
		files := f.flush(0, record{key: 1, value: 5, kind: types.Delete}, record{key: 2, value: 3, seq: 1, kind: types.UpdateAfter},
			record{key: 3, value: 7, seq: 2, kind: types.UpdateBefore})
		out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: c.level, Files: files}, Highest: 5, DropDeletes: c.level == 5})
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(f.rows(out.After...)); !slices.Equal(got, c.rows) {
			t.Errorf("%v to level %d: %q, want %q", c.options, c.level, got, c.rows)
		}
		if got := texts(f.rows(out.Changelog...)); !slices.Equal(got, c.change) {
			t.Errorf("%v to level %d tells %q, want %q", c.options, c.level, got, c.change)
		}
		f.mem.AssertSize(t, 0)
	}
}

// A row that a fold would change is written and not just moved: the table has what
// its changelog tells.
func TestLookupWritesWhatItFolds(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		moves   bool
	}{
		{map[string]string{"merge-engine": "partial-update"}, true},
		{map[string]string{"merge-engine": "partial-update", "fields.u.sequence-group": "v"}, false},
		{map[string]string{"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}, true},
		{map[string]string{"merge-engine": "aggregation", "fields.s.aggregate-function": "listagg"}, false},
		{nil, true},
	} {
		all := map[string]string{"changelog-producer": "lookup"}
		maps.Copy(all, c.options)
		f := newFixture(t, []string{"k"}, all)
		r := f.rewriter(1)
		files := f.flush(0, record{key: 1, value: 5})
		out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
		if err != nil {
			t.Fatal(err)
		}
		if moved := named(out.After, files[0].FileName); moved != c.moves {
			t.Errorf("%v: moved %v", c.options, moved)
		}
		f.mem.AssertSize(t, 0)
	}
}
