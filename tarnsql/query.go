//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"strconv"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// pinAttempts bounds how often the references to a table are planned until all
// of them see one snapshot while others commit.
const pinAttempts = 20

// query runs a SELECT. With into, its columns are cast to those of a table.
func (db *DB) query(ctx context.Context, source *edited, into []types.Field) (*Rows, error) {
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
	}
	if err := pin(ctx, found); err != nil {
		return nil, err
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
	return q.start()
}

// explainPrefix cuts EXPLAIN from a query.
func explainPrefix(source *edited) (string, *edited) {
	tokens := sqltext.Lex(source.text)
	if len(tokens) < 2 || !tokens[0].Is("EXPLAIN") {
		return "", source
	}
	prefix, at := "EXPLAIN", tokens[1].Start
	if tokens[1].Is("ANALYZE") && len(tokens) > 2 {
		prefix, at = "EXPLAIN ANALYZE", tokens[2].Start
	}
	return prefix, source.apply([]edit{{0, at, ""}})
}

// resolve opens the tables that a query names, each once.
func (db *DB) resolve(ctx context.Context, found *survey) error {
	opened := map[table.Identifier]table.Table{}
	for _, r := range found.references {
		t, err := db.lookup(ctx, r.parts, opened)
		if err != nil {
			return withPlace(err, found.source, r.from)
		}
		s := &scan{table: t, fields: t.Schema().Fields, system: t.Name().System != ""}
		if r.version != "" {
			if s.snapshot, err = strconv.ParseInt(r.version, 10, 64); err != nil || s.snapshot < 1 {
				return withPlace(tarnerr.New(tarnerr.Invalid, "reading query", "snapshot ids begin with 1", "version", r.version), found.source, r.from)
			}
			at, err := t.SchemaAt(ctx, s.snapshot)
			if err != nil {
				return withPlace(err, found.source, r.from)
			}
			s.fields = at.Fields
		}
		r.scan = s
	}
	return nil
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
			if s.snapshot != 0 {
				continue
			}
			var id int64
			if p.Snapshot != nil {
				id = p.Snapshot.ID
			}
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
