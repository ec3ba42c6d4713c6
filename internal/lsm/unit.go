package lsm

import (
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

// Unit is what one compaction of a bucket takes in: whole runs, from the newest
// on, without a gap.
type Unit struct {
	OutputLevel int
	Files       []*datafile.Meta // run after run, the newest first
	// Alone rewrites each file by itself, whatever its size.
	Alone bool
}

func unitOf(level int, runs []LeveledRun) Unit {
	u := Unit{OutputLevel: level}
	for _, r := range runs {
		u.Files = append(u.Files, r.Run...)
	}
	return u
}

// Size is the bytes of the files taken in.
func (u *Unit) Size() int64 { return Run(u.Files).Size() }

// PickFull takes all runs to the highest of count levels. When all files are
// there already it takes those that rewrite says must be written anew, each by
// itself. It reports false when there is nothing to do. Source: paimon-core
// mergetree/compact/CompactStrategy.
func PickFull(count int, runs []LeveledRun, rewrite func(*datafile.Meta) bool) (Unit, bool) {
	highest := count - 1
	if len(runs) == 1 && runs[0].Level == highest {
		u := Unit{OutputLevel: highest, Alone: true}
		for _, f := range runs[0].Run {
			if rewrite(f) {
				u.Files = append(u.Files, f)
			}
		}
		return u, len(u.Files) > 0
	}
	return unitOf(highest, runs), len(runs) > 0
}

// DropsDeletes reports that nothing older than the output of a unit remains, so
// that its deletes have nothing left to hide (INV-TREE-2).
func (l *Levels) DropsDeletes(u *Unit) bool {
	return u.OutputLevel != 0 && u.OutputLevel >= l.HighestLevel()
}

// Step is a part of a unit: sections, in key order, that are merged into one
// sorted run, or files that only move to the unit's level.
type Step struct {
	Rewrite []Section
	Upgrade []*datafile.Meta
}

// StepRules say which files need no rewriting.
type StepRules struct {
	// Highest is the highest level of the tree, on which no file keeps deletes.
	Highest int
	// SmallFile is from which size on a file that nothing overlaps is not rewritten.
	SmallFile int64
	// Rewrite says of which files everything is written anew; nil = of none.
	Rewrite func(*datafile.Meta) bool
}

// Steps splits a unit into steps, ascending in key: sections of several runs are
// merged, and small files are written together with what comes before them in
// key order. A large file that nothing overlaps just moves up, unless it holds
// deletes that the highest level must not have. Files at the output level that
// need nothing are in no step. Source: paimon-core
// mergetree/compact/MergeTreeCompactTask.
func (u *Unit) Steps(keys []types.Type, rules StepRules) ([]Step, error) {
	s := steps{unit: u, rules: rules}
	if u.Alone {
		for _, f := range u.Files {
			s.out = append(s.out, Step{Rewrite: []Section{{{f}}}})
		}
		return s.out, nil
	}
	sections, err := Sections(u.Files, keys)
	if err != nil {
		return nil, err
	}
	for _, section := range sections {
		if len(section) > 1 {
			s.waiting = append(s.waiting, section)
			continue
		}
		for _, f := range section[0] {
			if f.FileSize < rules.SmallFile {
				s.waiting = append(s.waiting, Section{{f}})
			} else {
				s.flush()
				s.move(f)
			}
		}
	}
	s.flush()
	return s.out, nil
}

type steps struct {
	unit    *Unit
	rules   StepRules
	waiting []Section
	out     []Step
}

// flush ends the rewrite of what waits. One section of one run alone gains nothing
// by it.
func (s *steps) flush() {
	waiting := s.waiting
	s.waiting = nil
	switch {
	case len(waiting) == 0:
	case len(waiting) == 1 && len(waiting[0]) == 1:
		for _, f := range waiting[0][0] {
			s.move(f)
		}
	default:
		s.out = append(s.out, Step{Rewrite: waiting})
	}
}

func (s *steps) move(f *datafile.Meta) {
	level := s.unit.OutputLevel
	switch {
	case level == s.rules.Highest && mayHoldDeletes(f), s.rules.Rewrite != nil && s.rules.Rewrite(f):
		s.out = append(s.out, Step{Rewrite: []Section{{{f}}}})
	case int(f.Level) != level:
		if n := len(s.out); n > 0 && s.out[n-1].Upgrade != nil {
			s.out[n-1].Upgrade = append(s.out[n-1].Upgrade, f)
			return
		}
		s.out = append(s.out, Step{Upgrade: []*datafile.Meta{f}})
	}
}

// mayHoldDeletes reports a file that holds deletes, or of which nobody knows.
func mayHoldDeletes(f *datafile.Meta) bool { return f.DeleteRowCount == nil || *f.DeleteRowCount > 0 }

// With gives the levels after a compaction took files away and put others in
// their place. Files that are not there are not missed.
func (l *Levels) With(before, after []*datafile.Meta, keys []types.Type) (*Levels, error) {
	gone := make(map[string]bool, len(before))
	for _, f := range before {
		gone[f.Identity()] = true
	}
	files := slices.DeleteFunc(l.Files(), func(f *datafile.Meta) bool { return gone[f.Identity()] })
	return NewLevels(append(files, after...), keys, l.Count())
}

// Files are the files of all levels, the newest run first.
func (l *Levels) Files() []*datafile.Meta {
	var out []*datafile.Meta
	for _, r := range l.Runs() {
		out = append(out, r.Run...)
	}
	return out
}
