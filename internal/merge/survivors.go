package merge

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// survivors are the rows that a merge has chosen for its next batch, as rows of
// batches of the runs, which are retained until all are gathered.
type survivors struct {
	cfg     *Config
	leaves  []*leaf
	refs    []batch.Ref
	sources []arrow.RecordBatch
	out     arrow.RecordBatch

	// Engines that see all rows of a key have them here instead of refs.
	fold *Folder
	rows Rows
}

// chosen is how many rows the next batch has so far.
func (s *survivors) chosen() int {
	if s.fold != nil {
		return len(s.rows.Ends)
	}
	return len(s.refs)
}

// full reports that it is time to gather.
func (s *survivors) full() bool {
	return s.chosen() >= s.cfg.BatchRows || len(s.sources) >= maxSources+len(s.leaves)
}

// room is how many more rows the next batch takes.
func (s *survivors) room() int { return s.cfg.BatchRows - s.chosen() }

// drops reports that a row of the kind is a delete that nobody wants to see.
func (s *survivors) drops(kind int8) bool { return kind&1 == 1 && !s.cfg.KeepDeletes }

// keep adds row i of a leaf's batch unless it is a delete to be dropped.
func (s *survivors) keep(l *leaf, i int) {
	if s.drops(l.kind[i]) {
		return
	}
	if s.fold != nil {
		s.rows.one(batch.NewRef(s.use(l), i), l.kind[i])
		return
	}
	s.refs = append(s.refs, batch.NewRef(s.use(l), i))
}

// keepRange adds rows [from, to) of a leaf's batch.
func (s *survivors) keepRange(l *leaf, from, to int) {
	if !s.cfg.KeepDeletes && retracts(l.kind[from:to]) {
		for i := from; i < to; i++ {
			s.keep(l, i)
		}
		return
	}
	if s.fold != nil {
		s.rows.ones(s.use(l), from, l.kind[from:to])
		return
	}
	s.refs = batch.AppendRange(s.refs, s.use(l), from, to)
}

// use makes a leaf's batch one of the sources.
func (s *survivors) use(l *leaf) int {
	if l.source < 0 {
		l.rec.Retain()
		l.source = len(s.sources)
		s.sources = append(s.sources, l.rec)
	}
	return l.source
}

// gather makes the next batch of the rows chosen, of fewer when they are too
// large. There is none when nothing comes out of the rows of all keys.
func (s *survivors) gather() error {
	if s.fold != nil {
		return s.foldKeys()
	}
	for n := min(len(s.refs), s.cfg.BatchRows); ; n /= 2 {
		out, err := batch.Gather(s.cfg.Mem, s.cfg.Schema, s.sources, s.cfg.Output, s.refs[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			continue
		}
		if err != nil {
			return err
		}
		s.out = out
		s.refs = s.refs[:copy(s.refs, s.refs[n:])]
		if len(s.refs) == 0 {
			s.forget()
		}
		return nil
	}
}

// foldKeys makes the next batch of the keys chosen.
func (s *survivors) foldKeys() error {
	for n := min(len(s.rows.Ends), s.cfg.BatchRows); ; n /= 2 {
		out, _, err := s.fold.Fold(s.sources, s.rows.head(n))
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			continue
		}
		if err != nil {
			return err
		}
		s.out = out
		if s.rows.drop(n); len(s.rows.Ends) == 0 {
			s.forget()
		}
		return nil
	}
}

// forget releases the sources.
func (s *survivors) forget() {
	for i, rec := range s.sources {
		rec.Release()
		s.sources[i] = nil
	}
	s.sources = s.sources[:0]
	for _, l := range s.leaves {
		l.source = -1
	}
}

func (s *survivors) close() error {
	release(&s.out)
	s.forget()
	s.refs, s.rows = nil, Rows{}
	var err error
	for _, l := range s.leaves {
		if e := l.reader.Close(); err == nil {
			err = e
		}
	}
	return err
}

func release(rec *arrow.RecordBatch) {
	if *rec != nil {
		(*rec).Release()
		*rec = nil
	}
}
