package lsm

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Levels is the tree of one bucket: every file of level 0 a run of its own,
// newest first, and one run per higher level. Immutable.
type Levels struct {
	level0 []*datafile.Meta
	higher []Run // level 1 first; empty runs where a level has no files
}

// NewLevels sorts the files of a bucket into levels. There are at least count
// levels, more when a file lies higher. Files of one level ≥ 1 that overlap are
// Corrupt (INV-TREE-1).
func NewLevels(files []*datafile.Meta, keys []types.Type, count int) (*Levels, error) {
	for _, f := range files {
		if f.Level < 0 {
			return nil, tarnerr.New(tarnerr.Corrupt, "reading levels", "data file of a negative level", "file", f.FileName, "level", f.Level)
		}
		count = max(count, int(f.Level)+1)
	}
	l := &Levels{higher: make([]Run, max(count-1, 0))}
	byLevel := make([][]*datafile.Meta, count)
	for _, f := range files {
		byLevel[f.Level] = append(byLevel[f.Level], f)
	}
	for i, fs := range byLevel {
		if i == 0 {
			slices.SortFunc(fs, newestFirst)
			l.level0 = fs
			continue
		}
		all, err := decode(fs, keys)
		if err != nil {
			return nil, err
		}
		o := order(keys)
		slices.SortStableFunc(all, func(a, b ranged) int { return o.compare(a.min, b.min) })
		for j, r := range all {
			if j > 0 && o.compare(all[j-1].max, r.min) >= 0 {
				return nil, overlapError(int32(i), all[j-1].file, r.file)
			}
			l.higher[i-1] = append(l.higher[i-1], r.file)
		}
	}
	return l, nil
}

// newestFirst orders level 0: larger largest sequence number first, then
// smaller smallest one, older creation, name. Source: paimon-core mergetree/Levels.
func newestFirst(a, b *datafile.Meta) int {
	if c := cmp.Compare(b.MaxSequence, a.MaxSequence); c != 0 {
		return c
	}
	if c := cmp.Compare(a.MinSequence, b.MinSequence); c != 0 {
		return c
	}
	if a.CreationMillis != nil && b.CreationMillis != nil {
		if c := cmp.Compare(*a.CreationMillis, *b.CreationMillis); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.FileName, b.FileName)
}

// Count is the number of levels, level 0 and empty ones included.
func (l *Levels) Count() int { return len(l.higher) + 1 }

// Level0 are the files of level 0, newest first.
func (l *Levels) Level0() []*datafile.Meta { return l.level0 }

// Level is the run of a level ≥ 1.
func (l *Levels) Level(i int) Run { return l.higher[i-1] }

// LeveledRun is a run with its level.
type LeveledRun struct {
	Level int
	Run   Run
}

// Runs are the non-empty runs, newest first: the files of level 0, then level
// 1, 2 ….
func (l *Levels) Runs() []LeveledRun {
	var out []LeveledRun
	for _, f := range l.level0 {
		out = append(out, LeveledRun{0, Run{f}})
	}
	for i, r := range l.higher {
		if len(r) > 0 {
			out = append(out, LeveledRun{i + 1, r})
		}
	}
	return out
}

// HighestLevel is the highest level with files, 0 when level 0 alone or nothing has.
func (l *Levels) HighestLevel() int {
	for i := len(l.higher); i > 0; i-- {
		if len(l.higher[i-1]) > 0 {
			return i
		}
	}
	return 0
}
