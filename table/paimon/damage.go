package paimon

import (
	"context"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// trace says in an error what was done with which table, and the way out.
func trace(op string, err error, name table.Identifier, kv ...any) error {
	if err == nil {
		return nil
	}
	return wayOut(tarnerr.Trace(op, err, append([]any{"table", name}, kv...)...))
}

// wayOut says in an error of a damaged or lost file what to do about it, unless
// a layer below knew better. Those that find the damage do not know whose file it is.
func wayOut(err error) error {
	e, ok := err.(*tarnerr.Error)
	if !ok || e.Kind != tarnerr.Corrupt && e.Kind != tarnerr.NotFound || tarnerr.Hint(err) != "" {
		return err
	}
	file, _ := tarnerr.Attribute(err, "path")
	hint := remedy(e.Kind, file)
	if hint == "" {
		return err
	}
	said := *e // others may hold the same error
	said.Hint = hint
	return &said
}

func remedy(kind tarnerr.Kind, file any) string {
	p, _ := file.(string)
	dir := path.Base(path.Dir(p))
	switch {
	case kind == tarnerr.Corrupt && dir == "consumer":
		return "Reset the consumer to a snapshot, or delete it."
	case kind == tarnerr.Corrupt:
		return "Restore the file from a copy, or read an earlier snapshot that does without it."
	case dir == "manifest" || dir == "index" || strings.HasPrefix(dir, layout.BucketPrefix):
		return "If the snapshot expired meanwhile, begin again; else restore the file from a copy, or read an earlier snapshot that does without it."
	}
	return ""
}

// reader says the way out in the errors of another.
type reader struct{ batch.Reader }

func (r reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := r.Reader.Next(ctx)
	return rec, wayOut(err)
}

// scanReader tells files that are gone since their snapshot has expired from lost ones.
type scanReader struct {
	batch.Reader
	of       *Table
	snapshot int64 // the oldest that is read, 0 = none
}

func (r scanReader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := r.Reader.Next(ctx)
	return rec, wayOut(r.of.sinceExpired(ctx, r.snapshot, err))
}

// sinceExpired is Expired for a file that is not found because the snapshot that needed
// it has gone meanwhile; any other error is itself.
func (t *Table) sinceExpired(ctx context.Context, id int64, err error) error {
	if err == nil || id == 0 || tarnerr.KindOf(err) != tarnerr.NotFound {
		return err
	}
	if _, gone := t.snapshots.Get(ctx, id); tarnerr.KindOf(gone) != tarnerr.Expired {
		return err
	}
	return tarnerr.Wrap(tarnerr.Expired, "reading snapshot", err, "snapshot", id).
		WithHint("It expired while it was read: begin again, or keep snapshots longer (snapshot.time-retained, a consumer, a tag).")
}

// oldest is the oldest snapshot of splits, 0 when there are none.
func oldest(splits []*split.Split) (id int64) {
	for _, s := range splits {
		if id == 0 || s.SnapshotID < id {
			id = s.SnapshotID
		}
	}
	return id
}
