package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
)

// leafValues are the values of one leaf column for some rows: levels, and the
// positions in arr of the values that are not null.
type leafValues struct {
	leaf      int
	arr       arrow.Array
	idx       []int32 // positions of the values; nil = from … to, in order
	from, to  int
	defs, rep []int16 // nil where the maximum level is 0
}

// shredder turns nested arrays into leaf values. Its buffers are reused: what
// shred returns is valid until the next call.
type shredder struct {
	out []leafValues
}

// forget lets go of the arrays of the last call.
func (s *shredder) forget() {
	clear(s.out)
	s.out = s.out[:0]
}

// slots are the values a node has, each with its levels; idx < 0 marks a value
// that is already known to be absent at level def.
type slots struct {
	idx       []int32
	defs, rep []int16
}

// shred walks c with its array and returns the values of all leaves below.
func (s *shredder) shred(c *column, arr arrow.Array) ([]leafValues, error) {
	s.out = s.out[:0]
	n := arr.Len()
	in := slots{idx: make([]int32, n), defs: make([]int16, n), rep: make([]int16, n)}
	for i := range n {
		in.idx[i] = int32(i)
	}
	err := s.walk(c, arr, in)
	return s.out, err
}

func (s *shredder) walk(c *column, arr arrow.Array, in slots) error {
	if err := mark(c, arr, in); err != nil {
		return err
	}
	switch a := arr.(type) {
	case *array.Struct:
		for i, child := range c.children {
			in := in
			if i < len(c.children)-1 { // mark writes: all but the last child work on a copy
				in = slots{append([]int32(nil), in.idx...), append([]int16(nil), in.defs...), in.rep}
			}
			if err := s.walk(child, a.Field(i), in); err != nil {
				return err
			}
		}
		return nil
	case *array.Map: // before the list it embeds
		below := expand(c, in, a.ValueOffsets)
		key := slots{append([]int32(nil), below.idx...), append([]int16(nil), below.defs...), below.rep}
		if err := s.walk(c.children[0], a.Keys(), key); err != nil {
			return err
		}
		return s.walk(c.children[1], a.Items(), below)
	case *array.List:
		return s.walk(c.children[0], a.ListValues(), expand(c, in, a.ValueOffsets))
	}
	out := leafValues{leaf: c.leaf, arr: arr, idx: make([]int32, 0, len(in.idx)), defs: in.defs, rep: in.rep}
	for _, i := range in.idx {
		if i >= 0 {
			out.idx = append(out.idx, i)
		}
	}
	if c.def == 0 {
		out.defs = nil
	}
	if c.rep == 0 {
		out.rep = nil
	}
	s.out = append(s.out, out)
	return nil
}

// mark settles which values of the node are null.
func mark(c *column, arr arrow.Array, in slots) error {
	nulls := arr.NullN() > 0
	for k, i := range in.idx {
		if i < 0 {
			continue
		}
		if nulls && arr.IsNull(int(i)) {
			if !c.optional {
				return nullInRequired(c.dotted())
			}
			in.idx[k] = -1
			continue
		}
		in.defs[k] = c.def
	}
	return nil
}

// expand replaces every list by its elements.
func expand(c *column, in slots, bounds func(int) (start, end int64)) slots {
	out := slots{
		idx: make([]int32, 0, len(in.idx)), defs: make([]int16, 0, len(in.idx)), rep: make([]int16, 0, len(in.idx)),
	}
	for k, i := range in.idx {
		var start, end int64
		if i >= 0 {
			start, end = bounds(int(i))
		}
		if start == end { // null or empty: one slot at the level reached
			out.idx = append(out.idx, -1)
			out.defs = append(out.defs, in.defs[k])
			out.rep = append(out.rep, in.rep[k])
			continue
		}
		rep := in.rep[k]
		for j := start; j < end; j++ {
			out.idx = append(out.idx, int32(j))
			out.defs = append(out.defs, c.def+1)
			out.rep = append(out.rep, rep)
			rep = c.rep
		}
	}
	return out
}

func nullInRequired(path string) error {
	return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "null in a column that is NOT NULL", "column", path).
		WithHint("Give the column a value, or declare it nullable.")
}
