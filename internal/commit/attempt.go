package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// tries is the making of one snapshot: try after try until one lands, a limit
// is reached, or something fails that trying again cannot mend.
type tries struct {
	c      *Committer
	req    Request
	change change
	report *Report
	start  time.Time

	first    int64              // id of the base of the first try
	base     *snapshot.Snapshot // of the last try
	draft    *draft             // metadata that all tries share, nil before the first
	built    []*built           // one per try that got that far, the last one last
	intended bool               // an intent is recorded
	gone     bool               // the table that was opened is not there any more
}

// built is the metadata of one try and what became of it.
type built struct {
	base     *snapshot.Snapshot
	next     *snapshot.Snapshot
	list     string // its base manifest list
	before   []manifest.FileMeta
	after    []manifest.FileMeta // before, merged
	merged   []string            // manifests that merging wrote, for this try or one before, and its list names
	doubtful bool                // it may have landed
}

// run tries until the end. already is true when the commit had landed before it
// was tried here.
func (t *tries) run(ctx context.Context) (landed *snapshot.Snapshot, already bool, err error) {
	for retries := 0; ; retries++ {
		landed, already, err = t.once(ctx)
		if landed != nil || !again(err) {
			break
		}
		elapsed := t.c.cfg.Env.Now().Sub(t.start)
		if !t.c.retry.again(retries, elapsed) {
			err = t.exhausted(retries, elapsed, err)
			break
		}
		if sleepErr := t.c.cfg.Env.Sleep(ctx, t.c.retry.wait(retries, t.c.cfg.Env.Float64())); sleepErr != nil {
			err = tarnerr.Wrap(tarnerr.Unavailable, "waiting to try again", sleepErr)
			break
		}
	}
	if landed == nil && t.inDoubt() {
		landed, err = t.lastLook(ctx, err)
	}
	return landed, already, err
}

// tryAgain is the end of a try after which another may follow.
type tryAgain struct {
	error
	lost bool // a lost race, else a failure of the atomic step
}

func again(err error) bool {
	_, ok := err.(tryAgain)
	return ok
}

// once makes one try. Its error is tryAgain when another may follow.
func (t *tries) once(ctx context.Context) (landed *snapshot.Snapshot, already bool, err error) {
	began := t.c.cfg.Env.Now()
	base, err := t.c.snapshots.Latest(ctx)
	if err != nil {
		return nil, false, err
	}
	// After the base is known, so that it is one of the table that was opened.
	if err := t.sameTable(ctx); err != nil {
		return nil, false, err
	}
	if t.isCommitted(base) {
		t.intended = true // whoever committed it may have left one
		return base, true, nil
	}
	if len(t.built) > 0 {
		if found, err := t.look(ctx, base); found != nil || err != nil {
			return found, found != nil && t.foreign(found), err
		}
	}
	b, err := t.build(ctx, base)
	if err != nil {
		return nil, false, err
	}
	if !t.intended {
		found, err := t.intend(ctx, base)
		if found != nil || err != nil {
			return found, found != nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, false, tarnerr.Wrap(tarnerr.Unavailable, "publishing snapshot", ctx.Err())
	}
	outcome, err := t.publishOnce(ctx, b)
	t.note(b, outcome, err, t.c.cfg.Env.Now().Sub(began))
	switch {
	case outcome == Committed:
		return b.next, false, nil
	case outcome == LostRace:
		return nil, false, tryAgain{fmt.Errorf("snapshot %d was published by another commit", b.next.ID), true}
	case b.doubtful || tarnerr.KindOf(err) == tarnerr.Unavailable:
		return nil, false, tryAgain{err, false}
	}
	return nil, false, err
}

// publishOnce runs the atomic step detached from the caller: it is followed to
// its end.
func (t *tries) publishOnce(ctx context.Context, b *built) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.c.cfg.PublishTimeout)
	defer cancel()
	outcome, err := t.c.publisher.Publish(ctx, Publication{
		Table: t.c.cfg.Table, Branch: t.c.cfg.Place.Branch, Base: b.base, Next: b.next, Partitions: t.draft.partitions,
	})
	if outcome != Unknown {
		return outcome, nil
	}
	if err == nil {
		err = tarnerr.New(tarnerr.Ambiguous, "publishing snapshot", "the publisher does not know", "snapshot", b.next.ID)
	}
	b.doubtful = inDoubt(err)
	return Unknown, err
}

// inDoubt reports an error after which the snapshot may have landed: all but
// those that the storage or the catalog classified as before any effect.
func inDoubt(err error) bool {
	switch tarnerr.KindOf(err) {
	case tarnerr.Ambiguous, tarnerr.CommitStateUnknown, tarnerr.Internal:
		return true
	}
	return false
}

// note writes a try into the report and tells the listener.
func (t *tries) note(b *built, outcome Outcome, err error, elapsed time.Duration) {
	word := outcome.String()
	if outcome == Unknown && !b.doubtful {
		word = "failed"
	}
	cause := ""
	if err != nil {
		cause = err.Error()
	}
	t.report.Attempts = append(t.report.Attempts, Attempt{Snapshot: b.next.ID, Outcome: word, Cause: cause, Elapsed: elapsed})
	t.c.cfg.Listener.Emit(event.AttemptEnd{
		Table: t.c.cfg.Table, User: t.req.User, Snapshot: b.next.ID, Number: len(t.built), Outcome: word, Err: err, Elapsed: elapsed,
	})
}

// build makes the metadata of a try on base. A try on the base of the one
// before publishes the same bytes again.
func (t *tries) build(ctx context.Context, base *snapshot.Snapshot) (*built, error) {
	if t.draft == nil {
		t.first = idOf(base)
		t.draft = &draft{}
		if err := t.c.builder.draft(ctx, t.draft, t.change); err != nil {
			return nil, beforeEffect(err)
		}
	}
	t.base = base
	t.report.Base = idOf(base)
	if n := len(t.built); n > 0 && idOf(t.built[n-1].base) == idOf(base) {
		t.built = append(t.built, t.built[n-1])
		return t.built[n-1], nil
	}
	b := &built{base: base}
	t.built = append(t.built, b)
	return b, beforeEffect(t.c.builder.build(ctx, t, b))
}

// beforeEffect is err as the failure it is for the commit: what fails before the
// publish certainly did not commit, however unsure the storage is about a file.
func beforeEffect(err error) error {
	if err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return tarnerr.Wrap(tarnerr.Unavailable, "preparing snapshot", err)
	}
	return err
}

// isCommitted reports that the latest snapshot is of this commit before anything
// was tried: a stream's identifier commits once (INV-COMMIT-2).
func (t *tries) isCommitted(latest *snapshot.Snapshot) bool {
	id := identity{user: t.req.User, identifier: t.req.Identifier, kind: t.change.kind}
	return len(t.built) == 0 && latest != nil && t.req.Identifier != snapshot.BatchIdentifier && id.matches(latest)
}

func idOf(s *snapshot.Snapshot) int64 {
	if s == nil {
		return 0
	}
	return s.ID
}

func (t *tries) identity() identity {
	return identity{t.req.User, t.req.Identifier, t.change.kind, t.draft.delta}
}

func (t *tries) inDoubt() bool {
	for _, b := range t.built {
		if b.doubtful {
			return true
		}
	}
	return false
}

// look finds out whether an earlier try has landed after all (P7), and settles
// those whose id holds another commit's snapshot.
func (t *tries) look(ctx context.Context, latest *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if !t.inDoubt() {
		return nil, nil
	}
	found, err := search(ctx, t.c.snapshots, t.identity(), t.first, latest)
	if found != nil || err != nil {
		return found, err
	}
	for _, b := range t.built {
		if b.next != nil && b.next.ID <= idOf(latest) {
			b.doubtful = false
		}
	}
	return nil, nil
}

// foreign reports that a snapshot of this commit was not made by these tries:
// another process has committed the same identifier.
func (t *tries) foreign(found *snapshot.Snapshot) bool {
	return found.DeltaManifestList != t.draft.delta
}

// lastLook resolves what is in doubt at the end. Unknown is sticky: as long as
// one try is unresolved the whole commit is, whatever the last one said.
func (t *tries) lastLook(ctx context.Context, cause error) (*snapshot.Snapshot, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.c.cfg.PublishTimeout)
	defer cancel()
	var err error
	if !t.gone { // another table's snapshots tell nothing
		var latest, found *snapshot.Snapshot
		if latest, err = t.c.snapshots.Latest(ctx); err == nil {
			found, err = t.look(ctx, latest)
		}
		if found != nil {
			return found, nil
		}
	}
	if err == nil && !t.inDoubt() {
		return nil, cause
	}
	if err == nil {
		err = cause
	}
	return nil, tarnerr.Wrap(tarnerr.CommitStateUnknown, "resolving commit", err,
		"base", t.first, "tried", len(t.built), "intent", t.intent().path(t.c.cfg.Place)).
		WithHint("Keep all files and repeat nothing; commit the same messages again under the same user and identifier, which first finds out what became of this commit.")
}

// exhausted is the error of a commit whose retries have run out. After lost
// races nothing disagreed: it is no conflict.
func (t *tries) exhausted(retries int, elapsed time.Duration, last error) error {
	if again, ok := last.(tryAgain); ok && !again.lost {
		return tarnerr.Trace("publishing snapshot", again.error, "attempts", retries+1, "elapsed", elapsed.Round(time.Millisecond))
	}
	return tarnerr.Wrap(tarnerr.Contention, "publishing snapshot", last,
		"attempts", retries+1, "elapsed", elapsed.Round(time.Millisecond), "snapshot", t.built[len(t.built)-1].next.ID).
		WithHint("Other writers were faster each time. Commit again later, write with fewer committers, or raise commit.max-retries and commit.max-retry-wait.")
}

func (t *tries) intent() intent {
	i := intent{
		User: t.req.User, Identifier: t.req.Identifier, Kind: t.change.kind, Base: t.first,
		Files: make([]string, 0, len(t.change.files)), Millis: t.start.UnixMilli(),
	}
	if t.draft != nil {
		i.Delta = t.draft.delta
	}
	for _, e := range t.change.files {
		i.Files = append(i.Files, e.File.FileName)
	}
	return i
}

// intend records the intent. When an earlier process left one for this commit,
// it first finds out what became of that: the snapshot when it has landed.
func (t *tries) intend(ctx context.Context, latest *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	mine := t.intent()
	t.intended = true // from here on there may be one
	earlier, err := t.c.intents.record(ctx, mine)
	if err != nil || earlier == nil {
		return nil, beforeEffect(err)
	}
	found, err := search(ctx, t.c.snapshots, earlier.identity(), earlier.Base, latest)
	if found != nil || err != nil {
		t.intended = err == nil // one in doubt is kept
		return found, err
	}
	return nil, beforeEffect(t.c.intents.replace(ctx, mine))
}
