package aggregate

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/merge/aggregate/roaring"
	"github.com/tarnlake/tarn/internal/merge/aggregate/sketch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// unite appends to dst the union of the sets or sketches acc and in.
type unite func(dst, acc, in []byte) ([]byte, error)

var (
	union32    unite = roaring.Union32
	union64    unite = roaring.Union64
	unionHLL   unite = sketch.UnionHLL
	unionTheta unite = sketch.UnionTheta
)

// united unites sets or sketches stored as bytes. A single one stays as it is, unread.
type united struct {
	*column
	unite unite
}

func newBitmap(u unite) func(*column) (Function, error) {
	return func(c *column) (Function, error) {
		if c.t.Root != types.VarBinary {
			return nil, c.wants("VARBINARY or BYTES")
		}
		return &united{c, u}, nil
	}
}

func (f *united) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	n, in := nullsOf(sources), bytesOf(sources)
	out := newBytes(mem, len(g.Ends))
	// Unions take turns with two buffers: one holds the value, the other takes the next.
	var bufs [2][]byte
	turn, from := 0, 0
	for _, end := range g.Ends {
		var acc []byte
		null := true
		for j := from; j < end; j++ {
			r, o := g.Refs[j], g.op(j)
			missing := n.at(r)
			switch {
			case o == opSet:
				if acc, null = nil, missing; !missing {
					acc = in.at(r)
				}
			case o == opRetract && !f.ignoreRetract:
				out.release()
				return nil, f.noRetract()
			case o == opRetract || missing:
			case null:
				acc, null = in.at(r), false
			default:
				a, b := acc, in.at(r)
				if o == opLate {
					a, b = b, a
				}
				var err error
				if bufs[turn], err = f.unite(bufs[turn][:0], a, b); err != nil {
					out.release()
					return nil, tarnerr.Trace("aggregating column", err, "function", f.function, "column", f.name)
				}
				acc, turn = bufs[turn], 1-turn
			}
		}
		if err := out.add(acc, null); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	return out.finish(f.dt), nil
}
