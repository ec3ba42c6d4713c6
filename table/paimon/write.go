package paimon

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// writing is what batch and stream writes have in common.
type writing struct {
	table     *Table // under the dynamic options of the write
	opts      table.WriteOptions
	user      string
	writer    *write.Writer
	committer *commit.Committer
	over      error // why nothing more can be written or committed
}

// newWriting opens the write stage and, so that a storage that cannot commit is
// refused before rows are written to it, the commit stage.
func (t *Table) newWriting(ctx context.Context, op string, opts table.WriteOptions) (*writing, error) {
	t, err := t.with(opts.Options)
	if err != nil {
		return nil, err
	}
	if err := option.CheckWrite(t.schema.Options, t.traits()); err != nil {
		return nil, trace(op, err, t.name)
	}
	w := &writing{table: t, opts: opts, user: opts.User}
	if w.user == "" {
		w.user = t.drawUser()
	}
	if w.committer, err = t.committer(); err != nil {
		return nil, err
	}
	if err := w.committer.Prove(ctx); err != nil {
		return nil, trace(op, err, t.name)
	}
	format, err := t.components.Formats.ByName(t.options.FormatAt(0))
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	manifests, err := t.reading()
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	c := t.components
	if c.Pool == nil {
		c.Pool = write.NewPool(c.Budget, c.Workers)
	}
	rewriter, err := t.compactor(opts, c)
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	restore := write.NewRestorer(t.snapshots, manifests)
	switch {
	case opts.Overwrite != nil:
		restore = afresh{} // only its own files are there to compact, too
	case rewriter != nil:
		restore = write.NewFileRestorer(t.snapshots, manifests)
	}
	var changelog fileformat.Format
	if t.options.Changelog.Producer == "input" && opts.Overwrite == nil {
		if changelog, err = t.components.Formats.ByName(t.options.ChangelogFormatAt(0)); err != nil {
			return nil, trace(op, err, t.name)
		}
	}
	w.writer, err = write.New(write.Config{
		Table: t.name.String(), FileIO: c.FileIO, Place: t.place, Schema: t.schema, Options: t.options,
		Format: format, Changelog: changelog, Restore: restore, Env: c.Env,
		Pool: c.Pool, Spill: c.Spill, Compact: rewriter, Mem: c.Alloc, Workers: c.Workers, Listener: c.Events,
	})
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	return w, nil
}

// compactor rewrites files beside a write; nil where nothing is compacted. The
// commit of an overwrite has no changelog, so that none is written.
func (t *Table) compactor(opts table.WriteOptions, c Components) (*compact.Rewriter, error) {
	if !t.compactsBeside() {
		return nil, nil
	}
	options := t.options
	if opts.Overwrite != nil {
		options.Changelog.Producer = "none"
	}
	return compact.New(compact.Config{
		Table: t.name.String(), FileIO: c.FileIO, Place: t.place, Schema: t.schema, Options: options,
		Format: c.Formats.ByName, SchemaByID: t.schemas.Get, Env: c.Env, Budget: c.Budget, Spill: c.Spill, Lookups: c.Lookups, Mem: c.Alloc,
		Workers: c.Workers, Listener: c.Events,
	})
}

func (t *Table) compactsBeside() bool { return t.schema.HasPrimaryKey() && !t.options.WriteOnly }

// CompactFully implements table.BatchWrite and table.StreamWrite.
func (w *writing) CompactFully() error {
	const op = "asking for full compaction"
	if w.over != nil {
		return trace(op, w.over, w.table.name)
	}
	if !w.table.compactsBeside() {
		return tarnerr.New(tarnerr.Unsupported, op, "this write compacts nothing", "table", w.table.name,
			"primary key", w.table.schema.HasPrimaryKey(), "write-only", w.table.options.WriteOnly).
			WithHint("Compact the table with Table.Compact or `tarn table compact`, or set write-only=false for the write.")
	}
	w.writer.CompactFully()
	return nil
}

// Write implements table.BatchWrite and table.StreamWrite.
func (w *writing) Write(ctx context.Context, rows arrow.RecordBatch) error {
	if w.over != nil {
		return trace("writing batch", w.over, w.table.name)
	}
	return trace("writing batch", w.writer.Write(ctx, rows), w.table.name)
}

func (w *writing) prepare(ctx context.Context) ([]*commitmsg.Message, error) {
	const op = "preparing commit"
	if w.over != nil {
		return nil, trace(op, w.over, w.table.name)
	}
	m, err := w.writer.Prepare(ctx)
	return m, trace(op, err, w.table.name)
}

// commit commits messages that this write has prepared and that never landed: files of
// a compaction that cannot land now are nobody's.
func (w *writing) commit(ctx context.Context, identifier int64, messages []*commitmsg.Message, first bool) (*table.CommitReport, error) {
	report, err := w.table.commit(ctx, w.committer, table.Committable{
		User: w.user, Identifier: identifier, Watermark: w.opts.Watermark, Properties: w.opts.Properties, Overwrite: w.opts.Overwrite,
	}, messages, first)
	if report != nil && report.Compaction != "" {
		w.table.warn("removing files of a failed compaction", w.discard(ctx, commit.Compactions(messages)))
	}
	return report, err
}

// discard removes the files of messages that certainly are not committed.
func (w *writing) discard(ctx context.Context, messages []*commitmsg.Message) error {
	return w.committer.AbortMessages(context.WithoutCancel(ctx), messages)
}

// end says that the write is over; the first reason stays.
func (w *writing) end(why string) {
	if w.over == nil {
		w.over = tarnerr.New(tarnerr.Closed, "using write", why).WithHint("Start another write.")
	}
}
