package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// lookEarlier is asked when these tries have certainly failed: a process before
// this one may have tried the same commit and died, or not have known. Its
// snapshot is returned when it has landed; when nobody can tell, the commit is
// in doubt however certain this failure is.
func (t *tries) lookEarlier(ctx context.Context, cause error) (*snapshot.Snapshot, error) {
	if t.gone || t.req.First || tarnerr.KindOf(cause) == tarnerr.CommitStateUnknown {
		return nil, cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.c.cfg.PublishTimeout)
	defer cancel()
	if !t.asked {
		i, err := t.c.intents.read(ctx, t.intent())
		if err != nil {
			t.intended = false // it may be another's
			return nil, t.unsure(cause, err)
		}
		if i != nil && t.wrote(i) {
			i = nil
		}
		t.earlier = i
	}
	if t.earlier == nil {
		return nil, cause
	}
	t.intended = false // until it is resolved it stays
	latest, err := t.c.snapshots.Latest(ctx)
	if err != nil {
		return nil, t.unsure(cause, err)
	}
	found, err := t.c.became(ctx, t.earlier, latest)
	switch {
	case found != nil:
		t.intended = true
		return found, nil
	case t.earlier.failed():
		return nil, cause
	case err != nil:
		return nil, t.unsure(cause, err)
	case !t.begun || idOf(latest) <= t.first:
		// A request of that process may still be under way to the next id.
		return nil, t.unsure(cause, tarnerr.New(tarnerr.Ambiguous, "resolving commit", "an earlier try may still land", "snapshot", idOf(latest)+1))
	}
	t.intended = true
	return nil, cause
}

// wrote reports that an intent is of these tries.
func (t *tries) wrote(i *intent) bool {
	for _, d := range t.drafts {
		if d.delta != "" && d.delta == i.Delta {
			return true
		}
	}
	return false
}

// unsure is the error of a commit that failed for a cause, while nobody can tell
// what became of an earlier process's tries.
func (t *tries) unsure(cause, why error) error {
	return tarnerr.Wrap(tarnerr.CommitStateUnknown, "resolving commit of an earlier process", why,
		"intent", t.intent().path(t.c.cfg.Place), "cause", cause).
		WithHint("Keep all files and repeat nothing; commit the same messages again under the same user and identifier, which first finds out what became of this commit.")
}
