package write

import (
	"context"
	"errors"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/run"
)

// writeChangelog writes the rows of one bucket that were taken, all of them with
// the kinds they came with, to changelog files: by key, those of a key in the order
// in which they are merged. Source: paimon-core mergetree/MergeTreeWriter.
func (w *Writer) writeChangelog(ctx context.Context, g *group, rows []batch.Ref, keys *loaded, scratch *[]item) error {
	places, _ := keys.grouped(rows, scratch)
	asm := newAssembler(w)
	out := run.NewRollingWriter(w.changes, g.dir, 0)
	refs := make([]batch.Ref, 0, min(flushRows, len(places)))
	for step := flushRows; len(places) > 0; {
		n := min(step, len(places))
		refs = refs[:0]
		for _, p := range places[:n] {
			refs = append(refs, rows[p])
		}
		rec, err := asm.keyed(w.buffer.chunks, refs, places[:n], g.sequence)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err == nil {
			err = out.Write(ctx, rec)
			rec.Release()
		}
		if err != nil {
			return errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
		}
		places = places[n:]
	}
	files, err := out.Close(ctx)
	if err != nil {
		return errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
	}
	g.changelog = append(g.changelog, files...)
	return nil
}

// newChangelog says what changelog files look like.
func (w *Writer) newChangelog() error {
	if w.cfg.Changelog == nil || !w.keyed {
		return nil
	}
	spec, err := run.ChangelogSpecOf(w.cfg.Schema, &w.cfg.Options, 0)
	if err != nil {
		return err
	}
	spec.FileIO, spec.Format, spec.Env, spec.Mem = w.cfg.FileIO, w.cfg.Changelog, w.cfg.Env, w.cfg.Mem
	spec.Names, spec.Ending = w.spec.Names, w.cfg.Changelog.Name()
	w.changes = &spec
	return nil
}
