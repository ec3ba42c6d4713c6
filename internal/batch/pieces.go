package batch

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// Select is rec with the columns given under schema, in that order, without
// copying. The caller releases it.
func Select(schema *arrow.Schema, rec arrow.RecordBatch, columns []int) arrow.RecordBatch {
	cols := make([]arrow.Array, len(columns))
	for i, c := range columns {
		cols[i] = rec.Column(c)
	}
	return array.NewRecordBatch(schema, cols, rec.NumRows())
}

// Slice is rows [from, to) of rec, without copying. The caller releases it.
func Slice(rec arrow.RecordBatch, from, to int64) arrow.RecordBatch {
	if from == 0 && to == rec.NumRows() {
		rec.Retain()
		return rec
	}
	return rec.NewSlice(from, to)
}

// Filter is the rows of rec whose keep is true: rec itself when all are, a slice
// when they lie together, else a copy. It returns nil when there are none. The
// caller releases the result.
func Filter(mem memory.Allocator, rec arrow.RecordBatch, keep []bool) (arrow.RecordBatch, error) {
	n := int(rec.NumRows())
	first, last, count := n, -1, 0
	for i, k := range keep[:n] {
		if k {
			first, last, count = min(first, i), i, count+1
		}
	}
	if count == 0 {
		return nil, nil
	}
	if last-first+1 == count {
		return Slice(rec, int64(first), int64(last)+1), nil
	}
	refs := make([]Ref, 0, count)
	for i := first; i <= last; i++ {
		if keep[i] {
			refs = append(refs, NewRef(0, i))
		}
	}
	return Gather(mem, rec.Schema(), []arrow.RecordBatch{rec}, nil, refs)
}

// Concat is the rows of all batches, which have one schema, as one batch. A
// single batch is not copied. The caller releases the result.
func Concat(mem memory.Allocator, schema *arrow.Schema, recs []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(recs) == 1 {
		recs[0].Retain()
		return recs[0], nil
	}
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	rows := int64(0)
	for _, r := range recs {
		rows += r.NumRows()
	}
	parts := make([]arrow.Array, len(recs))
	for i := range schema.NumFields() {
		if len(recs) == 0 {
			b := array.NewBuilder(mem, schema.Field(i).Type)
			cols = append(cols, b.NewArray())
			b.Release()
			continue
		}
		for j, r := range recs {
			parts[j] = r.Column(i)
		}
		col, err := array.Concatenate(parts, mem)
		if err != nil {
			return nil, tarnerr.Wrap(tarnerr.Internal, "concatenating batches", err, "column", schema.Field(i).Name)
		}
		cols = append(cols, col)
	}
	return array.NewRecordBatch(schema, cols, rows), nil
}

// Bytes estimates the memory a batch holds. Buffers shared by several columns or
// larger than a slice count in full.
func Bytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += dataBytes(c.Data())
	}
	return n
}

func dataBytes(d arrow.ArrayData) int64 {
	var n int64
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Cap())
		}
	}
	for _, c := range d.Children() {
		n += dataBytes(c)
	}
	return n
}
