package aggregate

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// chooser is a function whose result is one of the values: it decides over
// references, and the column is gathered once.
type chooser struct {
	*column
	rule rule
}

// rule makes one choice after another. Values arrive in the order of the rows; in
// is none for a null.
type rule interface {
	// quick chooses the rows of all groups where all add in order, or gives false.
	quick(g *Groups, n nulls, out []batch.Ref) bool
	add(s *choice, in batch.Ref)
	late(s *choice, in batch.Ref)
	// retract reports false where the rule cannot.
	retract(s *choice, in batch.Ref) bool
}

// choice is the state of one group.
type choice struct {
	acc  batch.Ref
	seen bool // of the rules that keep what came first
	less func(a, b batch.Ref) bool
}

func chosen(r rule) func(*column) (Function, error) {
	return func(c *column) (Function, error) { return &chooser{c, r}, nil }
}

// newBool is bool_and, the smaller of false and true, or bool_or, the larger one.
func newBool(larger bool) func(*column) (Function, error) {
	return func(c *column) (Function, error) {
		if c.t.Root != types.Boolean {
			return nil, c.wants("BOOLEAN")
		}
		return &chooser{c, extremum{larger: larger, truth: true}}, nil
	}
}

func (f *chooser) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	out := make([]batch.Ref, len(g.Ends))
	if err := f.Choose(sources, g, out); err != nil {
		return nil, err
	}
	return gather(mem, f.dt, sources, out)
}

func (f *chooser) Choose(sources []arrow.Array, g *Groups, out []batch.Ref) error {
	n := nullsOf(sources)
	if g.plain() && (f.rule.quick(g, n, out) || f.quickExtremes(sources, g, n, out)) {
		return nil
	}
	less, bad := f.less(sources), false
	if less == nil {
		less = func(_, _ batch.Ref) bool { bad = true; return false }
	}
	s, from := choice{less: less}, 0
	for i, end := range g.Ends {
		s.acc, s.seen = none, false
		for j := from; j < end; j++ {
			in := g.Refs[j]
			if n.at(in) {
				in = none
			}
			switch g.op(j) {
			case opAdd:
				f.rule.add(&s, in)
			case opLate:
				f.rule.late(&s, in)
			case opSet:
				s.acc = in
			case opRetract:
				if !f.ignoreRetract && !f.rule.retract(&s, in) {
					return f.noRetract()
				}
			}
		}
		if bad {
			return f.invalid("values of this type have no order").
				WithHint("Choose another function by %s.", f.key("aggregate-function"))
		}
		out[i], from = s.acc, end
	}
	return nil
}

// gather makes the column of the references, none of which gives a null.
func gather(mem memory.Allocator, dt arrow.DataType, sources []arrow.Array, refs []batch.Ref) (arrow.Array, error) {
	var null batch.Ref
	all := sources
	for i, r := range refs {
		if r != none {
			continue
		}
		if null == 0 {
			d := batch.Nulls(mem, dt, 1)
			a := array.MakeFromData(d)
			d.Release()
			defer a.Release()
			null = batch.NewRef(len(sources)+1, 0) // there is no source before it
			all = append(append([]arrow.Array(nil), sources...), nil, a)
		}
		refs[i] = null
	}
	return batch.GatherColumn(mem, dt, all, refs)
}

// ofKey gives the last value whatever its row does: columns of the key are the same
// in all rows.
type ofKey struct{ lastValue }

func (ofKey) retract(s *choice, in batch.Ref) bool { s.acc = in; return true }

type lastValue struct{}

func (lastValue) quick(g *Groups, n nulls, out []batch.Ref) bool {
	from := 0
	for i, end := range g.Ends {
		out[i] = none
		if end > from && !n.at(g.Refs[end-1]) {
			out[i] = g.Refs[end-1]
		}
		from = end
	}
	return true
}

func (lastValue) add(s *choice, in batch.Ref)         { s.acc = in }
func (lastValue) late(*choice, batch.Ref)             {}
func (lastValue) retract(s *choice, _ batch.Ref) bool { s.acc = none; return true }

type lastNonNull struct{}

func (lastNonNull) quick(g *Groups, n nulls, out []batch.Ref) bool {
	from := 0
	for i, end := range g.Ends {
		out[i] = none
		for j := end - 1; j >= from; j-- {
			if r := g.Refs[j]; !n.at(r) {
				out[i] = r
				break
			}
		}
		from = end
	}
	return true
}

func (lastNonNull) add(s *choice, in batch.Ref) {
	if in != none {
		s.acc = in
	}
}

func (lastNonNull) late(s *choice, in batch.Ref) {
	if s.acc == none {
		s.acc = in
	}
}

func (lastNonNull) retract(s *choice, in batch.Ref) bool {
	if in != none {
		s.acc = none
	}
	return true
}

// firstValue keeps the first value. A late one comes before it.
type firstValue struct{}

func (firstValue) quick(g *Groups, n nulls, out []batch.Ref) bool {
	from := 0
	for i, end := range g.Ends {
		out[i] = none
		if end > from && !n.at(g.Refs[from]) {
			out[i] = g.Refs[from]
		}
		from = end
	}
	return true
}

func (firstValue) add(s *choice, in batch.Ref) {
	if !s.seen {
		s.acc, s.seen = in, true
	}
}

// late is Java's: the first call of a group leaves what is there, also a late one.
func (firstValue) late(s *choice, in batch.Ref) {
	if s.seen {
		s.acc = in
	}
	s.seen = true
}

func (firstValue) retract(*choice, batch.Ref) bool { return false }

type firstNonNull struct{}

func (firstNonNull) quick(g *Groups, n nulls, out []batch.Ref) bool {
	from := 0
	for i, end := range g.Ends {
		out[i] = none
		for _, r := range g.Refs[from:end] {
			if !n.at(r) {
				out[i] = r
				break
			}
		}
		from = end
	}
	return true
}

func (firstNonNull) add(s *choice, in batch.Ref) {
	if !s.seen && in != none {
		s.acc, s.seen = in, true
	}
}

// late is Java's, in which a late null replaces what is there as well.
func (firstNonNull) late(s *choice, in batch.Ref) {
	if !s.seen && s.acc != none {
		s.seen = true
		return
	}
	s.acc = in
}

func (firstNonNull) retract(*choice, batch.Ref) bool { return false }

// extremum keeps the largest or smallest value.
type extremum struct{ larger, truth bool }

func (extremum) quick(*Groups, nulls, []batch.Ref) bool { return false }

func (e extremum) add(s *choice, in batch.Ref) {
	switch {
	case in == none:
	case s.acc == none:
		s.acc = in
	case e.larger && s.less(s.acc, in), !e.larger && !s.less(s.acc, in):
		s.acc = in
	}
}

func (e extremum) late(s *choice, in batch.Ref)  { e.add(s, in) }
func (extremum) retract(*choice, batch.Ref) bool { return false }

// less is the order of the column's values, nil where they have none or the rule
// asks for none.
func (f *chooser) less(sources []arrow.Array) func(a, b batch.Ref) bool {
	e, ok := f.rule.(extremum)
	if !ok {
		return nil
	}
	switch f.t.Root {
	case types.TinyInt:
		return ordered[int8](sources)
	case types.SmallInt:
		return ordered[int16](sources)
	case types.Int:
		return ordered[int32](sources)
	case types.BigInt:
		return ordered[int64](sources)
	case types.Date:
		return ordered[arrow.Date32](sources)
	case types.Time:
		return ordered[arrow.Time32](sources)
	case types.Timestamp, types.TimestampLTZ:
		return ordered[arrow.Timestamp](sources)
	case types.Float:
		v := valuesOf[float32](sources)
		return func(a, b batch.Ref) bool {
			return types.CompareDouble(float64(v[a>>32][uint32(a)]), float64(v[b>>32][uint32(b)])) < 0
		}
	case types.Double:
		v := valuesOf[float64](sources)
		return func(a, b batch.Ref) bool {
			return types.CompareDouble(v[a>>32][uint32(a)], v[b>>32][uint32(b)]) < 0
		}
	case types.Decimal:
		v := valuesOf[decimal128.Num](sources)
		return func(a, b batch.Ref) bool { return v[a>>32][uint32(a)].Less(v[b>>32][uint32(b)]) }
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		v := bytesOf(sources)
		return func(a, b batch.Ref) bool { return bytes.Compare(v.at(a), v.at(b)) < 0 }
	case types.Boolean:
		if e.truth {
			return func(a, b batch.Ref) bool {
				return !sources[a.Source()].(*array.Boolean).Value(a.Row()) && sources[b.Source()].(*array.Boolean).Value(b.Row())
			}
		}
	}
	return nil
}

// orderedType are the types of columns that Go orders as Java does.
type orderedType interface {
	arrow.FixedWidthType
	cmp.Ordered
}

func ordered[T orderedType](sources []arrow.Array) func(a, b batch.Ref) bool {
	v := valuesOf[T](sources)
	return func(a, b batch.Ref) bool { return v[a>>32][uint32(a)] < v[b>>32][uint32(b)] }
}
