package commit

import (
	"context"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// fit is the change to make on base, held against what the table has there. A
// conflict ends the commit, unless a compaction alone is in the way and was undone.
func (t *tries) fit(ctx context.Context, base *snapshot.Snapshot) (change, error) {
	if !t.begun || idOf(base) < t.first { // after a rollback
		t.first, t.begun, t.readTo = idOf(base), true, 0
	}
	t.base = base
	t.report.Base = idOf(base)
	began := t.c.cfg.Env.Now()
	ch, live, err := t.work.on(ctx, t.c.builder, base)
	if err != nil {
		return ch, err
	}
	if t.req.Check && len(t.built) == 0 {
		if err := t.c.present(ctx, &ch); err != nil {
			return ch, err
		}
	}
	found, err := t.c.strict.look(ctx, t.c, t.req.User, ch.kind, base)
	if err != nil {
		return ch, err
	}
	if found != nil {
		return ch, t.refusal(ctx, base, &ch, found)
	}
	discard := t.c.cfg.Options.DiscardDuplicates && ch.kind == snapshot.Append
	if !ch.checked && (!discard || base == nil) || ch.empty() {
		return ch, nil
	}
	held := &baseFiles{snapshot: base, entries: live}
	if base != nil && t.work.replaces == nil {
		if held, err = t.holdAgainst(ctx, base, &ch); err != nil {
			return ch, err
		}
	}
	if discard {
		ch.files = withoutKnown(ch.files, held.entries)
	}
	found, err = t.conflictWith(ctx, base, held, &ch)
	if found == nil || err != nil {
		return ch, err
	}
	refusal := t.refusal(ctx, base, &ch, found)
	again, err := t.makeRoom(ctx, base, &ch)
	if err != nil {
		return ch, err
	}
	if again {
		t.note(base.ID+1, "rolled back", refusal, t.c.cfg.Env.Now().Sub(began))
		return ch, tryAgain{refusal, true}
	}
	return ch, refusal
}

// withoutKnown leaves out the files that are there already (P9).
func withoutKnown(files, there []manifest.Entry) []manifest.Entry {
	var ids manifest.Identities
	known := make(map[manifest.Identity]bool, len(there))
	for i := range there {
		known[ids.Of(&there[i])] = true
	}
	var out []manifest.Entry
	for i := range files {
		if !known[ids.Of(&files[i])] {
			out = append(out, files[i])
		}
	}
	return out
}

// conflictWith holds a change against files read from base.
func (t *tries) conflictWith(ctx context.Context, base *snapshot.Snapshot, held *baseFiles, ch *change) (*conflict, error) {
	b := t.c.builder
	s := situation{kind: ch.kind, keys: b.keys, expired: b.expired()}
	if !ch.changesVectors() && !b.unaware {
		s.base, s.delta = pairedWith(held.entries, nil), pairedWith(ch.files, nil)
		return s.find(), nil
	}
	index, err := b.indexOf(ctx, base)
	if err != nil {
		return nil, err
	}
	if c := missingVectors(index, ch.index); c != nil {
		return c, nil
	}
	if !b.unaware {
		s.base, s.delta = pairedWith(held.entries, nil), pairedWith(ch.files, nil)
		return s.find(), nil
	}
	vectors, c := vectorsOf(index)
	if c != nil {
		return c, nil
	}
	s.base = pairedWith(held.entries, vectors)
	if s.delta, c = pairDelta(s.base, ch.files, ch.index); c != nil {
		return c, nil
	}
	return s.find(), nil
}
