//go:build interop

package interop

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/types"
)

// Buckets are filled and compacted at random, here and by Java: every unit is
// picked, cut, merged and moved the same way.
func TestPicksAreJavas(t *testing.T) {
	j := judge(t)
	histories, compactions, rewrites, moves, offPeak, early := 0, 0, 0, 0, 0, 0
	for seed := range uint64(150) {
		var now time.Time
		var options map[string]string
		var steps []TreeStep
		var want [][]TreeChange
		for hour := -1; hour != now.Hour(); hour = time.Now().Hour() { // again if it has turned meanwhile
			now = time.Now()
			rnd := rand.New(rand.NewPCG(seed, 11))
			options = treeOptions(rnd, now.Hour())
			steps = treeSteps(rnd, options["compaction.optimization-interval"] == soon)
			var err error
			if want, err = j.Compactions(t.Context(), options, steps); err != nil {
				t.Fatal(err)
			}
		}
		got := ownCompactions(t, now, options, steps)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d, options %v: Java's compactions and ours: %s", seed, options, d)
		}
		histories++
		if options["compaction.optimization-interval"] == soon {
			options["compaction.optimization-interval"] = never
			if !cmp.Equal(got, ownCompactions(t, now, options, steps)) {
				early++
			}
			options["compaction.optimization-interval"] = soon
		}
		delete(options, "compaction.offpeak-ratio")
		if !cmp.Equal(got, ownCompactions(t, now, options, steps)) {
			offPeak++
		}
		for _, changes := range got {
			if len(changes) > 0 {
				compactions++
			}
			for _, c := range changes {
				if c.Upgrade != "" {
					moves++
				} else {
					rewrites++
				}
			}
		}
	}
	t.Logf("%d histories, %d compactions, %d rewrites, %d files moved; the hour matters in %d, the end of an interval in %d", histories, compactions, rewrites, moves, offPeak, early)
	if compactions < 500 || rewrites < 500 || moves < 100 || offPeak < 3 || early < 5 {
		t.Error("the histories do not reach what they are for")
	}
}

// Intervals of early full compactions that do not end while a history is played, and that
// have ended each time a compaction has waited.
const never, soon = "1000 h", "1 ms"

// treeOptions draws options of a table, at some hour.
func treeOptions(rnd *rand.Rand, hour int) map[string]string {
	o := map[string]string{"target-file-size": "1000 b"}
	maybe := func(key string, values ...string) {
		if rnd.IntN(3) == 0 {
			o[key] = values[rnd.IntN(len(values))]
		}
	}
	maybe("num-sorted-run.compaction-trigger", "2", "3", "4", "8")
	maybe("num-levels", "2", "3", "10")
	maybe("compaction.max-size-amplification-percent", "10", "50", "1000")
	maybe("compaction.size-ratio", "0", "10", "70")
	maybe("compaction.force-up-level-0", "true")
	maybe("force-lookup", "true")
	maybe("lookup-compact", "gentle", "radical")
	maybe("lookup-compact.max-interval", "1", "3", "6")
	maybe("changelog-producer", "none", "lookup", "full-compaction")
	maybe("compaction.force-rewrite-all-files", "true", "false")
	maybe("compaction.optimization-interval", never, never, soon)
	if rnd.IntN(4) == 0 {
		o["compaction.total-size-threshold"] = fmt.Sprint(rnd.IntN(3000), " b")
	}
	if rnd.IntN(4) == 0 {
		o["compaction.incremental-size-threshold"] = fmt.Sprint(rnd.IntN(5000), " b")
	}
	if rnd.IntN(2) == 0 {
		start, end := offPeakHours(rnd, hour)
		o["compaction.offpeak.start.hour"], o["compaction.offpeak.end.hour"] = fmt.Sprint(start), fmt.Sprint(end)
		o["compaction.offpeak-ratio"] = fmt.Sprint(rnd.IntN(200))
	}
	return o
}

// offPeakHours draws hours that begin or end near the one given: one of a pair of times
// that hold it, and of a pair that do not, goes over midnight.
func offPeakHours(rnd *rand.Rand, hour int) (start, end int) {
	before, after := rnd.IntN(3), 1+rnd.IntN(2)
	switch rnd.IntN(5) {
	case 0: // a few hours, this one among them
		start, end = hour-before, hour+after
	case 1: // all others but a few, of before this one
		start, end = hour-before, hour-before-after
	case 2: // a few hours right after this one
		start, end = hour+1, hour+1+after
	case 3: // all but this one and a few before it
		start, end = hour+1, hour-before
	default:
		return 0, 24
	}
	return (start + 24) % 24, (end + 24) % 24
}

func treeSteps(rnd *rand.Rand, waits bool) []TreeStep {
	var out []TreeStep
	seq := int64(0)
	for i := range 10 + rnd.IntN(30) {
		if rnd.IntN(2) == 0 {
			step := TreeStep{Full: rnd.IntN(12) == 0}
			if waits {
				step.Wait = 3
			}
			out = append(out, step)
			continue
		}
		f := &TreeFile{Name: fmt.Sprint("f", i), Size: 1 + rnd.Int64N(200), MinSequence: seq, MaxSequence: seq + rnd.Int64N(9)}
		if rnd.IntN(3) == 0 {
			f.Size *= 10
		}
		f.Min = rnd.IntN(100)
		f.Max = f.Min + rnd.IntN(20)
		switch rnd.IntN(4) {
		case 0:
			f.MinSequence = max(0, seq-5) // a writer that did not know of the one before
		case 1:
			seq = f.MaxSequence // of two files the largest numbers are equal
		default:
			seq = f.MaxSequence + 1
		}
		if n := rnd.Int64N(4); n < 3 {
			n = max(0, n-1)
			f.Deletes = &n
		}
		out = append(out, TreeStep{Add: f})
	}
	return out
}

var treeKey = []types.Type{{Root: types.Int}}

func ownCompactions(t *testing.T, now time.Time, options map[string]string, steps []TreeStep) [][]TreeChange {
	t.Helper()
	o, err := option.Parse(options)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := lsm.NewLevels(nil, treeKey, o.NumLevels)
	if err != nil {
		t.Fatal(err)
	}
	b := ownBucket{t: t, options: o, levels: tree, bounds: map[string][2]int{}}
	universal := lsm.Universal{Compaction: o.Compaction}
	var memory lsm.Memory
	out := [][]TreeChange{}
	for _, s := range steps {
		if s.Add != nil {
			f := b.file(s.Add.Name, s.Add.Size, 0, s.Add.Min, s.Add.Max)
			f.MinSequence, f.MaxSequence, f.DeleteRowCount = s.Add.MinSequence, s.Add.MaxSequence, s.Add.Deletes
			b.replace(nil, []*datafile.Meta{f})
			continue
		}
		now = now.Add(time.Duration(s.Wait) * time.Millisecond)
		pick := func() (lsm.Unit, bool) {
			return universal.Pick(&memory, now, b.levels.Count(), b.levels.Runs())
		}
		if s.Full {
			pick = func() (lsm.Unit, bool) { return lsm.PickFull(b.levels.Count(), b.levels.Runs(), b.rewrites) }
		}
		changes := []TreeChange{}
		if unit, ok := pick(); ok {
			changes = b.compact(unit)
		}
		out = append(out, changes)
	}
	return out
}

// ownBucket is a bucket as package lsm sees it, with the judge's pretended rewrites.
type ownBucket struct {
	t       *testing.T
	options option.Options
	levels  *lsm.Levels
	bounds  map[string][2]int
	merged  int
}

func (b *ownBucket) rewrites(*datafile.Meta) bool { return b.options.Compaction.ForceRewriteAll }

func (b *ownBucket) file(name string, size int64, level, low, high int) *datafile.Meta {
	row := func(v int) binaryrow.Row {
		r, err := binaryrow.Encode(treeKey, []types.Value{int64(v)})
		if err != nil {
			b.t.Fatal(err)
		}
		return r
	}
	b.bounds[name] = [2]int{low, high}
	at := int64(0)
	return &datafile.Meta{FileName: name, FileSize: size, Level: int32(level), MinKey: row(low), MaxKey: row(high), CreationMillis: &at}
}

func (b *ownBucket) replace(before, after []*datafile.Meta) {
	levels, err := b.levels.With(before, after, treeKey)
	if err != nil {
		b.t.Fatal(err)
	}
	b.levels = levels
}

func (b *ownBucket) compact(unit lsm.Unit) []TreeChange {
	drop := b.levels.DropsDeletes(&unit)
	steps, err := unit.Steps(treeKey, lsm.StepRules{
		Highest: b.levels.Count() - 1, SmallFile: b.options.CompactionFileSize(true), Rewrite: b.rewrites,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	changes := []TreeChange{}
	var before, after []*datafile.Meta
	for _, s := range steps {
		for _, f := range s.Upgrade {
			changes = append(changes, TreeChange{Level: unit.OutputLevel, Upgrade: f.FileName})
			before, after = append(before, f), append(after, f.Upgrade(int32(unit.OutputLevel)))
		}
		if s.Rewrite == nil {
			continue
		}
		c := TreeChange{Level: unit.OutputLevel, Drop: drop}
		var size, deletes int64
		low, high := 1<<30, -1
		minSeq, maxSeq := int64(1<<60), int64(-1)
		for _, section := range s.Rewrite {
			var runs [][]string
			for _, run := range section {
				var names []string
				for _, f := range run {
					names, before = append(names, f.FileName), append(before, f)
					size += f.FileSize
					if f.DeleteRowCount != nil {
						deletes += *f.DeleteRowCount
					}
					low, high = min(low, b.bounds[f.FileName][0]), max(high, b.bounds[f.FileName][1])
					minSeq, maxSeq = min(minSeq, f.MinSequence), max(maxSeq, f.MaxSequence)
				}
				runs = append(runs, names)
			}
			c.Rewrite = append(c.Rewrite, runs)
		}
		b.merged++
		f := b.file(fmt.Sprint("m", b.merged), size*3/4, unit.OutputLevel, low, high)
		if drop {
			deletes = 0
		}
		f.MinSequence, f.MaxSequence, f.DeleteRowCount = minSeq, maxSeq, &deletes
		after = append(after, f)
		changes = append(changes, c)
	}
	b.replace(before, after)
	return changes
}
