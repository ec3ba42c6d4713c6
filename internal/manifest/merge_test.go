package manifest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// What cancels and what stays.
func TestMergeEntries(t *testing.T) {
	parse := func(line string) (entries []Entry) {
		for _, w := range strings.Fields(line) {
			var p, n int
			if _, err := fmt.Sscanf(w[1:], "%d/%d", &p, &n); err != nil {
				t.Fatal(w, err)
			}
			entries = append(entries, entryOf(t, map[byte]Kind{'+': Add, '-': Delete}[w[0]], p, n))
		}
		return entries
	}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"+0/1 +0/2", "+1 +2"},
		{"+0/1 -0/1 +0/2", "+2"},
		{"-0/1", "-1"},                   // its ADD lies in an older manifest
		{"-0/1 +0/2 -0/2", "-1"},         //
		{"+0/1 -0/1 +0/1", "+1"},         // added again
		{"+0/1 +0/2 -0/1 +0/1", "+2 +1"}, // … it comes last
		{"+0/1 -1/1", "+1 -1"},           // another partition's file of that name
		{"+0/1 +0/1", "error"},
		{"-0/1 +0/1", "error"}, // Java takes it for a file added twice
		{"-0/1 -0/1", ""},
	} {
		got, err := MergeEntries(parse(c.in))
		text := fileNames(got)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Errorf("%q: %v", c.in, err)
			}
			text = "error"
		}
		if text != c.want {
			t.Errorf("%q: %q, want %q", c.in, text, c.want)
		}
	}
}

// An upgrade deletes a file at one level and adds it at another: the file stays.
func TestUpgradeIsNoDeletion(t *testing.T) {
	before := entryOf(t, Add, 0, 3)
	gone, up := before, before
	gone.Kind, up.File = Delete, before.File.Upgrade(5)
	for _, order := range [][]Entry{{before, gone, up}, {before, up, gone}} {
		got, err := MergeEntries(order)
		if err != nil || len(got) != 1 || got[0].File.Level != 5 {
			t.Errorf("%v %v, want the file at level 5", got, err)
		}
	}
	for i, change := range []func(*datafile.Meta){
		func(m *datafile.Meta) { m.ExtraFiles = []string{"x"} },
		func(m *datafile.Meta) { m.EmbeddedIndex = []byte{1} },
		func(m *datafile.Meta) { m.ExternalPath = ptr("oss://b/f") },
	} {
		m := *before.File
		change(&m)
		other := before
		other.Kind, other.File = Delete, &m
		got, err := MergeEntries([]Entry{before, other})
		if err != nil || len(got) != 2 {
			t.Errorf("change %d: %v %v, want both entries", i, got, err)
		}
	}
}

// TestPlans shows what is merged, by manifest sizes: a number is a manifest of
// so many bytes without deletions, with a d one that has some.
func TestPlans(t *testing.T) {
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		opts := MergeOptions{TargetSize: 100, FullThreshold: 200, MinCount: 3}
		if d.HasArg("budget") {
			d.ScanArgs(t, "budget", &opts.Budget)
		}
		var metas []FileMeta
		for i, w := range strings.Fields(d.Input) {
			m := FileMeta{FileName: fmt.Sprint("m", i)}
			if strings.HasSuffix(w, "d") {
				m.Deleted = 1
			}
			if _, err := fmt.Sscanf(w, "%d", &m.FileSize); err != nil {
				t.Fatal(w, err)
			}
			metas = append(metas, m)
		}
		var out []string
		switch d.Cmd {
		case "full":
			changed, due := planFull(metas, opts)
			out = append(out, fmt.Sprint("due=", due))
			for i, c := range changed {
				if c {
					out = append(out, metas[i].FileName)
				}
			}
		case "minor":
			for _, g := range planMinor(metas, opts) {
				names := []string{"keep"}
				if g.merge {
					names[0] = "merge"
				}
				for _, m := range g.metas {
					names = append(names, m.FileName)
				}
				out = append(out, "("+strings.Join(names, " ")+")")
			}
		default:
			t.Fatalf("no command %q", d.Cmd)
		}
		return strings.Join(out, " ") + "\n"
	})
}

// Whatever manifests a history of commits leaves, merging them changes no table,
// loses no deletion whose file lies elsewhere, and leaves the old manifests alone.
func TestMergeChangesNothing(t *testing.T) {
	ctx := context.Background()
	merged, full := 0, 0
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s, fio := newTestStore(t, func(c *Config) { c.TargetSize = 3000; c.Workers = 1 + int(seed%3); c.Compression = "null" })
		opts := MergeOptions{TargetSize: 6000, FullThreshold: int64(2000 + rnd.IntN(60_000)), MinCount: 2 + rnd.IntN(8)}
		var metas []FileMeta
		var live []Entry
		next := 0
		for range 1 + rnd.IntN(25) {
			var commit []Entry
			for range 1 + rnd.IntN(12) {
				if len(live) > 0 && rnd.IntN(3) == 0 {
					i := rnd.IntN(len(live))
					gone := live[i]
					gone.Kind = Delete
					commit, live = append(commit, gone), slices.Delete(live, i, i+1)
					continue
				}
				next++
				e := entryOf(t, Add, rnd.IntN(4)-1, next)
				commit, live = append(commit, e), append(live, e)
			}
			written, err := s.WriteManifests(ctx, commit)
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, written...)
			got, err := Merge(ctx, s, metas, opts)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, metas, func(a, b FileMeta) bool { return a.FileName == b.FileName }) {
				merged++
			}
			if _, due := planFull(metas, opts); due {
				full++
			}
			for _, m := range metas {
				if _, err := fio.Stat(ctx, s.cfg.Table.ManifestFile(m.FileName)); err != nil {
					t.Fatal(err)
				}
			}
			metas = got
			entries, err := s.ReadAll(ctx, metas, EntryFilter{})
			if err != nil {
				t.Fatal(err)
			}
			// A full merge may put an old manifest behind a new one, never a DELETE before its ADD.
			now, err := MergeEntries(entries)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want := append([]Entry{}, live...)
			byName := func(a, b Entry) int { return strings.Compare(a.File.FileName, b.File.FileName) }
			slices.SortFunc(now, byName)
			slices.SortFunc(want, byName)
			if diff := differ(want, now); diff != "" {
				t.Fatalf("seed %d: the table changed (-want +got):\n%s", seed, diff)
			}
		}
	}
	if merged < 100 || full < 100 {
		t.Errorf("only %d merges and %d full ones", merged, full)
	}
}

// A merge that fails leaves none of its own files behind and all others alone.
func TestFailedMergeLeavesNothing(t *testing.T) {
	ctx := context.Background()
	for _, threshold := range []int64{1, 1 << 40} {
		s, fio := newTestStore(t, nil)
		var metas []FileMeta
		for n := range 6 {
			written, err := s.WriteManifests(ctx, []Entry{entryOf(t, Add, 0, n)})
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, written...)
		}
		opts := MergeOptions{TargetSize: metas[0].FileSize * 3 / 2, FullThreshold: threshold, MinCount: 2}
		broken := s.cfg.Table.ManifestFile(metas[5].FileName)
		if err := fio.Replace(ctx, broken, []byte("x")); err != nil {
			t.Fatal(err)
		}
		_, err := Merge(ctx, s, metas, opts)
		if err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), broken) {
			t.Errorf("threshold %d: %v, want Corrupt with the path", threshold, err)
		}
		manifests, _, _ := manifestFiles(t, fio, s.cfg.Table.ManifestDir())
		if len(manifests) != 6 {
			t.Errorf("threshold %d: manifests %v", threshold, manifests)
		}
	}
}

func TestMayHold(t *testing.T) {
	s, _ := newTestStore(t, nil)
	sum := newSummary(s.cfg.Partition)
	for _, p := range []int{3, 5, 7} {
		e := entryOf(t, Add, p, 1)
		if err := sum.add(&e); err != nil {
			t.Fatal(err)
		}
	}
	m, err := sum.meta("m", 1)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[int]bool{2: false, 3: true, 4: true, 7: true, 8: false, -1: false} {
		if got := s.MayHold(m, partitionOf(t, p)); got != want {
			t.Errorf("partition %d: %v, want %v", p, got, want)
		}
	}
	onlyNull := newSummary(s.cfg.Partition)
	e := entryOf(t, Add, -1, 1)
	if err := onlyNull.add(&e); err != nil {
		t.Fatal(err)
	}
	if m, err = onlyNull.meta("m", 1); err != nil {
		t.Fatal(err)
	}
	if s.MayHold(m, partitionOf(t, 3)) || !s.MayHold(m, partitionOf(t, -1)) {
		t.Error("manifest of the null partition")
	}
	m.PartitionStats.NullCounts = []*int64{nil, nil}
	if !s.MayHold(m, partitionOf(t, 3)) {
		t.Error("unknown statistics rule nothing out")
	}
	if !s.MayHold(FileMeta{}, partitionOf(t, 3)) {
		t.Error("no statistics rule nothing out")
	}
}

// Merging reads each manifest once, and those it keeps not at all.
func TestMergeRequests(t *testing.T) {
	ctx := context.Background()
	s, fio := newTestStore(t, nil)
	var metas []FileMeta
	for n := range 8 {
		written, err := s.WriteManifests(ctx, []Entry{entryOf(t, Add, n, n)})
		if err != nil {
			t.Fatal(err)
		}
		metas = append(metas, written...)
	}
	counted := layer.Count(fio)
	s.cfg.FileIO = counted
	if got, err := Merge(ctx, s, metas, DefaultMergeOptions()); err != nil || len(got) != 8 || counted.Total() != 0 {
		t.Errorf("nothing to do: %d manifests, %v, %v", len(got), err, counted)
	}
	opts := DefaultMergeOptions()
	opts.MinCount = 8
	if got, err := Merge(ctx, s, metas, opts); err != nil || len(got) != 1 || counted.Calls(layer.Open) != 8 || counted.Calls(layer.Create) != 1 {
		t.Errorf("minor: %d manifests, %v, %v", len(got), err, counted)
	}
}

// Partition statistics treat wide nulls and bytes as Java does.
func TestSummaryOfWideNulls(t *testing.T) {
	fields := []types.Field{{Name: "d", Type: types.MustParse("DECIMAL(38,2)")}, {Name: "b", Type: types.MustParse("BYTES")}}
	s, _ := newTestStore(t, func(c *Config) { c.Partition = fields })
	e := entryOf(t, Add, 0, 1)
	row, err := rowOf(fields, nil, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	e.Partition = row
	metas, err := s.WriteManifests(context.Background(), []Entry{e})
	if err != nil {
		t.Fatal(err)
	}
	want, err := rowOf(fields, nil, nil) // bytes have no order in Java's statistics
	if err != nil {
		t.Fatal(err)
	}
	stats := metas[0].PartitionStats
	if string(stats.Min) != string(want) || string(stats.Max) != string(want) || *stats.NullCounts[0] != 1 || *stats.NullCounts[1] != 0 {
		t.Errorf("statistics %x %x, want %x", stats.Min, stats.Max, want)
	}
}

func rowOf(fields []types.Field, vs ...types.Value) (binaryrow.Row, error) {
	ts := make([]types.Type, len(fields))
	for i, f := range fields {
		ts[i] = f.Type
	}
	return binaryrow.Encode(ts, vs)
}
