package merge

// A state of a leaf in the tree. Losers of the current key wait where they lost.
type state uint8

const (
	fresh  state = iota // holds a row that is not yet decided for
	tied                // lost to a row of the same key in the current group
	taken               // its row is part of the current group; it must advance
	repeat              // won among the tied of the current group
)

// tree is a tournament over the leaves: node 0 names the winner, every other
// node the loser of the match played there. Rows of one key come out as a group,
// smallest in sequence first.
//
// Rows equal in key and sequence come out in the order Java's reader has: of two
// fresh rows the one that already waited comes first, among the tied the one
// that comes up comes first. Writers that did not know of each other may give
// the same sequence number twice, and then this order decides who wins.
// Source: paimon-core mergetree/compact/LoserTree.
type tree struct {
	leaves []*leaf
	exact  bool // equal prefixes mean equal keys
	order  seqOrder
	node   []int   // leaf numbers, -1 before the first match
	state  []state // of leaves
	meet   []int   // of leaves: lowest node where a row of the same key waits, -1 none
}

func newTree(leaves []*leaf, exact bool, order seqOrder) *tree {
	n := len(leaves)
	t := &tree{leaves: leaves, exact: exact, order: order, node: make([]int, n), state: make([]state, n), meet: make([]int, n)}
	for i := range n {
		t.node[i], t.meet[i] = -1, -1
	}
	return t
}

func (t *tree) byKey(a, b int) int {
	x, y := t.leaves[a], t.leaves[b]
	switch {
	case x.head < y.head:
		return -1
	case x.head > y.head:
		return 1
	case t.exact:
		return 0
	}
	return compareColumns(x.keys.cols, x.row, y.keys.cols, y.row)
}

func (t *tree) bySeq(a, b int) int { return t.order.compare(t.leaves[a], t.leaves[b]) }

func (t *tree) winner() int { return t.node[0] }

// renew tells that a leaf holds a new row. The caller settles it then.
func (t *tree) renew(leaf int) {
	t.state[leaf] = fresh
	t.meet[leaf] = -1
}

// take takes the winner's row into the group.
func (t *tree) take() {
	w := t.winner()
	t.state[w] = taken
	p := t.meet[w]
	if p < 0 {
		return
	}
	// The next of the same key waits at p: they change places.
	next := t.node[p]
	t.node[p] = w
	t.state[next] = repeat
	t.climb(next, p/2)
}

// grouped reports that all rows of the current key are taken.
func (t *tree) grouped() bool { return t.state[t.winner()] == taken }

// settle plays a leaf's matches from the bottom after it got a new row.
func (t *tree) settle(leaf int) { t.climb(leaf, (leaf+len(t.node))/2) }

func (t *tree) climb(w, p int) {
	for ; p > 0; p /= 2 {
		l := t.node[p]
		if l < 0 {
			t.node[p] = w
			t.node[0] = -1
			return
		}
		if t.state[l] == taken && t.state[w] == fresh {
			// The taken leaf has to advance next: it goes to the top at once.
			t.node[p] = w
			t.meet[l] = -1
			t.node[0] = l
			return
		}
		if t.waiterWins(l, w, p) {
			t.node[p] = w
			w = l
		}
	}
	t.node[0] = w
}

// waiterWins plays one match at node p between the waiting l and the climbing w
// and notes ties.
func (t *tree) waiterWins(l, w, p int) bool {
	switch {
	case t.state[w] == repeat:
		if t.state[l] != tied {
			return false
		}
		if t.bySeq(l, w) < 0 {
			t.state[l], t.state[w] = repeat, tied
			t.note(l, p)
			return true
		}
		t.note(w, p)
		return false
	case t.leaves[l].done:
		return false
	case t.leaves[w].done:
		return true
	}
	c := t.byKey(l, w)
	if c != 0 {
		return c < 0
	}
	if t.bySeq(l, w) > 0 {
		t.state[l] = tied
		t.note(w, p)
		return false
	}
	t.state[w] = tied
	t.note(l, p)
	return true
}

// bound is the smallest prefix the winner's next rows must stay below to win
// again without a match; free is true when no other leaf has rows left. It may
// be asked between groups only.
func (t *tree) bound() (bound uint64, free bool) {
	free = true
	for p := (t.winner() + len(t.node)) / 2; p > 0; p /= 2 {
		if l := t.leaves[t.node[p]]; !l.done {
			if free || l.head < bound {
				bound = l.head
			}
			free = false
		}
	}
	return bound, free
}

func (t *tree) note(leaf, p int) {
	if t.meet[leaf] < 0 {
		t.meet[leaf] = p
	}
}
