package merge

import (
	"context"
	"io"

	"github.com/tarnlake/tarn/internal/batch"
)

// groups walks the keys in the tree that Java's reader has, key after key.
type groups struct {
	*survivors
	tree   *tree
	opened bool
	streak int     // the leaf that won the last group alone, -1 none
	levels []int32 // of the rows of a key, where the merge asks for them
	tied   []*leaf // the rows of a key, the oldest first
}

func newGroups(s *survivors) *groups {
	return &groups{survivors: s, tree: newTree(s.leaves, s.cfg.Keys.exact, s.cfg.order()), streak: -1}
}

func (g *groups) open(ctx context.Context) error {
	for i := len(g.leaves) - 1; i >= 0; i-- {
		if err := g.leaves[i].load(ctx, g.cfg); err != nil {
			return err
		}
		g.tree.settle(i)
	}
	g.opened = true
	return nil
}

// step decides about the next key, or about a stretch of keys only one run has.
func (g *groups) step(ctx context.Context) error {
	if !g.opened {
		if err := g.open(ctx); err != nil {
			return err
		}
	}
	w := g.tree.winner()
	l := g.leaves[w]
	if l.done {
		return io.EOF
	}
	if w == g.streak {
		if done, err := g.stretch(ctx, w); done || err != nil {
			return err
		}
	}
	g.tree.take()
	if g.tree.grouped() {
		g.streak = w
		g.keep(l, l.row)
	} else {
		g.streak = -1
		g.merge(l)
	}
	return g.advance(ctx)
}

// merge takes the remaining rows of the key whose first row l stands on and
// keeps the one that deduplication leaves: the last one of level 0 and of the lowest
// level above it, see [Rows.lowest]. Without levels all are of level 0.
func (g *groups) merge(l *leaf) {
	if g.fold != nil {
		g.collect(l)
		return
	}
	g.tied = g.tied[:0]
	lowest := int32(0) // of the levels above 0 that have the key
	for {
		if l.level > 0 && (lowest == 0 || l.level < lowest) {
			lowest = l.level
		}
		g.tied = append(g.tied, l)
		if g.tree.grouped() {
			break
		}
		l = g.leaves[g.tree.winner()]
		g.tree.take()
	}
	for i := len(g.tied) - 1; i >= 0; i-- {
		l := g.tied[i]
		if l.level <= lowest && (!g.cfg.IgnoreDelete || l.kind[l.row]&1 == 0) {
			g.keep(l, l.row)
			return
		}
	}
}

// collect takes the remaining rows of the key for the engine to fold.
func (g *groups) collect(l *leaf) {
	r := &g.rows
	from := len(r.Refs)
	g.levels = g.levels[:0]
	for {
		r.Refs, r.Kinds = append(r.Refs, batch.NewRef(g.use(l), l.row)), append(r.Kinds, l.kind[l.row])
		g.levels = append(g.levels, l.level)
		if g.tree.grouped() {
			break
		}
		l = g.leaves[g.tree.winner()]
		g.tree.take()
	}
	if g.cfg.Level != nil {
		r.lowest(from, g.levels)
	}
	r.Ends = append(r.Ends, len(r.Refs))
}

// advance moves every leaf of the group just decided to its next row.
func (g *groups) advance(ctx context.Context) error {
	for g.tree.grouped() {
		w := g.tree.winner()
		if err := g.leaves[w].skip(ctx, g.cfg, 1); err != nil {
			return err
		}
		g.tree.renew(w)
		g.tree.settle(w)
	}
	return nil
}

// stretch decides about the rows of the winner that lie below the rows of all
// other leaves. It reports false when there are none, or too few to tell.
func (g *groups) stretch(ctx context.Context, w int) (bool, error) {
	l := g.leaves[w]
	n := l.rows() - l.row
	if bound, free := g.tree.bound(); !free {
		n = below(l.keys.prefix[l.row:], bound)
	}
	if n == 0 {
		g.streak = -1
		return false, nil
	}
	n = min(n, g.room())
	g.keepRange(l, l.row, l.row+n)
	if err := l.skip(ctx, g.cfg, n); err != nil {
		return true, err
	}
	// The leaf need not play while it stays below all others.
	g.tree.renew(w)
	g.tree.settle(w)
	if g.tree.winner() != w {
		g.streak = -1
	}
	return true, nil
}

// below is the number of leading prefixes smaller than bound. Prefixes ascend:
// it doubles its steps, then halves them.
func below(prefix []uint64, bound uint64) int {
	lo, hi := 0, 1
	for hi <= len(prefix) && prefix[hi-1] < bound {
		lo, hi = hi, 2*hi
	}
	hi = min(hi, len(prefix)+1)
	// prefix[:lo] lie below; prefix[hi-1:] do not.
	for lo < hi-1 {
		mid := int(uint(lo+hi) / 2)
		if prefix[mid-1] < bound {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
