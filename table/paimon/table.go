package paimon

import (
	"context"
	"iter"
	"maps"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Table is a Paimon table pinned to one schema. Safe for concurrent use.
type Table struct {
	components Components
	commits    Commits // what the catalog does for commits
	name       table.Identifier
	place      layout.Table
	schema     *schema.Schema
	options    option.Options
	arrow      *arrow.Schema
	snapshots  *snapshot.Store
	schemas    *schema.Store
	// committer opens the commit stage once, so that commits through one table queue up.
	committer func() (*commit.Committer, error)
	// reading opens the manifests once, so that schemas of manifests, which take
	// longer to parse than small manifests, are parsed once.
	reading func() (*manifest.Store, error)
	tracked bool // rows are read with their ids and sequence numbers
}

var _ table.Table = (*Table)(nil)

// Open opens the table in dir with its latest schema, or the system table of it
// that name asks for. NotFound when there is no schema. A table with an option
// that this version would have to know to read it right is refused as
// Unsupported; its system tables are not.
func Open(ctx context.Context, c Components, name table.Identifier, dir string) (table.Table, error) {
	const op = "opening table"
	t := &Table{components: c, name: name, place: layout.Table{Dir: dir, Branch: name.Branch}}
	if c.Groups == nil {
		t.components.Groups = &commit.Groups{}
	}
	if c.Formats == nil {
		t.components.Formats = formats.NewSet()
	}
	if c.Commits != nil {
		t.commits = c.Commits(name, t.place)
	}
	t.snapshots = snapshot.NewStore(c.FileIO, t.place).WithEnv(c.Env)
	t.schemas = schema.NewStore(c.FileIO, t.place.BranchDir(), c.Env)
	s, err := t.schemas.Latest(ctx)
	if err != nil {
		return nil, trace(op, err, name)
	}
	t.schema = s
	t.committer = sync.OnceValues(t.newCommitter)
	t.reading = sync.OnceValues(t.manifests)
	if name.System != "" && name.System != systable.RowTracking {
		return openSystem(t)
	}
	if err := option.CheckRead(s.Options, t.traits()); err != nil {
		return nil, trace(op, err, name)
	}
	if t.options, err = option.Parse(s.Options); err != nil {
		return nil, trace(op, err, name)
	}
	if t.arrow, err = types.ArrowSchema(s.Fields); err != nil {
		return nil, trace(op, err, name)
	}
	if name.System != "" {
		return openTracking(t)
	}
	return t, nil
}

func (t *Table) traits() option.Table { return option.Table{PrimaryKey: t.schema.HasPrimaryKey()} }

// Name implements table.Table.
func (t *Table) Name() table.Identifier { return t.name }

// Location implements table.Table.
func (t *Table) Location() string { return t.components.FileIO.URI(t.place.Dir) }

// Schema implements table.Table.
func (t *Table) Schema() *schema.Schema { return t.schema }

// ArrowSchema implements table.Table.
func (t *Table) ArrowSchema() *arrow.Schema { return t.arrow }

// Snapshot implements table.Table.
func (t *Table) Snapshot(ctx context.Context, id int64) (*table.Snapshot, error) {
	const op = "reading snapshot"
	if id < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "snapshot ids begin with 1", "table", t.name, "snapshot", id)
	}
	if id > 0 {
		s, err := t.snapshots.Get(ctx, id)
		return s, trace(op, err, t.name)
	}
	s, err := t.snapshots.Latest(ctx)
	if err == nil && s == nil {
		return nil, tarnerr.New(tarnerr.NotFound, op, "the table has no snapshot yet", "table", t.name).
			WithHint("Nothing was committed to it.")
	}
	return s, trace(op, err, t.name)
}

// Snapshots implements table.Table.
func (t *Table) Snapshots(ctx context.Context) iter.Seq2[*table.Snapshot, error] {
	return func(yield func(*table.Snapshot, error) bool) {
		for s, err := range t.snapshots.All(ctx) {
			if !yield(s, wayOut(err)) {
				return
			}
		}
	}
}

// with returns the table under the dynamic options of one read or write.
func (t *Table) with(dynamic map[string]string) (*Table, error) {
	if len(dynamic) == 0 {
		return t, nil
	}
	const op = "applying dynamic options"
	for key, value := range dynamic {
		if now, set := t.schema.Options[key]; set && now == value {
			continue
		}
		if k, known := option.Lookup(key); key == "path" || known && (k.Immutable || k.Name == "bucket" || k.Name == "type") {
			return nil, tarnerr.New(tarnerr.Invalid, op, "the option belongs to the table and cannot change for one read or write", "table", t.name, "option", key, "value", value).
				WithHint("Alter the table, or create another.")
		}
	}
	s := *t.schema
	s.Options = maps.Clone(s.Options)
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	maps.Copy(s.Options, dynamic)
	// First, so that a combination is not judged by what this version makes of an
	// option that it does not know.
	if err := option.CheckRead(s.Options, t.traits()); err != nil {
		return nil, trace(op, err, t.name)
	}
	if err := s.Validate(); err != nil {
		return nil, trace(op, err, t.name)
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		return nil, trace(op, err, t.name)
	}
	u := *t
	u.schema, u.options = &s, o
	u.committer = sync.OnceValues(u.newCommitter)
	return &u, nil
}

func (t *Table) warn(doing string, err error) {
	if err != nil {
		t.components.Events.Emit(event.Warning{Table: t.name.String(), Doing: doing, Err: err})
	}
}
