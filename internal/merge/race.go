package merge

import (
	"context"
	"io"
	"math/bits"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
)

// race walks the keys of runs of which one is younger than the other, where a
// number tells keys apart: the rows come out by key and, of one key, the youngest
// run first, so that the first row of a key is the one that stays.
//
// It gives what groups give, at a third of the cost: nothing is to be known of a
// row but its number and its run.
type race struct {
	*survivors
	// node is a loser tree: of the matches played at a node, the row that lost.
	node   []runner
	first  runner // won all matches
	opened bool
	streak int // how many rows in a row the first leaf has given

	// Of the key that came out last: the run of its last row, how many of its rows
	// that run has given, and how many rows of it were decided about. A run has a
	// key once, or as often as its writer knew keys apart which a merge does not
	// (-0.0 and 0.0): the rows of a key form groups of one row a run.
	last         uint64
	turn         int
	given, taken int
}

// runner is the row a leaf stands on. Of exhausted leaves the leaf is -1, which
// loses against all.
type runner struct {
	key  uint64
	leaf int
}

// beats orders rows by key, and of one key those of the youngest run first.
func (a runner) beats(b runner) bool {
	return a.key < b.key || a.key == b.key && a.leaf > b.leaf
}

func newRace(s *survivors) *race { return &race{survivors: s, turn: -1} }

// fast reports that a race, or a relay, walks all keys.
func (c *Config) fast() bool {
	switch {
	case !c.Ranked || !c.Keys.exact || len(c.Sequence) > 0:
		return false
	case c.Engine.folds():
		return !c.Keys.floats()
	}
	return !c.IgnoreDelete
}

// open puts the first rows of all leaves into the tree.
func (r *race) open(ctx context.Context) error {
	n := len(r.leaves)
	for _, l := range r.leaves {
		if err := l.load(ctx, r.cfg); err != nil {
			return err
		}
	}
	r.node = make([]runner, n)
	// The winner of each node, from the leaves at n… up.
	won := make([]runner, 2*n)
	for i := range r.leaves {
		won[n+i] = r.runner(i)
	}
	for p := n - 1; p > 0; p-- {
		a, b := won[2*p], won[2*p+1]
		if b.beats(a) {
			a, b = b, a
		}
		won[p], r.node[p] = a, b
	}
	r.first = won[1]
	r.opened = true
	return nil
}

func (r *race) runner(i int) runner {
	l := r.leaves[i]
	if l.done {
		return runner{^uint64(0), -1}
	}
	return runner{l.head, i}
}

// streakRows is after how many rows of one run in a row the others are asked how
// far it may go on.
const streakRows = 8

// step decides about rows until the next batch is full or a leaf has to read.
func (r *race) step(ctx context.Context) error {
	if !r.opened {
		if err := r.open(ctx); err != nil {
			return err
		}
	}
	room := r.room()
	n := len(r.refs)
	refs := slices.Grow(r.refs, room)[:n+room]
	drop := int8(1)
	if r.cfg.KeepDeletes {
		drop = 0
	}
	for n < len(refs) && r.first.leaf >= 0 {
		c := r.first
		l := r.leaves[c.leaf]
		if r.streak >= streakRows {
			r.refs = refs[:n]
			if kept, err := r.stretch(ctx, l, len(refs)-n); kept > 0 || err != nil {
				return err
			}
		}
		// Rows that do not survive are overwritten by the next.
		refs[n] = batch.NewRef(r.use(l), l.row)
		n += r.survives(c) &^ int(l.kind[l.row]&drop)
		if l.row++; l.row == len(l.keys.prefix) {
			r.refs = refs[:n]
			if err := l.load(ctx, r.cfg); err != nil {
				return err
			}
			r.play(c.leaf, r.runner(c.leaf))
			return nil // the sources may be too many
		}
		l.head = l.keys.prefix[l.row]
		r.play(c.leaf, runner{l.head, c.leaf})
	}
	r.refs = refs[:n]
	if r.first.leaf < 0 {
		return io.EOF
	}
	return nil
}

// survives is 1 for a row that is the youngest of its group, else 0.
func (r *race) survives(c runner) int {
	if c.key != r.last || r.turn < 0 {
		r.last, r.turn, r.given, r.taken = c.key, c.leaf, 1, 1
		return 1
	}
	if c.leaf == r.turn {
		r.given++
	} else {
		r.turn, r.given = c.leaf, 1
	}
	if r.given <= r.taken {
		return 0
	}
	r.taken = r.given
	return 1
}

// play lets leaf i's new row play its matches.
func (r *race) play(i int, c runner) {
	for p := (i + len(r.node)) / 2; p > 0; p /= 2 {
		// Who wins is a matter of chance, which costs more to guess than to compute:
		// with the rank as the borrow, the difference of the keys borrows when n beats c.
		n := &r.node[p]
		_, lost := bits.Sub64(n.key, c.key, uint64(c.leaf-n.leaf)>>63)
		swap := runner{(n.key ^ c.key) & -lost, (n.leaf ^ c.leaf) & -int(lost)}
		n.key, n.leaf = n.key^swap.key, n.leaf^swap.leaf
		c.key, c.leaf = c.key^swap.key, c.leaf^swap.leaf
	}
	if c.leaf == i {
		r.streak++
	} else {
		r.streak = 0
	}
	r.first = c
}

// stretch keeps the rows of the first leaf that lie below the rows of all
// others, at most room. It returns how many.
func (r *race) stretch(ctx context.Context, l *leaf, room int) (int, error) {
	w := r.first.leaf
	n := l.rows() - l.row
	bound, free := uint64(0), true
	for p := (w + len(r.node)) / 2; p > 0; p /= 2 {
		if c := r.node[p]; c.leaf >= 0 && (free || c.key < bound) {
			bound, free = c.key, false
		}
	}
	if !free {
		n = below(l.keys.prefix[l.row:], bound)
	}
	// The first of them may be of the key that came out last.
	if n = min(n, room); n == 0 || l.head == r.last {
		r.streak = 0
		return 0, nil
	}
	r.keepRange(l, l.row, l.row+n)
	r.last, r.turn, r.given, r.taken = l.keys.prefix[l.row+n-1], w, 1, 1
	if err := l.skip(ctx, r.cfg, n); err != nil {
		return n, err
	}
	r.play(w, r.runner(w))
	return n, nil
}
