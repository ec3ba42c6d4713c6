package read

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// openStreaming reads the files of a change one after the other, each row as it
// stands with its own kind.
func (s *scan) openStreaming(dir string, sp *split.Split) (batch.Reader, error) {
	if !s.cfg.Files.Table.HasPrimaryKey() {
		return s.openRaw(dir, sp)
	}
	fields := s.raw
	if s.kind {
		fields = append([]types.Field{kindField()}, s.raw...)
	}
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	var open []opener
	for _, f := range sp.Files {
		open = append(open, func(ctx context.Context) (batch.Reader, error) {
			return s.cfg.Files.Open(ctx, dir, f, s.request(fields, split.Part{}, s.where, 1))
		})
	}
	return newFinish(s, batch.Chain(schema, open...), s.kind), nil
}

// openReplaced reads what an overwrite took away as retractions, then what it
// put there, each side merged.
func (s *scan) openReplaced(dir string, sp *split.Split, most int64) (batch.Reader, error) {
	return batch.Chain(s.out, func(context.Context) (batch.Reader, error) {
		r, err := s.openMerge(dir, sp.Change.Before, most)
		if err != nil || !s.kind {
			return r, err
		}
		return &reversed{Reader: r, mem: s.mem}, nil
	}, func(context.Context) (batch.Reader, error) {
		return s.openMerge(dir, sp.Files, most)
	}), nil
}

// reversed takes back what its rows say: +I is -D, +U is -U, and the other way round.
type reversed struct {
	batch.Reader
	mem memory.Allocator
	out arrow.RecordBatch
}

func (r *reversed) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	rec, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	kinds, ok := rec.Column(0).(*array.Int8)
	if !ok {
		return nil, tarnerr.New(tarnerr.Internal, "reversing row kinds", "the first column is no kind")
	}
	r.out = withKinds(r.mem, rec, kinds.Len(), func(i int) types.RowKind { return types.Delete - types.RowKind(kinds.Value(i)) })
	return r.out, nil
}

func (r *reversed) drop() {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
}

func (r *reversed) Close() error {
	r.drop()
	return r.Reader.Close()
}

// withKinds is rec with other kinds in its first column.
func withKinds(mem memory.Allocator, rec arrow.RecordBatch, n int, kind func(i int) types.RowKind) arrow.RecordBatch {
	kinds := batch.Int8s(mem, n, func(out []int8) {
		for i := range out {
			out[i] = int8(kind(i))
		}
	})
	defer kinds.Release()
	cols := append([]arrow.Array{kinds}, rec.Columns()[1:]...)
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}
