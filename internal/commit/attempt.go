package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// tries is the making of one snapshot: try after try until one lands, a limit
// is reached, or something fails that trying again cannot mend.
type tries struct {
	c      *Committer
	req    Request
	work   *work
	report *Report
	start  time.Time

	first    int64              // id of the base of the first try
	begun    bool               // first is set
	base     *snapshot.Snapshot // of the last try
	read     *baseFiles         // what the last try was checked against
	drafts   []*draft           // one per change that was built, the last one last
	built    []*built           // one per try that got that far, the last one last
	tried    int                // how many tries were noted
	intended bool               // an intent is recorded
	promised int64              // the base it names
	gone     bool               // the table that was opened is not there any more
	newest   int64              // id of the newest snapshot seen
	readTo   int64              // all from first up to here were read, and none is of this commit
	asked    bool               // whether an earlier process left an intent is known
	earlier  *intent            // the one it left
	handed   *snapshot.Snapshot // base of the first try, when the commit before has just made it
	trail
}

// built is the metadata of one try and what became of it.
type built struct {
	base     *snapshot.Snapshot
	next     *snapshot.Snapshot
	draft    *draft
	list     string // its base manifest list
	index    string // its index manifest, "" where it took over that of the base
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
		sleepErr := t.c.cfg.Env.Sleep(ctx, t.c.retry.wait(retries, t.c.cfg.Env.Float64()))
		t.lap(&t.phases.Backoff)
		if sleepErr != nil {
			err = tarnerr.Wrap(tarnerr.Unavailable, "waiting to try again", sleepErr)
			break
		}
	}
	switch {
	case landed == nil && t.inDoubt():
		landed, err = t.lastLook(ctx, err)
		already = landed != nil && t.foreign(landed)
	case landed == nil:
		landed, err = t.lookEarlier(ctx, err)
		already = landed != nil
	}
	return landed, already, err
}

// tryAgain is the end of a try after which another may follow.
type tryAgain struct {
	error
	contended bool // a lost race or a compaction undone, else a failure of the atomic step
}

func again(err error) bool {
	_, ok := err.(tryAgain)
	return ok
}

// once makes one try. Its error is tryAgain when another may follow.
func (t *tries) once(ctx context.Context) (landed *snapshot.Snapshot, already bool, err error) {
	began := t.c.cfg.Env.Now()
	base, err := t.latest(ctx)
	if err != nil {
		return nil, false, err
	}
	t.newest = max(t.newest, idOf(base))
	// After the base is known, so that it is one of the table that was opened.
	if err := t.sameTable(ctx); err != nil {
		return nil, false, err
	}
	if len(t.built) == 0 {
		t.c.missing(ctx, t.report, base)
	}
	if there, err := t.isCommitted(ctx, base); there != nil || err != nil {
		t.intended = there != nil // whoever committed it may have left one
		return there, there != nil, err
	}
	if len(t.built) > 0 {
		if found, err := t.look(ctx, base); found != nil || err != nil {
			return found, found != nil && t.foreign(found), err
		}
	}
	t.lap(&t.phases.Read)
	ch, err := t.fit(ctx, base)
	if err == nil {
		ch, err = t.c.builder.tracked(base, ch)
	}
	t.lap(&t.phases.Check)
	if err != nil {
		return nil, false, beforeEffect(err)
	}
	b, err := t.build(ctx, base, ch)
	t.lap(&t.phases.Write)
	if err != nil {
		return nil, false, err
	}
	found, err := t.intend(ctx, base, b)
	t.lap(&t.phases.Intent)
	if found != nil || err != nil {
		return found, found != nil, err
	}
	if ctx.Err() != nil {
		return nil, false, tarnerr.Wrap(tarnerr.Unavailable, "publishing snapshot", ctx.Err())
	}
	if err := t.stillFollows(ctx, base, began); err != nil {
		t.note(b.next.ID, word(Unknown, false), err, t.c.cfg.Env.Now().Sub(began))
		return nil, false, err
	}
	outcome, err := t.publishOnce(ctx, b)
	t.lap(&t.phases.Publish)
	t.note(b.next.ID, word(outcome, b.doubtful), err, t.c.cfg.Env.Now().Sub(began))
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

// staleAfter is how long after it was read a base is looked at once more.
const staleAfter = time.Second

// stillFollows sees, where a try has taken its time or the process stood still,
// that the id after base has not been given out and expired meanwhile: it would be
// free again, for a snapshot that no reader finds. Retention removes the older
// first, so while base is there, what follows it is, too.
func (t *tries) stillFollows(ctx context.Context, base *snapshot.Snapshot, began time.Time) error {
	if t.c.cfg.Env.Now().Sub(began) < staleAfter {
		return nil
	}
	if base == nil {
		latest, err := t.c.snapshots.LatestID(ctx)
		if err == nil && latest > 0 {
			return tryAgain{fmt.Errorf("the table has snapshot %d by now, it had none", latest), true}
		}
		return beforeEffect(err)
	}
	there, err := t.c.snapshots.Exists(ctx, base.ID)
	if err == nil && !there {
		return tryAgain{fmt.Errorf("snapshot %d, on which it was built, is gone", base.ID), true}
	}
	return beforeEffect(err)
}

// publishOnce runs the atomic step detached from the caller: it is followed to
// its end.
func (t *tries) publishOnce(ctx context.Context, b *built) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.c.cfg.PublishTimeout)
	defer cancel()
	outcome, err := t.c.publisher.Publish(ctx, Publication{
		Table: t.c.cfg.Table, TableUUID: t.c.cfg.TableUUID, Branch: t.c.cfg.Place.Branch, Base: b.base, Next: b.next, Partitions: b.draft.partitions,
	})
	if outcome != Unknown {
		return outcome, nil
	}
	if err == nil {
		err = tarnerr.New(tarnerr.Ambiguous, "publishing snapshot", "the publisher does not know", "snapshot", b.next.ID)
	}
	b.doubtful = b.doubtful || inDoubt(err) // of a try before on the same id
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

// word is an outcome as reports show it.
func word(outcome Outcome, doubtful bool) string {
	if outcome == Unknown && !doubtful {
		return "failed"
	}
	return outcome.String()
}

// note writes a try into the report and tells the listener.
func (t *tries) note(id int64, outcome string, err error, elapsed time.Duration) {
	cause := ""
	if err != nil {
		cause = err.Error()
	}
	t.tried++
	t.report.Attempts = append(t.report.Attempts, Attempt{Snapshot: id, Outcome: outcome, Cause: cause, Elapsed: elapsed})
	t.c.cfg.Listener.Emit(event.AttemptEnd{
		Table: t.c.cfg.Table, User: t.req.User, Snapshot: id, Number: t.tried, Outcome: outcome, Err: err, Elapsed: elapsed,
	})
}

// build makes the metadata of a try on base. A try on the base of the one
// before publishes the same bytes again.
func (t *tries) build(ctx context.Context, base *snapshot.Snapshot, ch change) (*built, error) {
	if n := len(t.built); n > 0 && t.built[n-1].next != nil && sameSnapshot(t.built[n-1].base, base) && t.built[n-1].draft.change.same(&ch) {
		t.built = append(t.built, t.built[n-1])
		return t.built[n-1], nil
	}
	builder, wait := t.c.builder.beside()
	b, err := t.buildWith(ctx, builder, base, ch)
	if syncErr := wait(); err == nil {
		err = syncErr
	}
	return b, beforeEffect(err)
}

func (t *tries) buildWith(ctx context.Context, builder *builder, base *snapshot.Snapshot, ch change) (*built, error) {
	d, err := t.draftOf(ctx, builder, ch)
	if err != nil {
		return nil, err
	}
	b := &built{base: base, draft: d}
	t.built = append(t.built, b)
	return b, builder.build(ctx, t, b)
}

// draftOf writes the manifests of a change, or takes those of a try before.
func (t *tries) draftOf(ctx context.Context, builder *builder, ch change) (*draft, error) {
	for _, d := range t.drafts {
		if d.delta != "" && d.change.same(&ch) {
			d.change.index = ch.index // the index manifest is not part of a draft
			return d, nil
		}
	}
	d := &draft{change: ch}
	t.drafts = append(t.drafts, d)
	return d, builder.draft(ctx, d)
}

// beforeEffect is err as the failure it is for the commit: what fails before the
// publish certainly did not commit, however unsure the storage is about a file.
func beforeEffect(err error) error {
	if err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return tarnerr.Wrap(tarnerr.Unavailable, "preparing snapshot", err)
	}
	return err
}

// isCommitted finds the snapshot of this commit, before anything was tried, when
// it is the latest or lies just below the compaction of the same commit: a
// stream's identifier commits once (INV-COMMIT-2).
func (t *tries) isCommitted(ctx context.Context, latest *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if t.begun || latest == nil || t.req.Identifier == snapshot.BatchIdentifier || latest.CommitUser != t.req.User || latest.CommitIdentifier != t.req.Identifier {
		return nil, nil
	}
	id := identity{user: t.req.User, identifier: t.req.Identifier, kind: t.work.change.kind}
	if id.matches(latest) {
		return latest, nil
	}
	if id.kind == snapshot.Compact || latest.CommitKind != snapshot.Compact {
		return nil, nil
	}
	return t.c.latestOf(ctx, t.req.User, latest, 0, id.matches)
}

func idOf(s *snapshot.Snapshot) int64 {
	if s == nil {
		return 0
	}
	return s.ID
}

func (t *tries) identity() identity {
	id := identity{user: t.req.User, identifier: t.req.Identifier, kind: t.work.change.kind}
	for _, d := range t.drafts {
		id.deltas = append(id.deltas, d.delta)
	}
	if t.earlier != nil {
		id.deltas = append(id.deltas, t.earlier.identity().deltas...)
	}
	return id
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
	if !t.inDoubt() && t.earlier == nil {
		return nil, nil
	}
	found, err := search(ctx, t.c.snapshots, t.identity(), t.first, latest)
	if found != nil || err != nil {
		return found, err
	}
	t.readTo = idOf(latest)
	for _, b := range t.built {
		if b.next != nil && b.next.ID <= idOf(latest) {
			b.doubtful = false
		}
	}
	return nil, nil
}

// foreign reports that a snapshot of this commit was not made by these tries:
// another process has committed the same identifier.
func (t *tries) foreign(found *snapshot.Snapshot) bool { return t.draftIn(found) == nil }

// draftIn is the draft that a snapshot was made of, nil when it is of another commit.
func (t *tries) draftIn(s *snapshot.Snapshot) *draft {
	for _, d := range t.drafts {
		if d.delta == deltaOf(s) {
			return d
		}
	}
	return nil
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
			t.newest = max(t.newest, idOf(latest))
			found, err = t.look(ctx, latest)
		}
		if found != nil {
			return found, nil
		}
	}
	if err == nil && !t.inDoubt() {
		if kind := tarnerr.KindOf(cause); kind == tarnerr.Ambiguous || kind == tarnerr.CommitStateUnknown {
			// It is known by now: others hold the ids that were tried.
			cause = tarnerr.Wrap(tarnerr.Contention, "publishing snapshot", cause, "snapshot", idOf(t.base)+1).
				WithHint("Other writers were faster. Commit again later.")
		}
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
	if again, ok := last.(tryAgain); ok && !again.contended {
		return tarnerr.Trace("publishing snapshot", again.error, "attempts", retries+1, "elapsed", elapsed.Round(time.Millisecond))
	}
	if t.refused(last) { // a compaction was undone each time, and came back
		return tarnerr.Trace("publishing snapshot", last.(tryAgain).error, "attempts", retries+1, "elapsed", elapsed.Round(time.Millisecond))
	}
	return tarnerr.Wrap(tarnerr.Contention, "publishing snapshot", last,
		"attempts", retries+1, "elapsed", elapsed.Round(time.Millisecond), "snapshot", idOf(t.base)+1).
		WithHint("Other writers were faster each time. Commit again later, write with fewer committers, or raise commit.max-retries and commit.max-retry-wait.")
}

// refused reports the end of a try that a conflict ended.
func (t *tries) refused(err error) bool {
	again, ok := err.(tryAgain)
	return ok && tarnerr.KindOf(again.error) == tarnerr.Conflict
}

func (t *tries) intent() intent {
	files := t.work.change.files
	i := intent{Record: commitlog.Record{
		User: t.req.User, Identifier: t.req.Identifier, Kind: t.work.change.kind, Base: t.first,
		Files: make([]string, 0, len(files)), Millis: t.start.UnixMilli(),
	}}
	if t.earlier != nil {
		i.Base, i.Earlier = min(i.Base, t.earlier.Base), t.earlier.identity().deltas
	}
	for _, d := range t.drafts {
		if i.Delta != "" {
			i.Earlier = append(i.Earlier, i.Delta)
		}
		i.Delta = d.delta
	}
	for _, e := range files {
		i.Files = append(i.Files, e.File.FileName)
	}
	return i
}

// intend makes the intent durable before the first publish, and again before one
// of another draft or on an older base. When an earlier process left one for this commit, it first
// finds out what became of that: the snapshot when it has landed.
func (t *tries) intend(ctx context.Context, latest *snapshot.Snapshot, b *built) (*snapshot.Snapshot, error) {
	if t.intended && b.draft.intended && t.first >= t.promised {
		return nil, nil
	}
	mine := t.intent()
	b.draft.intended, t.promised = true, t.first
	if t.intended {
		return nil, beforeEffect(t.c.intents.replace(ctx, mine))
	}
	t.intended = true // from here on there may be one
	earlier, err := t.c.intents.record(ctx, mine)
	t.asked, t.earlier = err == nil, earlier
	if err != nil || earlier == nil {
		return nil, beforeEffect(err)
	}
	found, err := t.c.became(ctx, earlier, latest)
	if found != nil || err != nil {
		t.intended = err == nil // one in doubt is kept
		return found, err
	}
	// A request of that process may still be under way: its name stays on record.
	return nil, beforeEffect(t.c.intents.replace(ctx, t.intent()))
}
