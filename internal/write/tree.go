package write

import (
	"context"
	"errors"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/tarnerr"
)

// tree is the files of one bucket of a key table as its writer knows them: what it
// restored, flushed and compacted. It changes on the turn of the writer alone; a
// compaction beside it reads what it was given.
type tree struct {
	levels  *lsm.Levels
	memory  lsm.Memory
	done    compact.Increment // not yet prepared
	running *running          // nil when nothing is compacted
	// stalled: a flush found more sorted runs than num-sorted-run.stop-trigger.
	stalled bool
	// idle: nothing was flushed to it since the last commit.
	idle bool
	// failed is why the last compaction failed; suspect, that the files may not be
	// what the tree knows, so that it must be restored first.
	failed  error
	suspect bool
}

// running is a compaction beside the writing.
type running struct {
	full   bool
	cancel context.CancelFunc
	ended  chan struct{} // closed at the end; the result is there then
	result compact.Result
	err    error
}

// runs is the number of sorted runs.
func (t *tree) runs() int { return len(t.levels.Runs()) }

// unstall waits for the compactions of buckets that had too many sorted runs. The
// buffer is empty then: who waits holds no memory.
func (w *Writer) unstall(ctx context.Context) error {
	if !w.compacts() {
		return nil
	}
	for _, g := range w.router.groups {
		t := g.tree
		if t == nil || !t.stalled {
			continue
		}
		t.stalled = false
		if err := w.await(ctx, g); err != nil {
			return err
		}
		w.trigger(ctx, g, false)
	}
	return nil
}

// await waits for the compaction of a group, and tells that it did.
func (w *Writer) await(ctx context.Context, g *group) error {
	if g.tree.running == nil {
		return nil
	}
	start := w.cfg.Env.Now()
	runs := g.tree.runs()
	err := w.collect(ctx, g, true)
	w.cfg.Listener.Emit(event.CompactWait{
		Table: w.cfg.Table, Partition: g.spec, Bucket: int(g.bucket), Runs: runs, Elapsed: w.cfg.Env.Now().Sub(start),
	})
	return err
}

// triggerAll collects what has ended and starts what is worth it, in all buckets
// written to.
func (w *Writer) triggerAll(ctx context.Context, wait, full bool) error {
	if !w.compacts() {
		return nil
	}
	for _, g := range w.router.groups {
		if err := w.collect(ctx, g, wait || full); err != nil {
			return err
		}
		if g.tree != nil {
			w.trigger(ctx, g, full && g.owes)
		}
	}
	return nil
}

// settle is what a Prepare does about compactions after its flush, in the order
// Java's MergeTreeWriter has: it starts what is worth it and, where it has to,
// waits for it.
func (w *Writer) settle(ctx context.Context) error {
	if !w.compacts() {
		return nil
	}
	if err := w.replant(ctx); err != nil {
		return err
	}
	force := w.set.Compaction.Force
	if err := w.triggerAll(ctx, w.wait || w.full, w.full); err != nil {
		return err
	}
	for _, g := range w.router.groups {
		t := g.tree
		if t == nil {
			continue
		}
		var err error
		switch {
		case w.wait || w.full || force:
			err = w.collect(ctx, g, true)
		case t.runs() > w.set.Compaction.StopTrigger+1:
			err = w.await(ctx, g)
		}
		// What no compaction can fold must not land where readers see only what was
		// looked up: no later compaction could either.
		if err == nil && (force || w.wait && w.set.Changelog.Lookup && tarnerr.KindOf(t.failed) == tarnerr.Invalid) {
			err = t.failed
		}
		if err != nil {
			return err
		}
		t.stalled = false
	}
	w.full = false
	return nil
}

// replant restores the buckets whose tree is gone, but not the work left there.
func (w *Writer) replant(ctx context.Context) error {
	var again []int
	for i, g := range w.router.groups {
		if g.tree == nil && (w.full && g.owes || w.set.Changelog.Lookup && g.replant) {
			again = append(again, i)
		}
	}
	return w.restore(ctx, again)
}

// WaitForCompaction says whether Prepare waits for the compactions that it and
// earlier calls started, as it does for a table with commit.force-compact. Else
// those go with a later Prepare that find their end.
func (w *Writer) WaitForCompaction(wait bool) { w.wait = wait }

// CompactFully makes the next Prepare compact all files of the buckets that were
// written to since their last full compaction, and wait for it.
func (w *Writer) CompactFully() { w.full = true }

// Committed tells that all that was prepared is committed: what the writer knows
// of buckets that it no longer writes to can be read again if need be. It is kept
// while rows of level 0 are to be looked up. Source: paimon-core
// mergetree/compact/MergeTreeCompactManager.
func (w *Writer) Committed() {
	if w.tryEnter() {
		defer w.exit()
		for _, g := range w.router.groups {
			t := g.tree
			if t == nil || t.running != nil || !t.done.Empty() || len(g.files) > 0 {
				continue
			}
			lookups := w.set.Changelog.Lookup && len(t.levels.Level0()) > 0
			if t.suspect || t.idle && !lookups {
				g.tree, g.replant = nil, t.suspect
			}
			t.idle = true
		}
	}
}

// Forget gives up what the writer knows of files and what it has compacted and not
// prepared: somebody else has changed the buckets. Their files are restored with the
// next flush. Rows stay; all that was prepared must be committed or given up.
func (w *Writer) Forget(ctx context.Context) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.leave(ctx)
	return w.uproot(ctx)
}

// uproot ends all compactions and removes what they made and nobody knows of.
func (w *Writer) uproot(ctx context.Context) error {
	var first error
	for _, g := range w.router.groups {
		if t := g.tree; t != nil && t.running != nil {
			t.running.cancel()
		}
	}
	for _, g := range w.router.groups {
		t := g.tree
		if t == nil {
			continue
		}
		// What was compacted and what was not, nobody knows now.
		g.tree, g.owes, g.replant = nil, true, true
		if t.running != nil {
			<-t.running.ended
			if t.running.err == nil {
				if err := w.discard(ctx, g, t.done.Add(t.running.result)); first == nil {
					first = err
				}
			}
		}
		if err := w.discard(ctx, g, t.done.Created()); first == nil {
			first = err
		}
	}
	return tarnerr.Trace("giving up compactions", first, "table", w.cfg.Table)
}

// compacts reports that the writer keeps trees.
func (w *Writer) compacts() bool { return w.cfg.Compact != nil && w.keyed }

// plant makes the tree of a group of the files restored.
func (w *Writer) plant(g *group, files []*datafile.Meta) error {
	levels, err := lsm.NewLevels(files, w.cfg.Compact.KeyTypes(), w.set.NumLevels)
	if err != nil {
		return tarnerr.Trace("restoring buckets", err, "table", w.cfg.Table, "partition", g.spec, "bucket", g.bucket)
	}
	g.tree, g.replant = &tree{levels: levels}, false
	return nil
}

// grow adds files that were flushed to the tree of their group.
func (w *Writer) grow(g *group, files []*datafile.Meta) error {
	if g.tree == nil || len(files) == 0 {
		return nil
	}
	t := g.tree
	t.stalled = t.stalled || t.runs() > w.set.Compaction.StopTrigger
	g.owes, t.idle = true, false
	levels, err := t.levels.With(nil, files, w.cfg.Compact.KeyTypes())
	if err == nil {
		t.levels = levels
	}
	return err
}

// trigger starts a compaction of a group when nothing is compacted there and
// something is worth it; with full, of everything.
func (w *Writer) trigger(ctx context.Context, g *group, full bool) {
	t := g.tree
	if t == nil || t.running != nil || t.suspect {
		return
	}
	count, runs := t.levels.Count(), t.levels.Runs()
	var unit lsm.Unit
	var ok bool
	if full {
		must, err := w.cfg.Compact.MustRewrite(ctx, t.levels.Files())
		if err != nil {
			t.failed = err
			w.warn("compacting files of a bucket", err)
			return
		}
		g.owes = false
		unit, ok = lsm.PickFull(count, runs, must)
	} else {
		unit, ok = w.universal.Pick(&t.memory, w.cfg.Env.Now(), count, runs)
	}
	if !ok {
		return
	}
	task := compact.Task{
		Bucket: compact.Bucket{Partition: g.spec, Bucket: g.bucket}, Unit: unit, Highest: count - 1,
		DropDeletes: t.levels.DropsDeletes(&unit), Below: compact.Below(t.levels, &unit),
	}
	beside := w.cfg.Workers > 1 // else one thing at a time
	if beside {                 // it goes on beyond the call that starts it, until Close
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &running{full: full, cancel: cancel, ended: make(chan struct{})}
	t.running = r
	work := func() {
		defer close(r.ended)
		defer cancel()
		var end func()
		if end, r.err = w.pool.begin(ctx, bytesOf(task.Unit.Files)); r.err == nil {
			defer end()
			r.result, r.err = w.cfg.Compact.Rewrite(ctx, task)
		}
	}
	if beside {
		go work()
	} else {
		work()
	}
}

// collect takes the result of a group's compaction into account: if it has ended,
// or with wait when it has. One that failed costs no row.
func (w *Writer) collect(ctx context.Context, g *group, wait bool) error {
	t := g.tree
	if t == nil || t.running == nil {
		return nil
	}
	if wait {
		select {
		case <-t.running.ended:
		case <-ctx.Done():
			return tarnerr.Wrap(tarnerr.Unavailable, "waiting for compaction", ctx.Err(), "table", w.cfg.Table)
		}
	}
	select {
	case <-t.running.ended:
	default:
		return nil
	}
	r := t.running
	t.running, t.failed = nil, r.err
	if r.err == nil {
		t.failed = w.install(ctx, g, r.result)
	}
	if t.failed == nil {
		return nil
	}
	w.warn("compacting files of a bucket", t.failed)
	g.owes = g.owes || r.full
	// What the storage did not do now it may do later; else somebody else has
	// changed the bucket.
	t.suspect = tarnerr.KindOf(t.failed) != tarnerr.Unavailable
	return nil
}

// install replaces files of a tree by what a compaction made of them.
func (w *Writer) install(ctx context.Context, g *group, res compact.Result) error {
	t := g.tree
	levels, err := t.levels.With(res.Before, res.After, w.cfg.Compact.KeyTypes())
	if err != nil {
		var lost compact.Increment
		lost.Add(res)
		return errors.Join(err, w.discard(ctx, g, lost.Created()))
	}
	t.levels = levels
	if err := w.discard(ctx, g, t.done.Add(res)); err != nil {
		w.warn("removing files between two compactions", err) // they are orphans
	}
	return nil
}

// discard removes files that no snapshot names.
func (w *Writer) discard(ctx context.Context, g *group, files []*datafile.Meta) error {
	return w.cfg.Compact.Remove(context.WithoutCancel(ctx), compact.Bucket{Partition: g.spec, Bucket: g.bucket}, files)
}

func bytesOf(files []*datafile.Meta) (n int64) {
	for _, f := range files {
		n += f.FileSize
	}
	return n
}
