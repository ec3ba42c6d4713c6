package manifest

import (
	"bytes"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
)

// row reads a serialised BinaryRow. The empty row, which append tables repeat
// without end, is shared.
func (c *cursor) row(n *ocf.Schema) binaryrow.Row {
	b, _ := c.bytesOf(n)
	if bytes.Equal(b, binaryrow.Empty) {
		return binaryrow.Empty
	}
	return binaryrow.Row(b)
}

var statsColumns = columns[datafile.Stats]{
	"_MIN_VALUES":  func(c *cursor, n *ocf.Schema, s *datafile.Stats) { s.Min = c.row(n) },
	"_MAX_VALUES":  func(c *cursor, n *ocf.Schema, s *datafile.Stats) { s.Max = c.row(n) },
	"_NULL_COUNTS": func(c *cursor, n *ocf.Schema, s *datafile.Stats) { s.NullCounts = c.nullCounts(n) },
}

// nullCounts reads an array of nullable longs. A null array has no counts; nil
// is kept for it, so that it is written as null again.
func (c *cursor) nullCounts(n *ocf.Schema) []*int64 {
	items := c.arrayOf(n)
	if items == nil {
		return nil
	}
	counts := []*int64{}
	for c.Err == nil {
		k := c.Items()
		if k == 0 {
			break
		}
		if len(counts) > 0 {
			counts = append(counts, make([]*int64, k)...)
		} else {
			counts = piece(&c.ptrs, k)
		}
		for i := len(counts) - k; i < len(counts); i++ {
			if v, ok := c.longOf(items); ok {
				counts[i] = c.arena.long(v)
			}
		}
	}
	return counts
}

// strings reads an array of strings, nil when it is null.
func (c *cursor) strs(n *ocf.Schema) []string {
	items := c.arrayOf(n)
	if items == nil {
		return nil
	}
	out := []string{}
	for c.Err == nil {
		k := c.Items()
		if k == 0 {
			break
		}
		if len(out) > 0 {
			out = append(out, make([]string, k)...)
		} else {
			out = piece(&c.strings, k)
		}
		for i := len(out) - k; i < len(out); i++ {
			out[i], _ = c.strOf(items)
		}
	}
	return out
}

// longs and int32s read arrays of integers, nil when they are null.
func (c *cursor) longs(n *ocf.Schema) []int64  { return integers(c, n, c.longOf) }
func (c *cursor) int32s(n *ocf.Schema) []int32 { return integers(c, n, c.intOf) }

func integers[T int32 | int64](c *cursor, n *ocf.Schema, read func(*ocf.Schema) (T, bool)) []T {
	items := c.arrayOf(n)
	if items == nil {
		return nil
	}
	out := []T{}
	c.blocks(func() {
		v, _ := read(items)
		out = append(out, v)
	})
	return out
}

// optLong and optInt read nullable integers, optStr a nullable string.
func (c *cursor) optLong(n *ocf.Schema) *int64 {
	if v, ok := c.longOf(n); ok {
		return c.arena.long(v)
	}
	return nil
}

func (c *cursor) optInt(n *ocf.Schema) *int32 {
	if v, ok := c.intOf(n); ok {
		return c.arena.int(v)
	}
	return nil
}

func (c *cursor) optStr(n *ocf.Schema) *string {
	v, ok := c.strOf(n)
	if !ok {
		return nil
	}
	p := piece(&c.strings, 1)
	p[0] = v
	return &p[0]
}
