package manifest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// rewritten is the size of the manifests of before that after has not.
func rewritten(before, after []FileMeta) (size int64) {
	for _, m := range before {
		if !slices.ContainsFunc(after, func(a FileMeta) bool { return a.FileName == m.FileName }) {
			size += m.FileSize
		}
	}
	return size
}

func deletionsOf(metas []FileMeta) (n int64) {
	for _, m := range metas {
		n += m.Deleted
	}
	return n
}

// Whatever there is to merge, one merge rewrites no more than its budget and
// changes no table, and merges one after the other come to an end without
// deletions.
func TestBudgetIsKept(t *testing.T) {
	ctx := context.Background()
	parts, most, seeds := 0, int64(0), uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 2))
		s, _ := newTestStore(t, func(c *Config) { c.TargetSize = 200_000; c.Compression = "null" })
		s.rollEvery = 1
		opts := MergeOptions{TargetSize: 200_000, FullThreshold: 1, MinCount: 2 + rnd.IntN(8), Budget: Budget(200_000, int64(400_000+rnd.IntN(400_000)))}
		var metas []FileMeta
		var live []Entry
		for next := range 100 + rnd.IntN(200) {
			commit := []Entry{}
			for k := range 1 + rnd.IntN(60) {
				if len(live) > 0 && rnd.IntN(3) == 0 {
					i := rnd.IntN(len(live))
					gone := live[i]
					gone.Kind = Delete
					commit, live = append(commit, gone), slices.Delete(live, i, i+1)
					continue
				}
				e := entryOf(t, Add, rnd.IntN(6)-1, next*100+k)
				commit, live = append(commit, e), append(live, e)
			}
			written, err := s.WriteManifests(ctx, commit)
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, written...)
		}
		want := slices.Clone(live)
		for turn := int64(1); ; turn++ {
			opts.Turn = turn
			got, err := Merge(ctx, s, metas, opts)
			if err != nil {
				t.Fatal(err)
			}
			n := rewritten(metas, got)
			if most = max(most, n); n > opts.Budget {
				t.Fatalf("seed %d, turn %d: %d bytes were rewritten, the budget is %d", seed, turn, n, opts.Budget)
			}
			if n > 0 && deletionsOf(got) > 0 {
				parts++
			}
			metas = got
			now, err := s.ReadAll(ctx, metas, EntryFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if now, err = MergeEntries(now); err != nil {
				t.Fatalf("seed %d, turn %d: %v", seed, turn, err)
			}
			byName := func(a, b Entry) int { return strings.Compare(a.File.FileName, b.File.FileName) }
			slices.SortFunc(now, byName)
			slices.SortFunc(want, byName)
			if d := differ(want, now); d != "" {
				t.Fatalf("seed %d, turn %d: the table changed (-want +got):\n%s", seed, turn, d)
			}
			if deletionsOf(metas) == 0 {
				break
			}
			if turn == 300 {
				t.Fatalf("seed %d: %d deletions are left in %d manifests", seed, deletionsOf(metas), len(metas))
			}
		}
	}
	if parts < 5*int(seeds) || most < 400_000 {
		t.Errorf("only %d merges in parts, of %d bytes at most", parts, most)
	}
}

// What small commits cost, by sizes alone: 2,000 bytes of manifest each, upon
// manifests of what was there before. Exactly so many bytes are rewritten, by one
// commit at most and by all.
func TestCostOfSmallCommits(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name              string
		before            []int64
		commits           int
		most, total, list int64
	}{
		{"new table, 400", nil, 400, 456_000, 1_770_000, 29},
		{"new table, 20,000", nil, 20_000, 8_390_176, 198_154_144, 33},
		{"100 k files, 400", []int64{8 * mb, 7 * mb}, 400, 440_000, 1_708_000, 30},
		{"a million files, 400", slices.Repeat([]int64{8 * mb}, 20), 400, 456_000, 1_770_000, 49},
		{"badly kept", slices.Repeat([]int64{100_000}, 1000), 400, 20_968_960, 227_389_280, 796},
	} {
		opts := DefaultMergeOptions()
		opts.Budget = Budget(opts.TargetSize, opts.FullThreshold)
		var metas []FileMeta
		for _, n := range c.before {
			metas = append(metas, FileMeta{FileSize: n})
		}
		var most, total, list int64
		for range c.commits {
			metas = append(metas, FileMeta{FileSize: 2000})
			var out []FileMeta
			cost := int64(0)
			for _, g := range planMinor(metas, opts) {
				if !g.merge {
					out = append(out, g.metas...)
					continue
				}
				size := int64(0)
				for _, m := range g.metas {
					size += m.FileSize
				}
				cost += size
				for ; size > opts.TargetSize; size -= opts.TargetSize { // as the writer rolls
					out = append(out, FileMeta{FileSize: opts.TargetSize})
				}
				out = append(out, FileMeta{FileSize: size})
			}
			metas = out
			most, total, list = max(most, cost), total+cost, max(list, int64(len(metas)))
		}
		if got := fmt.Sprint(most, total, list); got != fmt.Sprint(c.most, c.total, c.list) {
			t.Errorf("%s: most, total and longest list are %s", c.name, got)
		}
	}
}
