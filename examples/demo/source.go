package main

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// source is a Parquet file, read without Tarn: what the tables are filled from
// and checked against.
type source struct{ batches []arrow.RecordBatch }

func readSource(ctx context.Context, path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w (run from the repository's root, or give -data)", err)
	}
	defer f.Close()
	mem := memory.DefaultAllocator
	all, err := pqarrow.ReadTable(ctx, f, parquet.NewReaderProperties(mem), pqarrow.ArrowReadProperties{}, mem)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	r := array.NewTableReader(all, 0)
	defer r.Release()
	s := &source{}
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		s.batches = append(s.batches, rec)
	}
	return s, r.Err()
}

// row is one row of a source.
type row struct {
	rec arrow.RecordBatch
	at  int
}

func (s *source) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		for _, rec := range s.batches {
			for i := range int(rec.NumRows()) {
				if !yield(row{rec, i}) {
					return
				}
			}
		}
	}
}

// by finds rows by the text of a column that names them.
func (s *source) by(column string) map[string]row {
	found := map[string]row{}
	for r := range s.rows() {
		found[r.text(column)] = r
	}
	return found
}

// sum adds up a column of integers; nulls count nothing.
func (s *source) sum(column string) int64 {
	var n int64
	for _, rec := range s.batches {
		n += total(rec.Column(rec.Schema().FieldIndices(column)[0]))
	}
	return n
}

func (r row) column(name string) arrow.Array {
	return r.rec.Column(r.rec.Schema().FieldIndices(name)[0])
}

// value is a cell as int32 or string; nil when it is null.
func (r row) value(column string) any {
	col := r.column(column)
	if col.IsNull(r.at) {
		return nil
	}
	switch c := col.(type) {
	case *array.Int32:
		return c.Value(r.at)
	case *array.String:
		return c.Value(r.at)
	}
	panic(fmt.Sprintf("column %s has another type: %s", column, col.DataType()))
}

// text is a cell as printRows prints it.
func (r row) text(column string) string { return r.column(column).ValueStr(r.at) }
