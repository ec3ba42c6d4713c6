package merge

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
)

// single reads one run, whose keys no other run has: nothing is merged, rows of
// deletes are left out, batches pass through.
type single struct {
	cfg  *Config
	run  batch.Reader
	out  arrow.RecordBatch
	keep []bool
}

func (s *single) Schema() *arrow.Schema { return s.cfg.Schema }

func (s *single) Next(ctx context.Context) (arrow.RecordBatch, error) {
	release(&s.out)
	for {
		rec, err := s.run.Next(ctx)
		if err != nil {
			return nil, err
		}
		kinds, err := kindsOf(rec, s.cfg.Kind)
		if err != nil {
			return nil, err
		}
		part := batch.Select(s.cfg.Schema, rec, s.cfg.Output)
		if s.cfg.KeepDeletes || !retracts(kinds) {
			s.out = part
			return part, nil
		}
		s.keep = s.keep[:0]
		for _, k := range kinds {
			s.keep = append(s.keep, k&1 == 0)
		}
		s.out, err = batch.Filter(s.cfg.Mem, part, s.keep)
		part.Release()
		if err != nil {
			return nil, err
		}
		if s.out != nil {
			return s.out, nil
		}
	}
}

func (s *single) Close() error {
	release(&s.out)
	return s.run.Close()
}

// Empty is a merge of no runs.
func Empty(schema *arrow.Schema) batch.Reader { return empty{schema} }

type empty struct{ schema *arrow.Schema }

func (e empty) Schema() *arrow.Schema                         { return e.schema }
func (empty) Next(context.Context) (arrow.RecordBatch, error) { return nil, io.EOF }
func (empty) Close() error                                    { return nil }
