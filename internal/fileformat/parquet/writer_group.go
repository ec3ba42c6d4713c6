package parquet

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
)

// columnWriter is one top-level column.
type columnWriter struct {
	column *column
	leaves []*chunkWriter
	shred  shredder
	step   int // rows of a nested column that are shredded at a time
}

const (
	firstStep   = 64
	longestStep = 1024
)

// write encodes rows of a batch's column.
func (c *columnWriter) write(arr arrow.Array, from, to int) (err error) {
	defer recoverWrite(c.column.name, &err)
	if c.column.leaf >= 0 {
		return c.leaves[0].flat(arr, from, to)
	}
	for from < to {
		n := min(to-from, c.step, c.leaves[0].rowsLeft())
		slice := array.NewSlice(arr, int64(from), int64(from+n))
		err := c.writeNested(slice, n)
		slice.Release()
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

func (c *columnWriter) writeNested(arr arrow.Array, rows int) error {
	values, err := c.shred.shred(c.column, arr)
	if err != nil {
		return err
	}
	most := 1
	for i := range values {
		leaf := c.leaves[i]
		before := leaf.page.raw
		if err := leaf.nested(&values[i], rows); err != nil {
			return err
		}
		most = max(most, leaf.page.raw-before)
	}
	// Pages are looked at between steps: a step shall be a small part of one.
	c.step = max(1, min(longestStep, 2*c.step, rows*int(c.leaves[0].set.pageSize)/4/most))
	return nil
}

func recoverWrite(path string, err *error) {
	if r := recover(); r != nil {
		*err = tarnerr.New(tarnerr.Internal, "encoding Parquet column", "encoder failed", "column", path, "panic", r)
	}
}

// stats are the statistics of the column over the file, as Java takes them from
// the Parquet writer: nothing at all for nested types.
func (c *columnWriter) stats() fileformat.ColumnStats {
	if c.column.leaf < 0 {
		return fileformat.ColumnStats{NullCount: -1}
	}
	leaf := c.leaves[0]
	lo, hi := leaf.bounds.values(c.column)
	return fileformat.ColumnStats{Min: lo, Max: hi, NullCount: leaf.nulls}
}

// cost says how much work a column makes, by what it has made so far.
func (c *columnWriter) cost() (n int64) {
	for _, l := range c.leaves {
		n += l.facts.raw + int64(l.page.raw)
		if l.width == 0 && l.phys == physByteArray {
			n += 16
		}
		n += int64(l.width)
	}
	return n
}

// encode encodes rows of every column, side by side, the largest first.
func (w *Writer) encode(p part) error {
	order := make([]int, len(w.columns))
	for i := range order {
		order[i] = i
	}
	if w.set.workers > 1 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.columns[b].cost(), w.columns[a].cost()) })
	}
	return sideBySide(w.set.workers, len(order), func(i int) error {
		return w.columns[order[i]].write(p.rec.Column(order[i]), p.from, p.to)
	})
}

// sideBySide calls work for 0 … n−1 in order, on up to so many goroutines.
func sideBySide(workers, n int, work func(i int) error) error {
	if workers = min(workers, n); workers < 2 {
		for i := range n {
			if err := work(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := work(i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// closeGroup encodes what waits, column after column, ends the row group and
// writes it. A column is written as soon as it and those before it are finished.
func (w *Writer) closeGroup() error {
	if !w.open {
		return nil
	}
	group := groupFacts{}
	write := func(c *columnWriter) {
		for _, l := range c.leaves {
			group.chunks = append(group.chunks, l.writeTo(w.sink))
		}
	}
	finish := func(i int) (err error) {
		c := w.columns[i]
		for _, p := range w.waiting {
			if err := c.write(p.rec.Column(i), p.from, p.to); err != nil {
				return err
			}
		}
		defer recoverWrite(c.column.name, &err)
		for _, l := range c.leaves {
			if err := l.finish(); err != nil {
				return err
			}
		}
		return nil
	}
	if w.set.workers < 2 || len(w.columns) < 2 {
		for i, c := range w.columns {
			if err := finish(i); err != nil {
				return err
			}
			write(c)
		}
	} else if err := w.finishAndWrite(finish, write); err != nil {
		return err
	}
	for _, p := range w.waiting {
		w.groupRows += p.to - p.from
	}
	group.rows = int64(w.groupRows)
	w.groups = append(w.groups, group)
	w.letGo()
	w.open, w.groupRows = false, 0
	return tarnerr.Trace("writing Parquet file", w.sink.err)
}

// finishAndWrite finishes columns on the workers while one more goroutine writes
// those that are ready, in file order.
func (w *Writer) finishAndWrite(finish func(i int) error, write func(*columnWriter)) error {
	ready := make([]chan struct{}, len(w.columns))
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error {
		for i, c := range w.columns {
			select {
			case <-ready[i]:
				write(c)
			case <-ctx.Done():
				return nil // a column failed, with an error of its own
			}
		}
		return nil
	})
	group.Go(func() error {
		return sideBySide(w.set.workers, len(w.columns), func(i int) error {
			if err := finish(i); err != nil {
				return err
			}
			close(ready[i])
			return nil
		})
	})
	return group.Wait()
}

// writeFooter writes the page indexes, the metadata and the end of the file.
func (w *Writer) writeFooter() {
	o := &w.thrift
	place := func() span {
		at := span{w.sink.n, int64(len(o.b))}
		w.sink.write(o.b)
		return at
	}
	for g := range w.groups {
		for i := range w.groups[g].chunks {
			c := &w.groups[g].chunks[i]
			o.reset()
			if appendColumnIndex(o, c) {
				c.columnIndex = place()
			}
		}
	}
	for g := range w.groups {
		for i := range w.groups[g].chunks {
			c := &w.groups[g].chunks[i]
			o.reset()
			appendOffsetIndex(o, c)
			c.offsetIndex = place()
		}
	}
	o.reset()
	appendFooter(o, w.shape.schema, len(w.chunks), w.rows, w.groups, w.set.codec)
	size := len(o.b)
	w.sink.write(append(binary.LittleEndian.AppendUint32(o.b, uint32(size)), magic...))
}
