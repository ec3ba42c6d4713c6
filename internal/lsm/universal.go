package lsm

import (
	"time"

	"github.com/tarnlake/tarn/option"
)

// Universal picks what to compact next, by the sizes and levels of the runs: the
// fewer runs, the cheaper a read; the more similar the runs that are merged, the
// cheaper the writes. Immutable, shared by all buckets of a table. It picks as
// paimon-core mergetree/compact/UniversalCompaction, EarlyFullCompaction and
// ForceUpLevel0Compaction do.
type Universal struct{ option.Compaction }

// Memory is what the picks of one bucket leave behind for the next ones. The zero
// value is that of a bucket just opened.
type Memory struct {
	// full is when the last full compaction was picked; zero = never.
	full time.Time
	// idle counts picks of nothing since level 0 was last forced up.
	idle int
}

// Pick takes the unit to compact next out of a tree of count levels with these
// runs, the newest first. It reports false when nothing is worth it. now is the
// time on the wall of the machine's zone, for the hours off peak.
func (u *Universal) Pick(m *Memory, now time.Time, count int, runs []LeveledRun) (Unit, bool) {
	unit, ok := u.pick(m, now, count, runs)
	// A file alone on the level it would go to stays where it is.
	if !ok || len(unit.Files) == 0 || len(unit.Files) == 1 && int(unit.Files[0].Level) == unit.OutputLevel {
		return Unit{}, false
	}
	return unit, true
}

func (u *Universal) pick(m *Memory, now time.Time, count int, runs []LeveledRun) (Unit, bool) {
	if unit, ok := u.byRuns(m, now, count-1, runs); ok {
		return unit, true
	}
	if !u.ForceUpLevel0 {
		return Unit{}, false
	}
	if u.ForceUpInterval > 0 {
		if m.idle++; m.idle != u.ForceUpInterval {
			return Unit{}, false
		}
		m.idle = 0
	}
	return u.forceUp(m, now, count-1, runs)
}

// byRuns picks by the runs alone.
func (u *Universal) byRuns(m *Memory, now time.Time, highest int, runs []LeveledRun) (Unit, bool) {
	if u.wantsFull(m, now, highest, runs) {
		m.full = now
		return unitOf(highest, runs), true
	}
	if len(runs) < u.Trigger {
		return Unit{}, false
	}
	if u.amplified(runs) {
		m.full = now
		return unitOf(highest, runs), true
	}
	if n := u.similar(now, runs, 1); n > 1 {
		return u.unit(m, now, highest, runs, n), true
	}
	if n := len(runs) - u.Trigger + 1; n > 1 {
		return u.unit(m, now, highest, runs, u.similar(now, runs, n)), true
	}
	return Unit{}, false
}

// forceUp takes all of level 0, and what is not much larger.
func (u *Universal) forceUp(m *Memory, now time.Time, highest int, runs []LeveledRun) (Unit, bool) {
	n := 0
	for n < len(runs) && runs[n].Level == 0 {
		n++
	}
	if n == 0 {
		return Unit{}, false
	}
	return u.unit(m, now, highest, runs, u.similar(now, runs, n)), true
}

// wantsFull reports that it is time for a full compaction, whatever the runs: by
// the clock, or because the tree is small, or because much is not at its bottom.
func (u *Universal) wantsFull(m *Memory, now time.Time, highest int, runs []LeveledRun) bool {
	if len(runs) == 1 {
		return false
	}
	if u.OptimizationInterval != nil && (m.full.IsZero() || now.UnixMilli()-m.full.UnixMilli() > u.OptimizationInterval.Milliseconds()) {
		return true
	}
	var total, incremental int64
	for _, r := range runs {
		total += r.Run.Size()
		if r.Level != highest {
			incremental += r.Run.Size()
		}
	}
	return u.TotalSize != nil && total < *u.TotalSize || u.IncrementalSize != nil && incremental > *u.IncrementalSize
}

// amplified reports that what lies above the oldest run takes so much more room
// than it that all is worth merging.
func (u *Universal) amplified(runs []LeveledRun) bool {
	var above int64
	last := len(runs) - 1
	for _, r := range runs[:last] {
		above += r.Run.Size()
	}
	return above*100 > int64(u.MaxSizeAmplification)*runs[last].Run.Size()
}

// similar extends the first n runs by those behind them as long as the next one
// is not larger than all so far, by some percent.
func (u *Universal) similar(now time.Time, runs []LeveledRun, n int) int {
	var size int64
	for _, r := range runs[:n] {
		size += r.Run.Size()
	}
	percent := 100 + float64(u.SizeRatio) + float64(u.offPeak(now.Hour()))
	for ; n < len(runs); n++ {
		next := runs[n].Run.Size()
		// The rounding is part of the rule.
		if float64(size)*percent/100 < float64(next) {
			break
		}
		size += next
	}
	return n
}

// offPeak is what the hour adds to the size ratio.
func (u *Universal) offPeak(hour int) int {
	from, to := u.OffPeakStart, u.OffPeakEnd
	if from == -1 || to == -1 || from == to {
		return 0
	}
	in := from <= hour && hour < to
	if from > to {
		in = from <= hour || hour < to
	}
	if in {
		return u.OffPeakRatio
	}
	return 0
}

// unit is that of the first n runs: it goes right above the run that follows, but
// not to level 0, which is for files whose runs know nothing of each other.
func (u *Universal) unit(m *Memory, now time.Time, highest int, runs []LeveledRun, n int) Unit {
	level := highest
	if n < len(runs) {
		level = max(0, runs[n].Level-1)
	}
	for level == 0 && n < len(runs) {
		level = runs[n].Level
		n++
	}
	if n == len(runs) {
		m.full = now
		level = highest
	}
	return unitOf(level, runs[:n])
}
