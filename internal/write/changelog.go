package write

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/run"
)

// writeChangelog writes the rows of one bucket that were taken, all of them with
// the kinds they came with, to changelog files: by key, those of a key in the order
// in which they are merged. Source: paimon-core mergetree/MergeTreeWriter.
func (w *Writer) writeChangelog(ctx context.Context, number int, rows []batch.Ref, keys *loaded, l *lane) error {
	g := w.router.groups[number]
	asm := newAssembler(w)
	out := run.NewRollingWriter(w.changes, g.dir, 0)
	err := each(ctx, w.allRows(l, number, rows, keys, g.sequence), func(rec arrow.RecordBatch) error {
		file := asm.fileColumns(rec)
		defer file.Release()
		return out.Write(ctx, file)
	})
	var files []*datafile.Meta
	if err == nil {
		files, err = out.Close(ctx)
	}
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
