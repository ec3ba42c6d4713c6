package write

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// buffer holds the rows of all buckets as the columns they came in, in order of
// arrival, with the number of each row's bucket beside. Batches are kept by
// reference; small ones are joined so that a flush never gathers from thousands.
type buffer struct {
	schema *arrow.Schema
	mem    memory.Allocator

	chunks []arrow.RecordBatch // owned
	small  []arrow.RecordBatch // owned, the youngest, not yet joined
	few    int                 // rows in small
	groups []uint32            // of each row
	held   []heldRows          // of each group; later groups have none
	bytes  int64
}

// heldRows is what the buffer holds of one group.
type heldRows struct {
	rows int
	last uint64 // when the youngest of them came, by the clock of the pool
}

const (
	// largeRows is from which number of rows on a batch stands for itself.
	largeRows = 1024
	// joinRows and joinBatches say when small batches are joined.
	joinRows    = 8192
	joinBatches = 256
	// rowOverhead is what a flush needs per row beside the columns: bucket number,
	// reference, and twice an item to sort.
	rowOverhead = 4 + 8 + 2*16
)

func (b *buffer) rows() int { return len(b.groups) }

// cost is what a batch takes of the budget: the bytes its rows use, or those of
// the buffers it holds when they are not much more.
func cost(rec arrow.RecordBatch) int64 {
	return min(batch.Bytes(rec), 2*usedBytes(rec)) + rec.NumRows()*rowOverhead
}

// add keeps rec, whose rows belong to groups and come now. The batch must not pin
// memory far beyond what its rows use: such a slice is copied.
func (b *buffer) add(rec arrow.RecordBatch, groups []uint32, cost int64, now uint64) error {
	if len(b.groups)+len(groups) > math.MaxInt32 {
		return tarnerr.New(tarnerr.Internal, "buffering rows", "too many rows in the write buffer", "rows", len(b.groups))
	}
	kept, err := b.own(rec)
	if err != nil {
		return err
	}
	if kept.NumRows() >= largeRows {
		if err := b.join(); err != nil {
			kept.Release()
			return err
		}
		b.chunks = append(b.chunks, kept)
	} else {
		b.small = append(b.small, kept)
		b.few += int(kept.NumRows())
		if b.few >= joinRows || len(b.small) >= joinBatches {
			if err := b.join(); err != nil {
				return err
			}
		}
	}
	if free := cap(b.groups) - len(b.groups); free < len(groups) {
		b.groups = slices.Grow(b.groups, max(len(groups), len(b.groups)))
	}
	b.groups = append(b.groups, groups...)
	for _, g := range groups {
		if int(g) >= len(b.held) {
			b.held = append(b.held, make([]heldRows, int(g)+1-len(b.held))...)
		}
		b.held[g].rows++
		b.held[g].last = now
	}
	b.bytes += cost
	return nil
}

func (b *buffer) own(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	const slack = 64 << 10
	if batch.Bytes(rec) <= 2*usedBytes(rec)+slack {
		rec.Retain()
		return rec, nil
	}
	refs := batch.AppendRange(make([]batch.Ref, 0, rec.NumRows()), 0, 0, int(rec.NumRows()))
	return batch.Gather(b.mem, b.schema, []arrow.RecordBatch{rec}, nil, refs)
}

// join makes one chunk of the small batches. A flush does it first.
func (b *buffer) join() error {
	if len(b.small) == 0 {
		return nil
	}
	chunk, err := batch.Concat(b.mem, b.schema, b.small)
	if err != nil {
		return err
	}
	for _, s := range b.small {
		s.Release()
	}
	b.small, b.few = b.small[:0], 0
	b.chunks = append(b.chunks, chunk)
	return nil
}

// reset drops all rows.
func (b *buffer) reset() {
	for _, c := range b.chunks {
		c.Release()
	}
	for _, s := range b.small {
		s.Release()
	}
	clear(b.chunks)
	clear(b.small)
	b.chunks, b.small, b.few = b.chunks[:0], b.small[:0], 0
	clear(b.held)
	b.groups, b.bytes = b.groups[:0], 0
}

// byGroup lists the rows of each group in order of arrival, groups 0 to n−1.
func (b *buffer) byGroup(n int) [][]batch.Ref {
	all := make([]batch.Ref, len(b.groups))
	out := make([][]batch.Ref, n)
	for g, h := range b.held {
		out[g], all = all[:0:h.rows], all[h.rows:]
	}
	at := 0
	for i, c := range b.chunks {
		for r := range int(c.NumRows()) {
			g := b.groups[at]
			out[g] = append(out[g], batch.NewRef(i, r))
			at++
		}
	}
	return out
}

// usedBytes is what the rows of a batch use of the buffers it holds.
func usedBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += usedData(c.Data(), c.Data().Offset(), c.Len())
	}
	return n
}

// usedData is what rows [from, from+n) of data, counted from its buffers' start, use.
func usedData(data arrow.ArrayData, from, n int) int64 {
	var size int64
	if b := data.Buffers(); len(b) > 0 && b[0] != nil {
		size += int64(n+7) / 8
	}
	span := func(width int) (int, int) { // of what the offsets of these rows point to
		if n == 0 || len(data.Buffers()) < 2 || data.Buffers()[1] == nil {
			return 0, 0
		}
		size += int64(n+1) * int64(width)
		if width == 8 {
			o := arrow.Int64Traits.CastFromBytes(data.Buffers()[1].Bytes())
			return int(o[from]), int(o[from+n])
		}
		o := arrow.Int32Traits.CastFromBytes(data.Buffers()[1].Bytes())
		return int(o[from]), int(o[from+n])
	}
	switch t := data.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		lo, hi := span(4)
		size += int64(hi - lo)
	case *arrow.ListType, *arrow.MapType:
		lo, hi := span(4)
		child := data.Children()[0]
		size += usedData(child, child.Offset()+lo, hi-lo)
	case *arrow.FixedSizeListType:
		child := data.Children()[0]
		size += usedData(child, child.Offset()+from*int(t.Len()), n*int(t.Len()))
	case *arrow.StructType:
		for _, child := range data.Children() {
			size += usedData(child, child.Offset()+from, n)
		}
	case arrow.FixedWidthDataType:
		size += (int64(n)*int64(t.BitWidth()) + 7) / 8
	}
	return size
}
