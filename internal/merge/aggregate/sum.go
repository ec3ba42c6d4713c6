package aggregate

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

type number interface {
	int8 | int16 | int32 | int64 | float32 | float64
}

// arithmetic is a function of numbers: fold does all of it for the column's type.
type arithmetic struct {
	*column
	fold func(f *column, mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error)
}

func (f *arithmetic) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	return f.fold(f.column, mem, sources, g)
}

// newSum is sum. As in Java, whole numbers wrap around.
func newSum(c *column) (Function, error) {
	switch c.t.Root {
	case types.TinyInt:
		return &arithmetic{c, sum[int8]}, nil
	case types.SmallInt:
		return &arithmetic{c, sum[int16]}, nil
	case types.Int:
		return &arithmetic{c, sum[int32]}, nil
	case types.BigInt:
		return &arithmetic{c, sum[int64]}, nil
	case types.Float:
		return &arithmetic{c, sum[float32]}, nil
	case types.Double:
		return &arithmetic{c, sum[float64]}, nil
	case types.Decimal:
		return &arithmetic{c, decimals(sums, plus, minus, negated)}, nil
	}
	return nil, c.wants("TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE or DECIMAL")
}

func sum[T number](f *column, mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	vals, n := valuesOf[T](sources), nullsOf(sources)
	out := newFlat[T](mem, len(g.Ends))
	if g.plain() && n == nil {
		if a := g.apart(); a != nil {
			for i, r := range a.first {
				out.out[i] = vals[r>>32][uint32(r)]
			}
			for j, r := range a.later {
				out.out[a.of[j]] += vals[r>>32][uint32(r)]
			}
			return out.finish(f.dt), nil
		}
	}
	from := 0
	for i, end := range g.Ends {
		var acc T
		any := false
		for j := from; j < end; j++ {
			r := g.Refs[j]
			null := n.at(r)
			switch o := g.op(j); {
			case o == opSet:
				if acc, any = 0, !null; any {
					acc = vals[r>>32][uint32(r)]
				}
			case null || o == opRetract && f.ignoreRetract:
			case o == opRetract && any:
				acc -= vals[r>>32][uint32(r)]
			case o == opRetract:
				acc, any = -vals[r>>32][uint32(r)], true
			case any:
				acc += vals[r>>32][uint32(r)]
			default: // not 0 + value, which loses the sign of a zero
				acc, any = vals[r>>32][uint32(r)], true
			}
		}
		out.set(i, acc, any)
		from = end
	}
	return out.finish(f.dt), nil
}

// newProduct is product. A retraction divides; as in Java, whole numbers wrap around
// and lose the remainder.
func newProduct(c *column) (Function, error) {
	switch c.t.Root {
	case types.TinyInt:
		return &arithmetic{c, product[int8]}, nil
	case types.SmallInt:
		return &arithmetic{c, product[int16]}, nil
	case types.Int:
		return &arithmetic{c, product[int32]}, nil
	case types.BigInt:
		return &arithmetic{c, product[int64]}, nil
	case types.Float:
		return &arithmetic{c, product[float32]}, nil
	case types.Double:
		return &arithmetic{c, product[float64]}, nil
	case types.Decimal:
		return &arithmetic{c, decimals(nil, times, divided, nil)}, nil
	}
	return nil, c.wants("TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE or DECIMAL")
}

func product[T number](f *column, mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	vals, n := valuesOf[T](sources), nullsOf(sources)
	out := newFlat[T](mem, len(g.Ends))
	from := 0
	for i, end := range g.Ends {
		var acc T
		any := false
		for j := from; j < end; j++ {
			r := g.Refs[j]
			null := n.at(r)
			switch o := g.op(j); {
			case o == opSet:
				if acc, any = 0, !null; any {
					acc = vals[r>>32][uint32(r)]
				}
			case null || o == opRetract && (f.ignoreRetract || !any):
			case o == opRetract:
				v := vals[r>>32][uint32(r)]
				if v == 0 && f.t.IsInteger() {
					out.release()
					return nil, f.byZero()
				}
				acc /= v
			case !any:
				acc, any = vals[r>>32][uint32(r)], true
			default:
				acc *= vals[r>>32][uint32(r)]
			}
		}
		out.set(i, acc, any)
		from = end
	}
	return out.finish(f.dt), nil
}

func (c *column) byZero() error {
	return c.invalid("a retraction divides the product by zero").
		WithHint("Set %s = true to leave retractions out of this column.", c.key("ignore-retract"))
}

// decimals folds DECIMAL columns by functions that report false where the result is
// too large, which makes the value null as in Java. quick, where there is one, folds
// values that add and are not null, or gives false.
func decimals(
	quick func(f *column, vals [][]decimal128.Num, a *apart, out []decimal128.Num) bool,
	add func(f *column, acc, v decimal128.Num) (decimal128.Num, bool),
	retract func(f *column, acc, v decimal128.Num) (decimal128.Num, bool, error),
	first func(f *column, v decimal128.Num) (decimal128.Num, bool),
) func(f *column, mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	return func(f *column, mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
		vals, n := valuesOf[decimal128.Num](sources), nullsOf(sources)
		out := newFlat[decimal128.Num](mem, len(g.Ends))
		if quick != nil && g.plain() && n == nil {
			if a := g.apart(); a != nil && quick(f, vals, a, out.out) {
				return out.finish(f.dt), nil
			}
		}
		from := 0
		for i, end := range g.Ends {
			var acc decimal128.Num
			any := false
			for j := from; j < end; j++ {
				r := g.Refs[j]
				null := n.at(r)
				switch o := g.op(j); {
				case o == opSet:
					if acc, any = (decimal128.Num{}), !null; any {
						acc = vals[r>>32][uint32(r)]
					}
				case null || o == opRetract && f.ignoreRetract:
				case o == opRetract && any:
					var err error
					if acc, any, err = retract(f, acc, vals[r>>32][uint32(r)]); err != nil {
						out.release()
						return nil, err
					}
				case o == opRetract:
					if first != nil {
						acc, any = first(f, vals[r>>32][uint32(r)])
					}
				case !any:
					acc, any = vals[r>>32][uint32(r)], true
				default:
					acc, any = add(f, acc, vals[r>>32][uint32(r)])
				}
			}
			if !any {
				acc = decimal128.Num{}
			}
			out.set(i, acc, any)
			from = end
		}
		return out.finish(f.dt), nil
	}
}
