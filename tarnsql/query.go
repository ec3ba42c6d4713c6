//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"strings"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// pinAttempts bounds how often the references to a table are planned until all
// of them see one snapshot while others commit.
const pinAttempts = 20

// query runs a SELECT. With into, its columns are cast to those of a table.
func (db *DB) query(ctx context.Context, source *edited, into []types.Field) (*Rows, error) {
	began := db.engine.env.Now()
	prefix, source := explainPrefix(source)
	tree, err := db.engine.serialize(ctx, source)
	if err != nil {
		return nil, err
	}
	found, err := examine(source, tree)
	if err != nil {
		return nil, err
	}
	if err := db.resolve(ctx, found); err != nil {
		return nil, err
	}
	if !db.opts.NoPushdown {
		found.push(db.engine.zone)
		found.count(tree)
	}
	if err := pin(ctx, found); err != nil {
		return nil, err
	}
	for _, r := range found.references {
		if r.scan.counted {
			r.scan.tell()
		} else {
			db.engine.plain.take(ctx, r.scan)
		}
	}
	st, cancel := db.engine.newStatement(ctx)
	text := found.rewrite(func(r *reference) int64 { return st.add(r.scan) })
	if prefix != "" {
		text = text.wrap(prefix+" ", "")
	}
	q, err := st.prepare(text, cancel)
	if err != nil {
		return nil, err
	}
	q.into = into
	planning := db.engine.env.Now().Sub(began)
	rows, err := q.start()
	if err == nil {
		rows.planning = planning
		if prefix != "" {
			db.addTables(rows, found)
		}
	}
	return rows, err
}

// resolve opens the tables that a query names, each once.
func (db *DB) resolve(ctx context.Context, found *survey) error {
	seen := opened{}
	for _, r := range found.references {
		t, err := db.lookup(ctx, r.parts, seen)
		if err != nil {
			return withPlace(err, found.source, r.from)
		}
		if at, _, err := db.target(r.parts); err == nil {
			r.catalog = at.catalog
		}
		r.scan = &scan{table: t, fields: t.Schema().Fields, schema: t.Schema().ID, system: t.Name().System != ""}
		if r.travel != nil {
			if r.scan.snapshot, err = db.travelTo(ctx, found.source, r); err != nil {
				return placeUnlessPlaced(err, found.source, r.travel.from)
			}
			at, err := t.SchemaAt(ctx, r.scan.snapshot)
			if err != nil {
				return withPlace(err, found.source, r.from)
			}
			r.scan.fields, r.scan.schema = at.Fields, at.ID
		}
		if one, other, ok := twins(r.scan.fields); ok {
			return withPlace(tarnerr.New(tarnerr.Unsupported, "reading table", "columns whose names differ in case alone, in SQL", "table", t.Name(), "columns", one+", "+other).
				WithHint("Rename one: ALTER TABLE … RENAME COLUMN %s TO …; `tarn table read` takes them as they are.", quoteName(other)), found.source, r.from)
		}
	}
	return nil
}

// twins finds two fields whose names differ in case alone, of a table or inside its
// columns. DuckDB takes one for the other.
func twins(fields []types.Field) (one, other string, ok bool) {
	seen := map[string]string{}
	for _, f := range fields {
		name := strings.ToLower(f.Name)
		if seen[name] != "" {
			return seen[name], f.Name, true
		}
		seen[name] = f.Name
		if one, other, ok = twins(inside(f.Type)); ok {
			return f.Name + "." + one, f.Name + "." + other, true
		}
	}
	return "", "", false
}

// pin plans every reference, so that all that name one table see one snapshot of it.
func pin(ctx context.Context, found *survey) error {
	for range pinAttempts {
		seen := map[table.Table]int64{}
		agreed := true
		for _, r := range found.references {
			s := r.scan
			if s.system {
				continue
			}
			p, err := s.table.Plan(ctx, table.Scan{Where: s.where, SnapshotID: s.snapshot})
			if err != nil {
				return withPlace(err, found.source, r.from)
			}
			s.splits, s.rows = p.Splits, 0
			for _, split := range p.Splits {
				s.rows += split.RowCount()
			}
			if r.pinned = s.snapshot; r.pinned != 0 {
				continue
			}
			var id int64
			if p.Snapshot != nil {
				id = p.Snapshot.ID
			}
			r.pinned = id
			if first, ok := seen[s.table]; ok && first != id {
				agreed = false
			}
			seen[s.table] = id
		}
		if agreed {
			return nil
		}
	}
	return tarnerr.New(tarnerr.Contention, "planning query", "the table changed each time it was planned", "attempts", pinAttempts).
		WithHint("Name a snapshot with AT (VERSION => n).")
}
