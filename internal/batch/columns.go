package batch

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"
)

// SideBySide does n pieces of work, as many at a time as there are workers, of
// whom the calling goroutine is one. Of several errors one is returned, after all
// work that was begun has ended; the rest is left then.
func SideBySide(workers, n int, work func(i int) error) error {
	var next atomic.Int64
	some := func() error {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return nil
			}
			if err := work(i); err != nil {
				next.Add(int64(n))
				return err
			}
		}
	}
	var others errgroup.Group
	for range min(workers, n) - 1 {
		others.Go(some)
	}
	err := some()
	if e := others.Wait(); err == nil {
		err = e
	}
	return err
}

// FromData makes a batch of columns, which stay the caller's.
func FromData(schema *arrow.Schema, columns []arrow.ArrayData, rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, d := range columns {
		arrays[i] = array.MakeFromData(d)
	}
	rec := array.NewRecordBatch(schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return rec
}

// Nulls is a column of n nulls. The caller releases it.
func Nulls(mem memory.Allocator, dt arrow.DataType, n int) arrow.ArrayData {
	// Arrow takes it that memory comes zeroed, which memory used again does not.
	a := array.MakeArrayOfNull(zeroing{mem}, dt, n)
	defer a.Release()
	a.Data().Retain()
	return a.Data()
}

type zeroing struct{ memory.Allocator }

func (z zeroing) Allocate(n int) []byte {
	b := z.Allocator.Allocate(n)
	clear(b)
	return b
}

func (z zeroing) Reallocate(n int, b []byte) []byte {
	old := len(b)
	b = z.Allocator.Reallocate(n, b)
	clear(b[min(old, n):])
	return b
}
