package manifest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/ocf"
)

// entriesOf are n entries that add files from the number from on, a partition for
// every 500 of them.
func entriesOf(t testing.TB, from, n int) (out []Entry) {
	for k := from; k < from+n; k++ {
		out = append(out, entryOf(t, Add, k/500, k))
	}
	return out
}

// Manifests that only add files are merged without decoding one entry, whatever
// their sizes, and described as if they had been written anew.
func TestAdditionsAreMergedUndecoded(t *testing.T) {
	ctx := context.Background()
	for _, compression := range []string{"zstd", "snappy", "deflate", "null"} {
		s, fio := newTestStore(t, func(c *Config) { c.Compression = compression })
		var metas []FileMeta
		var all []Entry
		for _, n := range []int{1, 700, 1, 1, 2000, 3, 256, 1} { // 64,000 bytes are about 230 entries
			entries := entriesOf(t, len(all), n)
			written, err := s.WriteManifests(ctx, entries)
			if err != nil {
				t.Fatal(err)
			}
			all, metas = append(all, entries...), append(metas, written...)
		}
		before := s.Decoded()
		got, err := s.mergeGroup(ctx, metas)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Decoded() - before; n != 0 || len(got) != 1 {
			t.Errorf("%s: %d entries were decoded, %d manifests", compression, n, len(got))
		}
		entries, err := s.ReadAll(ctx, got, EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(all, entries); d != "" {
			t.Errorf("%s: entries (-want +got):\n%s", compression, d)
		}
		fresh, err := s.WriteManifests(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].FileSize > fresh[0].FileSize*11/10 {
			t.Errorf("%s: %d bytes, written anew %d", compression, got[0].FileSize, fresh[0].FileSize)
		}
		described := got[0]
		described.FileName, described.FileSize = fresh[0].FileName, fresh[0].FileSize
		if d := cmp.Diff(fresh[0], described); d != "" {
			t.Errorf("%s: description (-anew +merged):\n%s", compression, d)
		}
		// Blocks stay few: those of one manifest's end are joined with what follows.
		data, err := fileio.ReadFile(ctx, fio, s.cfg.Table.ManifestFile(got[0].FileName))
		if err != nil {
			t.Fatal(err)
		}
		box, err := openContainer(data)
		if err != nil {
			t.Fatal(err)
		}
		blocks := 0
		for {
			records, _, more, err := box.next(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if blocks++; box.blocksLeft() && len(records) < ocf.BlockSize || len(records) > 2*ocf.BlockSize+1000 {
				t.Errorf("%s: block %d has %d bytes", compression, blocks, len(records))
			}
		}
		if blocks > 14 {
			t.Errorf("%s: %d blocks", compression, blocks)
		}
	}
}

// What cannot be copied is decoded: where the list does not say all of a manifest,
// or miscounts it. Manifests of another compression are packed anew, undecoded;
// those of another release's schema are written anew.
func TestMergingWhatIsNotOurs(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		compression string
		change      func(m *FileMeta)
		decoded     int64
	}{
		"as written":    {"zstd", func(*FileMeta) {}, 0},
		"compression":   {"deflate", func(*FileMeta) {}, 0},
		"no buckets":    {"zstd", func(m *FileMeta) { m.MinBucket = nil }, 900},
		"no nulls":      {"zstd", func(m *FileMeta) { m.PartitionStats.NullCounts = nil }, 900},
		"unknown nulls": {"zstd", func(m *FileMeta) { m.PartitionStats.NullCounts = []*int64{nil, nil} }, 900},
		"bad bounds":    {"zstd", func(m *FileMeta) { m.PartitionStats.Min = nil }, 900},
		"miscounted":    {"zstd", func(m *FileMeta) { m.Added++ }, 900},
	} {
		s, fio := newTestStore(t, nil)
		other, _ := newTestStore(t, func(cfg *Config) { cfg.Compression, cfg.FileIO, cfg.Names = c.compression, fio, s.cfg.Names })
		first, err := other.WriteManifests(ctx, entriesOf(t, 0, 900))
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.WriteManifests(ctx, entriesOf(t, 900, 5))
		if err != nil {
			t.Fatal(err)
		}
		c.change(&first[0])
		before := s.Decoded()
		got, err := s.mergeGroup(ctx, slices.Concat(first, second))
		if err != nil || len(got) != 1 || got[0].Added != 905 || *got[0].MinBucket != 0 {
			t.Fatalf("%s: %v, %+v", name, err, got)
		}
		if n := s.Decoded() - before; n != c.decoded {
			t.Errorf("%s: %d entries were decoded, want %d", name, n, c.decoded)
		}
		entries, err := s.ReadAll(ctx, got, EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(entriesOf(t, 0, 905), entries); d != "" {
			t.Errorf("%s: entries (-want +got):\n%s", name, d)
		}
	}

	// A column of another release is passed over.
	s, fio := newTestStore(t, nil)
	text := strings.Replace(entrySchema(), `{"name":"_KIND","type":"int"}`, `{"name":"_MORE","type":"int"},{"name":"_KIND","type":"int"}`, 1)
	e := entryOf(t, Add, 1, 7)
	record := appendEntry(nil, &e)
	foreign := FileMeta{FileName: "manifest-foreign", Added: 1}
	data := boxOf("null", text, slices.Concat(record[:1], appendLong(nil, 77), record[1:]))
	if err := fio.Replace(ctx, s.cfg.Table.ManifestFile(foreign.FileName), data); err != nil {
		t.Fatal(err)
	}
	got, err := s.mergeGroup(ctx, []FileMeta{foreign})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.ReadAll(ctx, got, EntryFilter{})
	if d := differ([]Entry{e}, entries); d != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, d)
	}
}

// Where files are deleted, the manifests that may have them are decoded, once for
// the deletions and once to be merged, and no others.
func TestWhatMergingDecodes(t *testing.T) {
	ctx := context.Background()
	s, _ := newTestStore(t, nil)
	var metas []FileMeta
	write := func(entries []Entry) {
		written, err := s.WriteManifests(ctx, entries)
		if err != nil {
			t.Fatal(err)
		}
		metas = append(metas, written...)
	}
	write(entriesOf(t, 0, 500))    // partition 0
	write(entriesOf(t, 500, 500))  // partition 1
	write(entriesOf(t, 1000, 500)) // partition 2
	gone := entryOf(t, Delete, 1, 600)
	write([]Entry{gone, entryOf(t, Add, 9, 5000)})
	for name, merge := range map[string]func() ([]FileMeta, error){
		"group": func() ([]FileMeta, error) { return s.mergeGroup(ctx, metas) },
		"full": func() ([]FileMeta, error) {
			return Merge(ctx, s, metas, MergeOptions{TargetSize: 1 << 20, FullThreshold: 1})
		},
	} {
		before := s.Decoded()
		got, err := merge()
		if err != nil || len(got) != 1 || got[0].Added != 1500 || got[0].Deleted != 0 {
			t.Fatalf("%s: %v, %+v", name, err, got)
		}
		if n := s.Decoded() - before; n != 2+500+2 {
			t.Errorf("%s: %d entries were decoded", name, n)
		}
	}
}

// Entries merged as bytes are those that [Merger] leaves.
func TestGroupsMergeAsEntriesDo(t *testing.T) {
	ctx := context.Background()
	left := 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		s, _ := newTestStore(t, func(c *Config) { c.Workers = int(seed % 3) })
		var metas []FileMeta
		var all, live []Entry
		for next := range 2 + rnd.IntN(6) {
			var commit []Entry
			for k := range 1 + rnd.IntN(500) {
				switch {
				case len(live) > 0 && rnd.IntN(4) == 0:
					i := rnd.IntN(len(live))
					gone := live[i]
					gone.Kind = Delete
					commit, live = append(commit, gone), slices.Delete(live, i, i+1)
				case rnd.IntN(20) == 0: // its addition lies elsewhere
					commit = append(commit, entryOf(t, Delete, rnd.IntN(4), 1_000_000+next*1000+k))
				default:
					e := entryOf(t, Add, rnd.IntN(4), next*1000+k)
					commit, live = append(commit, e), append(live, e)
				}
			}
			written, err := s.WriteManifests(ctx, commit)
			if err != nil {
				t.Fatal(err)
			}
			all, metas = append(all, commit...), append(metas, written...)
		}
		want, err := MergeEntries(all)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := s.mergeGroup(ctx, metas)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.ReadAll(ctx, merged, EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(want, got); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		fresh, err := s.WriteManifests(ctx, want)
		if err != nil {
			t.Fatal(err)
		}
		merged[0].FileName, merged[0].FileSize = fresh[0].FileName, fresh[0].FileSize
		if d := cmp.Diff(fresh, merged); d != "" {
			t.Fatalf("seed %d: description (-anew +merged):\n%s", seed, d)
		}
		for _, m := range merged {
			left += int(m.Deleted)
		}
	}
	if left < 100 {
		t.Errorf("only %d deletions were left", left)
	}
}

// A file that is added after it was deleted in the same group is a mistake, as
// for [Merger].
func TestGroupThatAddsTwice(t *testing.T) {
	ctx := context.Background()
	for _, kinds := range [][]Kind{{Delete, Add}, {Delete, Add, Delete, Add}, {Add, Delete, Add, Add}} {
		s, _ := newTestStore(t, nil)
		var metas []FileMeta
		var entries []Entry
		for _, k := range kinds {
			e := entryOf(t, k, 1, 1)
			written, err := s.WriteManifests(ctx, []Entry{e})
			if err != nil {
				t.Fatal(err)
			}
			entries, metas = append(entries, e), append(metas, written...)
		}
		_, want := MergeEntries(entries)
		_, got := s.mergeGroup(ctx, metas)
		if fmt.Sprint(want) == "<nil>" || got == nil || !strings.Contains(got.Error(), want.Error()) {
			t.Errorf("%v: %v, want %v", kinds, got, want)
		}
	}
}

// However well entries compress, a manifest ends, and a merge takes in, after so
// many of them.
func TestEntriesCountInTheBudget(t *testing.T) {
	ctx := context.Background()
	s, _ := newTestStore(t, func(c *Config) { c.TargetSize = 2000 * leastEntry })
	s.rollEvery = 100
	metas, err := s.WriteManifests(ctx, entriesOf(t, 0, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		if m.Added != 2000 || m.FileSize >= s.cfg.TargetSize {
			t.Errorf("%d entries in %d bytes", m.Added, m.FileSize)
		}
	}
	opts := MergeOptions{TargetSize: s.cfg.TargetSize, FullThreshold: 1, MinCount: 2, Budget: Budget(s.cfg.TargetSize, 1)}
	// One deletion in each: all of it cannot be merged at once.
	for k := range 5 {
		written, err := s.WriteManifests(ctx, []Entry{entryOf(t, Delete, k*2000/500, k*2000)})
		if err != nil {
			t.Fatal(err)
		}
		metas = append(metas, written...)
	}
	most := int64(0)
	for opts.Turn = 1; len(holding(metas)) > 0; opts.Turn++ {
		before := s.Decoded()
		if metas, err = Merge(ctx, s, metas, opts); err != nil {
			t.Fatal(err)
		}
		if most = max(most, s.Decoded()-before); opts.Turn > 50 {
			t.Fatal("it does not end")
		}
	}
	if got := fmt.Sprint(opts.Turn, most); got != "4 8030" {
		t.Errorf("turns and most entries decoded by one merge: %s", got)
	}
	if entries, err := s.ReadAll(ctx, metas, EntryFilter{}); err != nil || len(entries) != 9995 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
