package commit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Groups are the queues in which the commits of one process to one table, through
// whatever committer, wait for their turn. Safe for concurrent use.
//
// Those that wait form a group: they go first come, first served, one after the
// other, and each makes its own snapshots, since a snapshot has one user and one
// identifier. They never lose a race to each other, and share what one alone
// would have to do: who comes next builds on the snapshot that was just made
// without looking for the latest one, takes over the manifests merged for it, and
// the LATEST hint is written for several at once. One that fails or is cancelled
// fails alone. A commit is overtaken by none that came later, so the number of
// others it waits for is known when it begins to wait.
type Groups struct {
	mu     sync.Mutex
	queues map[string]*queue // of tables that are being committed to
	closed bool
	chores sync.WaitGroup
	async  bool // chores are done beside the commits
	// own is what this process has made of each table last.
	own map[string]own
	// proven are the tables whose storage is tried out, or was (Committer.Prove).
	proven map[string]*atomic.Bool
}

// NewGroups returns queues without commits. Close them in the end. The zero value
// does without Close: its chores are done within the commits.
func NewGroups() *Groups { return &Groups{async: true} }

// proof is shared by all publishers of the table of a key.
func (g *Groups) proof(key string) *atomic.Bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.proven == nil {
		g.proven = map[string]*atomic.Bool{}
	}
	if g.proven[key] == nil {
		g.proven[key] = &atomic.Bool{}
	}
	return g.proven[key]
}

// hintEvery is how many snapshots a group may make before it writes LATEST.
const hintEvery = 8

// queue is one table's: the commit at work and those that wait for it.
type queue struct {
	waiting  []*turn
	newest   *snapshot.Snapshot // that the group has made
	unhinted int                // made since LATEST was written
}

// turn is a commit's place in a queue, and, once it is called, the sole right to
// commit.
type turn struct {
	groups *Groups
	key    string
	queue  *queue
	called chan struct{}
	ahead  int                // commits that went first
	base   *snapshot.Snapshot // that the one before has just made, nil when it made none
	made   *snapshot.Snapshot // that this one made last
}

// enter waits for the turn of a commit to the table of a key.
func (g *Groups) enter(ctx context.Context, key string) (*turn, error) {
	g.mu.Lock()
	q := g.queues[key]
	t := &turn{groups: g, key: key, queue: q, called: make(chan struct{})}
	if q == nil {
		if g.queues == nil {
			g.queues = map[string]*queue{}
		}
		t.queue = &queue{}
		g.queues[key] = t.queue
		g.mu.Unlock()
		return t, nil
	}
	q.waiting = append(q.waiting, t)
	t.ahead = len(q.waiting)
	g.mu.Unlock()
	select {
	case <-t.called:
		return t, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "waiting for other commits", ctx.Err(), "ahead", t.ahead)
	}
	return t, nil // called at the same moment: the commit sees for itself that it is cancelled
}

// published notes a snapshot that the commit has just made.
func (t *turn) published(s *snapshot.Snapshot) {
	t.groups.mu.Lock()
	defer t.groups.mu.Unlock()
	t.made, t.queue.newest = s, s
	t.queue.unhinted++
	if s.ID == 1 {
		t.queue.unhinted = hintEvery // EARLIEST comes with it
	}
}

// leave calls the next one. When the LATEST hint has to be written first it does
// not, and returns the snapshot to be noted there.
func (t *turn) leave() (hint *snapshot.Snapshot) {
	g, q := t.groups, t.queue
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.unhinted >= hintEvery || q.unhinted > 0 && len(q.waiting) == 0 {
		q.unhinted = 0
		return q.newest
	}
	if len(q.waiting) == 0 {
		delete(g.queues, t.key)
		return nil
	}
	next := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	next.base = t.made
	close(next.called)
	return nil
}

// later does a chore that no commit waits for.
func (g *Groups) later(chore func()) {
	g.mu.Lock()
	async, closed := g.async, g.closed
	if async && !closed {
		g.chores.Add(1)
	}
	g.mu.Unlock()
	switch {
	case !async:
		chore()
	case !closed:
		go func() {
			defer g.chores.Done()
			chore()
		}()
	}
}

// Close waits for what the commits have left to be done. Commits may still be
// made afterwards, but leave nothing more.
func (g *Groups) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.chores.Wait()
}
