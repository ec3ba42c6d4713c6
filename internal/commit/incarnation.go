package commit

import (
	"context"

	"github.com/tarnlake/tarn/tarnerr"
)

// sameTable refuses a commit to another table than the one that was opened:
// dropped since, and perhaps created again under its name. A table in a directory
// has no UUID, so the file of the pinned schema stands for it.
//
// It comes first in a try: what such a commit would read, write or delete after
// that belongs to the other table. The intent does, too, where one was recorded.
func (t *tries) sameTable(ctx context.Context) error {
	const op = "checking table"
	pinned := t.c.cfg.Schema.ID
	err := t.c.cfg.Schemas.Verify(ctx, pinned)
	kind := tarnerr.KindOf(err)
	if err == nil || kind != tarnerr.NotFound && kind != tarnerr.Conflict {
		return tarnerr.Trace(op, err)
	}
	t.gone, t.intended = true, false
	path := t.c.cfg.Schemas.Path(pinned)
	if kind == tarnerr.NotFound {
		return tarnerr.New(kind, op, "the schema it was opened with is gone: the table was dropped, or its schema rolled back", "path", path).
			WithHint("If there is such a table still, open it again and write the rows again.")
	}
	return tarnerr.New(kind, op, "the table was dropped and created again since it was opened", "path", path).
		WithHint("Open it again; rows that belong into the new table have to be written again.")
}
