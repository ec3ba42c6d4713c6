package merge

import (
	"context"
	"io"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
)

// relay walks runs as a race does, but hands on all rows of a key, those of the
// oldest run first. Each run has a key once.
type relay struct {
	race
	begun bool // rows of a key are in, and there may be more
}

func newRelay(s *survivors) *relay {
	// In a race, of rows of one key that of the leaf with the larger number comes
	// first.
	slices.Reverse(s.leaves)
	return &relay{race: race{survivors: s, turn: -1}}
}

func (r *relay) step(ctx context.Context) error {
	if !r.opened {
		if err := r.open(ctx); err != nil {
			return err
		}
	}
	for r.first.leaf >= 0 {
		c := r.first
		l := r.leaves[c.leaf]
		if !r.begun || c.key != r.last {
			r.end()
			if r.room() == 0 {
				return nil
			}
			if r.streak >= streakRows {
				if kept, err := r.stretch(ctx, l, r.room()); kept > 0 || err != nil {
					return err
				}
			}
			r.begun, r.last = true, c.key
		}
		rows := &r.rows
		rows.Refs = append(rows.Refs, batch.NewRef(r.use(l), l.row))
		rows.Kinds = append(rows.Kinds, l.kind[l.row])
		if l.row++; l.row == len(l.keys.prefix) {
			if err := l.load(ctx, r.cfg); err != nil {
				return err
			}
			r.play(c.leaf, r.runner(c.leaf))
			if r.first.leaf < 0 || r.first.key != r.last {
				r.end()
				break // the sources may be too many
			}
			continue
		}
		l.head = l.keys.prefix[l.row]
		r.play(c.leaf, runner{l.head, c.leaf})
	}
	if r.first.leaf < 0 {
		r.end()
		return io.EOF
	}
	return nil
}

// end closes the key that has begun.
func (r *relay) end() {
	if !r.begun {
		return
	}
	r.begun = false
	rows := &r.rows
	n := len(rows.Refs)
	from := 0
	if k := len(rows.Ends); k > 0 {
		from = rows.Ends[k-1]
	}
	if n-from == 1 && r.drops(rows.Kinds[from]) {
		rows.Refs, rows.Kinds = rows.Refs[:from], rows.Kinds[:from]
		return
	}
	rows.Ends = append(rows.Ends, n)
}
