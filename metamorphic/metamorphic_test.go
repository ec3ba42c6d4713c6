package metamorphic

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var (
	one   = flag.Int("seed", -1, "play the history of one seed only")
	count = flag.Int("histories", 0, "how many histories to play; 0 = as many as tests take")
)

// histories is how many there are: few suffice for all pairs, for each of the first
// ones holds as many new pairs as can be.
func histories() int {
	switch {
	case *count > 0:
		return *count
	case raceDetector:
		return 100
	case testing.Short():
		return 300
	}
	return 2000
}

// Histories make many small things that live for a moment.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// TestHistories plays random histories. A table equals the model after each commit,
// and its changelog folded equals the table (INV-READ-1), under every legal pair of
// option values. A history that fails is printed, made as small as it gets.
func TestHistories(t *testing.T) {
	all, missing := configs(max(histories(), *one+1), 1)
	for _, p := range missing {
		t.Errorf("not reached: %v", p)
	}
	if *one >= 0 {
		playSeed(t, all[*one], *one)
		return
	}
	reached := map[pair]int{}
	picked := map[string]int{} // compactions that nothing else makes
	var held int64
	made := map[string]drawn{} // by merge engine
	spills, compacted := map[string]int64{}, map[value]int{}
	var mu sync.Mutex
	const lanes = 2
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := lane; seed < len(all); seed += lanes {
					done := playSeed(t, all[seed], seed)
					if done == nil {
						continue
					}
					mu.Lock()
					spills[all[seed][buffer]] += done.spills.Load()
					held += done.held
					late := made[all[seed][engine]]
					made[all[seed][engine]] = drawn{late.late + done.late, late.lateBack + done.lateBack}
					if c := all[seed]; !c.looksUp() && (c[compaction] == "in-writer" || c[compaction] == "late") {
						picked[c[early]] += done.compacted
					}
					for _, a := range []int{compaction, early, writer} {
						v := value{a, all[seed][a]}
						compacted[v] += done.compacted
					}
					for _, p := range all[seed].pairs() {
						reached[p]++
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, p := range allPairs() {
		if p.legal() && reached[p] == 0 {
			t.Errorf("no history was played with %v", p)
		}
	}
	if spills["spilling"] == 0 || spills["ample"]+spills["flushing"] > 0 {
		t.Errorf("spilled buffers: %v", spills)
	}
	for _, a := range []int{compaction, early, writer} {
		for _, when := range axes[a].values {
			if lazy := strings.HasPrefix(when, "write-only"); !lazy && compacted[value{a, when}] == 0 {
				t.Errorf("no commit with %v compacted anything: %v", value{a, when}, compacted)
			}
		}
	}
	for _, why := range axes[early].values {
		if picked[why] == 0 && len(all) >= 1000 {
			t.Errorf("picks=%s made no compaction: %v", why, picked)
		}
	}
	for _, e := range axes[engine].values {
		ordered, takesBack := e != "first-row", e != "first-row" && e != "partial-update"
		if len(all) >= 1000 && (ordered && made[e].late == 0 || takesBack && made[e].lateBack == 0) {
			t.Errorf("late rows of %s: %+v", e, made[e])
		}
	}
	if held == 0 {
		t.Error("no commit held compactions back")
	}
	t.Logf("%d histories, spills %v, compactions by commits %v, files held back %d, late rows and those that take back %v\n%s",
		len(all), spills, compacted, held, made, coverage(reached))
	if file := os.Getenv(summaryEnv); file != "" {
		text := fmt.Sprintf("%d histories; of each value with each axis the pair that the fewest of them held\n%s", len(all), summary(reached))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// summaryEnv names a file for [summary], which a test that passes prints nowhere else.
const summaryEnv = "TARN_TEST_PAIRS"

// playSeed returns what the history did, nil when it failed.
func playSeed(t *testing.T, c config, seed int) *effects {
	s, err := create(t.Context(), mem.New(mem.Posix), c)
	if err != nil {
		t.Errorf("seed %d: %v\n%v", seed, err, c)
		return nil
	}
	h := newHistory(c, s, uint64(seed))
	done, err := play(t.Context(), h, uint64(seed))
	if err != nil {
		h, err = minimise(t.Context(), s, h, uint64(seed), err)
		t.Errorf("seed %d: %v\n%v", seed, err, h)
	}
	return done
}

// minimise leaves out keys, commits and compactions as long as the history fails.
// The rows of a key stay together, for they are made to fit each other.
func minimise(ctx context.Context, s *schema.Schema, h history, seed uint64, err error) (history, error) {
	model := oracle.NewTable(s)
	try := func(smaller history) bool {
		_, e := play(ctx, smaller, seed)
		if e != nil {
			h, err = smaller, e
		}
		return e != nil
	}
	keys := map[string]bool{}
	for _, c := range h.commits {
		for _, rows := range c.batches {
			for _, r := range rows {
				keys[model.Key(r)] = true
			}
		}
	}
	for key := range keys {
		without := history{config: h.config, drawn: h.drawn}
		for _, c := range h.commits {
			batches := slices.Clone(c.batches)
			for i, rows := range batches {
				batches[i] = slices.DeleteFunc(slices.Clone(rows), func(r oracle.Row) bool { return model.Key(r) == key })
			}
			c.batches = batches
			without.commits = append(without.commits, c)
		}
		try(without)
	}
	for n := len(h.commits) - 1; n > 0 && try(history{h.config, h.commits[:n], h.drawn}); n-- {
	}
	for i := range h.commits {
		// Rows are made to fit what compactions settle.
		if !h.config.settledBy(h.commits[i]) {
			smaller := history{h.config, slices.Clone(h.commits), h.drawn}
			smaller.commits[i].minor = false
			try(smaller)
		}
	}
	return h, err
}

// coverage says how many histories held each pair of values, a table for each two axes.
func coverage(reached map[pair]int) string {
	var b strings.Builder
	for x := range axes {
		for y := x + 1; y < len(axes); y++ {
			w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "%s \\ %s\t%s\n", axes[x].name, axes[y].name, strings.Join(axes[y].values, "\t"))
			for _, v := range axes[x].values {
				fmt.Fprint(w, v)
				for _, u := range axes[y].values {
					p := pair{{x, v}, {y, u}}
					if refused[p] != "" {
						fmt.Fprint(w, "\trefused")
					} else if unplayed[p] != "" {
						fmt.Fprint(w, "\tunplayed")
					} else {
						fmt.Fprintf(w, "\t%d", reached[p])
					}
				}
				fmt.Fprintln(w)
			}
			w.Flush()
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// summary says in a line for each value how many histories held its rarest pair with a
// value of each axis, refused ones left out.
func summary(reached map[pair]int) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for x := range axes {
		fmt.Fprintf(w, "\t%s", axes[x].name)
	}
	fmt.Fprintln(w)
	for x := range axes {
		for _, v := range axes[x].values {
			fmt.Fprintf(w, "%s=%s", axes[x].name, v)
			for y := range axes {
				least, legal := 0, false
				for _, u := range axes[y].values {
					p := pair{{x, v}, {y, u}}
					if x > y {
						p = pair{{y, u}, {x, v}}
					}
					if x != y && p.legal() && (!legal || reached[p] < least) {
						least, legal = reached[p], true
					}
				}
				if legal {
					fmt.Fprintf(w, "\t%d", least)
				} else {
					fmt.Fprint(w, "\t-")
				}
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush()
	return b.String()
}

// TestRefusedPairs makes a table of each pair that Java refuses.
func TestRefusedPairs(t *testing.T) {
	for p, reason := range refused {
		_, err := create(t.Context(), mem.New(mem.Posix), p.config())
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v: %v, want %q", p, err, reason)
		}
	}
}

// TestRefusedRows writes rows that take others back to tables whose merge engine has
// no use for them, as [config.legal] has it.
func TestRefusedRows(t *testing.T) {
	for _, name := range []string{"partial-update", "first-row"} {
		c := pair{{engine, name}, {compaction, "late"}}.config()
		s, err := create(t.Context(), mem.New(mem.Posix), c)
		if err != nil {
			t.Fatal(err)
		}
		row := oracle.Row{Values: make([]types.Value, len(s.Fields))}
		row.Values[0] = int64(1)
		back := row
		back.Kind = types.Delete
		_, err = play(t.Context(), history{config: c, commits: []commit{{batches: [][]oracle.Row{{row, back}}}}}, 0)
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "can not accept") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLookupsBesideFullCompaction writes to the tables that are unplayed because Tarn does not.
func TestLookupsBesideFullCompaction(t *testing.T) {
	for _, how := range []string{"forced", "gentle-forced"} {
		c := pair{{producer, "full-compaction"}, {lookups, how}}.config()
		s, err := create(t.Context(), mem.New(mem.Posix), c)
		if err != nil {
			t.Fatal(err)
		}
		row := oracle.Row{Values: make([]types.Value, len(s.Fields))}
		row.Values[0] = int64(1)
		_, err = play(t.Context(), history{config: c, commits: []commit{{batches: [][]oracle.Row{{row}}}}}, 0)
		if !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "force-lookup") {
			t.Errorf("%s: %v", how, err)
		}
	}
}
