package fanin

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
)

// Run is a sorted run: its files one after the other.
type Run []Part

// Part is a file of a run.
type Part struct {
	Bytes int64 // of the file
	Level int32
	Open  func(context.Context) (batch.Reader, error)
}

// Limits say how much a merge may take.
type Limits struct {
	Store  *spill.Store // where runs go; nil = nowhere, nothing is bounded
	Codec  *spill.Codec
	Memory int64 // bytes for reading all runs; 0 = any
	Runs   int   // read from their own files at one time, at least 2; 0 = any
	Mem    memory.Allocator
}

// What reading a file holds, as far as it can be told: decoded batches and the
// pages behind them, which grow with the file up to some bound.
const (
	blowUp  = 4 // decoded bytes for a byte of a file
	maxRead = 4 << 20
	minRead = 64 << 10
)

// Cost is about what reading a file of so many bytes as one of the runs of a merge
// holds.
func Cost(bytes int64) int64 { return min(max(blowUp*bytes, minRead), maxRead) }

// Set is the runs of one merge.
type Set struct {
	limits Limits
	schema *arrow.Schema
	merge  merge.Config
	runs   []*source
	memory int64 // limits.Memory, but two runs at least are read at one time
}

// New prepares runs of one schema for a merge as cfg says, in its order. A run of
// a trace keeps all its rows. Nothing is read yet.
func New(l Limits, cfg merge.Config, schema *arrow.Schema, trace bool, runs []Run) *Set {
	s := &Set{limits: l, schema: schema, merge: cfg}
	var first, second int64 // the most expensive ones
	for _, r := range runs {
		one := newSource(schema, r)
		s.runs = append(s.runs, one)
		first, second = max(first, one.cost), max(second, min(first, one.cost))
	}
	if l.Memory > 0 {
		s.memory = max(l.Memory, first+second)
	}
	// Of several rows of a key the newest stays, whatever is merged first.
	if !trace && cfg.Engine == merge.Deduplicate && !cfg.IgnoreDelete && cfg.Level == nil {
		s.merge.KeepDeletes, s.merge.Schema, s.merge.Mem = true, schema, l.Mem
		s.merge.Output = make([]int, schema.NumFields())
		for i := range s.merge.Output {
			s.merge.Output[i] = i
		}
	} else {
		s.merge.Schema = nil
	}
	return s
}

// merges says that several runs may become one.
func (s *Set) merges() bool { return s.merge.Schema != nil }

// Level is of which level the batch is that a run gave last. Runs that are asked for
// it stay as many as they were.
func (s *Set) Level(run int) int32 { return s.runs[run].level }

// Readers makes the runs few and small enough and hands them over, to be closed by
// who gets them. After an error nothing is open, and no temporary file left.
func (s *Set) Readers(ctx context.Context) ([]batch.Reader, error) {
	if s.limits.Store != nil {
		if err := s.reduce(ctx); err != nil {
			s.Close()
			return nil, tarnerr.Trace("spilling sorted runs", err, "runs", len(s.runs))
		}
	}
	out := make([]batch.Reader, len(s.runs))
	for i, r := range s.runs {
		out[i] = r
	}
	return out, nil
}

// Close closes all runs.
func (s *Set) Close() error {
	var first error
	for _, r := range s.runs {
		if err := r.Close(); first == nil {
			first = err
		}
	}
	return first
}

func (s *Set) reduce(ctx context.Context) error {
	for s.tooMuch() {
		var more bool
		var err error
		if s.merges() {
			more, err = s.mergeSome(ctx)
		} else {
			more, err = s.copySmallest(ctx)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (s *Set) tooMuch() bool {
	direct, cost := 0, int64(0)
	for _, r := range s.runs {
		if cost += r.cost; r.file == nil {
			direct++
		}
	}
	return s.limits.Runs > 0 && direct > s.limits.Runs || s.memory > 0 && cost > s.memory
}

// copySmallest copies the smallest run that is read from its own files; false when
// there is none.
func (s *Set) copySmallest(ctx context.Context) (bool, error) {
	at := -1
	for i, r := range s.runs {
		if r.file == nil && (at < 0 || r.bytes < s.runs[at].bytes) {
			at = i
		}
	}
	if at < 0 {
		return false, nil
	}
	c, err := s.copied(ctx, s.runs[at])
	if err == nil {
		s.runs[at] = c
	}
	return true, err
}

// mergeSome makes one run of several neighbours, so that runs that are ranked stay
// so; false when there is one alone. Those are chosen that make the fewest bytes for
// each run less.
func (s *Set) mergeSome(ctx context.Context) (bool, error) {
	from, to, best := 0, 0, 0.0
	for i := range s.runs {
		cost, bytes := int64(0), int64(0)
		for j := i; j < len(s.runs) && j-i < s.most(); j++ {
			cost, bytes = cost+s.runs[j].cost, bytes+max(1, s.runs[j].bytes)
			if j-i >= 2 && s.memory > 0 && cost > s.memory {
				break
			}
			if gain := float64(j-i) / float64(bytes); j > i && gain > best {
				from, to, best = i, j+1, gain
			}
		}
	}
	if to == 0 {
		return false, nil
	}
	m, err := s.merged(ctx, s.runs[from:to])
	if err != nil {
		return true, err
	}
	s.runs = slices.Replace(s.runs, from, to, m)
	return true, nil
}

// maxFan is how many runs are merged into one at most.
const maxFan = 128

func (s *Set) most() int {
	if s.limits.Runs > 0 {
		return min(max(2, s.limits.Runs), maxFan)
	}
	return maxFan
}
