package batch

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// dirty gives memory that holds something.
type dirty struct{ memory.Allocator }

func (d dirty) Allocate(n int) []byte {
	b := d.Allocator.Allocate(n)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

func (d dirty) Reallocate(n int, b []byte) []byte {
	out := d.Allocate(n)
	copy(out, b)
	d.Free(b)
	return out
}

func TestNullsOfMemoryUsedBefore(t *testing.T) {
	for _, dt := range columnTypes {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		data := Nulls(dirty{mem}, dt, 100)
		a := array.MakeFromData(data)
		data.Release()
		if a.Len() != 100 || a.NullN() != 100 {
			t.Errorf("%s: %d values, %d null", dt, a.Len(), a.NullN())
		}
		if s, ok := a.(*array.Struct); ok {
			a.Retain()
			l := s.Field(1).(*array.List)
			if from, to := l.ValueOffsets(99); from != 0 || to != 0 {
				t.Errorf("%s: a list from %d to %d", dt, from, to)
			}
			a.Release()
		}
		a.Release()
		mem.AssertSize(t, 0)
	}
}

// TestColumn appends values in steps, some of them null, as decoders do.
func TestColumn(t *testing.T) {
	for width, dt := range map[int]arrow.DataType{
		1: arrow.PrimitiveTypes.Int8, 2: arrow.PrimitiveTypes.Int16, 4: arrow.PrimitiveTypes.Int32, 8: arrow.PrimitiveTypes.Int64,
		16: &arrow.Decimal128Type{Precision: 38}, WidthBits: arrow.FixedWidthTypes.Boolean, WidthText: arrow.BinaryTypes.String,
	} {
		rapid.Check(t, func(t *rapid.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			c := &Column{Mem: dirty{mem}, Width: width}
			for range 2 { // a column is used for one batch after the other
				var want []string
				for range rapid.IntRange(0, 5).Draw(t, "steps") {
					rows := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 70).Draw(t, "values")
					if rapid.Bool().Draw(t, "no nulls") {
						rows = slices.DeleteFunc(rows, func(v int) bool { return v == 0 })
					}
					valid := 0
					c.Reserve(c.N + len(rows))
					if slices.Contains(rows, 0) || c.Validity != nil {
						bits := c.Nullable(c.N + len(rows))
						for i, v := range rows {
							if v != 0 {
								bitutil.SetBit(bits, c.N+i)
							}
						}
					}
					for _, v := range rows {
						if v == 0 {
							want = append(want, array.NullValueStr)
							continue
						}
						want = append(want, put(c, c.N+valid, v))
						valid++
					}
					c.Spread(len(rows), valid)
				}
				data := c.Finish(dt, nil)
				a := array.MakeFromData(data)
				data.Release()
				var got []string
				for i := range a.Len() {
					got = append(got, a.ValueStr(i))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", dt, got, want)
				}
				a.Release()
			}
			c.Reserve(5)
			c.Release() // given up
		})
	}
}

// put stores a value at slot i and tells how Arrow prints it.
func put(c *Column, i, v int) string {
	switch c.Width {
	case WidthBits:
		bitutil.SetBitTo(c.Data.Bytes(), i, v > 4)
		return fmt.Sprint(v > 4)
	case WidthText:
		text := fmt.Sprintf("%0*d", v, v)
		c.Used += copy(c.Room(len(text)), text)
		reinterpret[int32](c.Offsets.Bytes())[i+1] = int32(c.Used)
		return text
	}
	at := c.Data.Bytes()[i*c.Width:][:c.Width]
	clear(at)
	at[0] = byte(v)
	return fmt.Sprint(v)
}

func TestSideBySide(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 50} {
		var done [20]atomic.Int64
		if err := SideBySide(workers, len(done), func(i int) error { done[i].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d workers: piece %d was done %d times", workers, i, n)
			}
		}
		broken := errors.New("broken")
		if err := SideBySide(workers, 9, func(i int) error { return map[int]error{4: broken}[i] }); err != broken {
			t.Errorf("%d workers: error is %v", workers, err)
		}
	}
}
