//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// dispatch carries out a statement by its first word: DuckDB reads queries, all
// else is ours.
func (db *DB) dispatch(ctx context.Context, source *edited) (*Result, error) {
	first := ""
	if tokens := sqltext.Lex(source.text); len(tokens) > 0 {
		first = strings.ToUpper(tokens[0].Text)
	}
	switch first {
	case "SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "EXPLAIN":
		rows, err := db.query(ctx, source, nil)
		if err != nil {
			return nil, err
		}
		if first != "EXPLAIN" {
			first = "SELECT"
		}
		return &Result{Statement: first, Rows: rows}, nil
	}
	c, err := sqltext.ParseCommand(source.text)
	var syntax *sqltext.SyntaxError
	if errors.As(err, &syntax) {
		kind := tarnerr.Invalid
		if syntax.Feature {
			kind = tarnerr.Unsupported
		}
		return nil, withPlace(tarnerr.New(kind, "parsing", syntax.Why), source, syntax.At)
	}
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "running statement", err)
	}
	if shown, ok := shows(c); ok {
		rows, err := db.show(ctx, c)
		if err != nil {
			return nil, err
		}
		return &Result{Statement: shown, Rows: rows}, nil
	}
	if use, ok := c.(sqltext.Use); ok {
		return done("USE", db.use(ctx, use.Database))
	}
	if db.opts.ReadOnly {
		return nil, tarnerr.New(tarnerr.Denied, "running statement", "the DB was opened for reading only", "statement", first)
	}
	if insert, ok := c.(sqltext.Insert); ok {
		return db.insert(ctx, source, insert)
	}
	return db.change(ctx, c)
}

// use makes name the current database.
func (db *DB) use(ctx context.Context, name string) error {
	all, err := db.cat.ListDatabases(ctx)
	if err != nil {
		return err
	}
	found, ok := foldedName(all, name)
	if !ok {
		return tarnerr.New(tarnerr.NotFound, "using database", "no such database", "database", name).
			WithHint("%s", suggestion(name, all, "databases"))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.current = found
	return nil
}

// change carries out a statement that changes the catalog.
func (db *DB) change(ctx context.Context, c sqltext.Command) (*Result, error) {
	switch c := c.(type) {
	case sqltext.CreateDatabase:
		return done("CREATE DATABASE", db.cat.CreateDatabase(ctx, c.Name, c.IfNotExists))
	case sqltext.DropDatabase:
		return done("DROP DATABASE", db.cat.DropDatabase(ctx, c.Name, c.IfExists, c.Cascade))
	case sqltext.CreateTable:
		const what = "CREATE TABLE"
		id, err := db.identifier(c.Name)
		if err != nil {
			return nil, err
		}
		return done(what, db.cat.CreateTable(ctx, id, schema.Spec{
			Fields: c.Fields, PartitionKeys: c.PartitionKeys, PrimaryKeys: c.PrimaryKeys, Options: c.Options, Comment: c.Comment,
		}, c.IfNotExists))
	case sqltext.DropTable:
		id, err := db.identifier(c.Name)
		if err != nil {
			return nil, err
		}
		return done("DROP TABLE", db.cat.DropTable(ctx, id, c.IfExists))
	case sqltext.RenameTable:
		from, err := db.identifier(c.From)
		if err != nil {
			return nil, err
		}
		to := c.To
		if len(to) == 1 { // the table stays in its database
			to = []string{from.Database, to[0]}
		}
		target, err := db.identifier(to)
		if err != nil {
			return nil, err
		}
		return done("ALTER TABLE", db.cat.RenameTable(ctx, from, target))
	case sqltext.SetOptions:
		var changes []schema.Change
		for _, k := range slices.Sorted(maps.Keys(c.Options)) {
			changes = append(changes, schema.SetOption{Key: k, Value: c.Options[k]})
		}
		return db.alter(ctx, c.Name, changes)
	case sqltext.ResetOptions:
		var changes []schema.Change
		for _, k := range c.Keys {
			changes = append(changes, schema.RemoveOption{Key: k})
		}
		return db.alter(ctx, c.Name, changes)
	}
	return nil, tarnerr.New(tarnerr.Internal, "running statement", "a command that nobody carries out")
}

func (db *DB) alter(ctx context.Context, name []string, changes []schema.Change) (*Result, error) {
	id, err := db.identifier(name)
	if err != nil {
		return nil, err
	}
	return done("ALTER TABLE", db.cat.AlterTable(ctx, id, changes...))
}

func done(statement string, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return &Result{Statement: statement}, nil
}

// insert writes the rows of a query and returns when they are committed.
func (db *DB) insert(ctx context.Context, source *edited, c sqltext.Insert) (*Result, error) {
	const op = "inserting rows"
	t, err := db.lookup(ctx, c.Name, map[table.Identifier]table.Table{})
	if err != nil {
		return nil, withPlace(err, source, c.NameAt)
	}
	fields := t.Schema().Fields
	if c.Columns != nil {
		fields = nil
		for _, name := range c.Columns {
			f, ok := (&reference{scan: &scan{fields: t.Schema().Fields}}).field(name)
			if !ok {
				return nil, withPlace(tarnerr.New(tarnerr.Invalid, op, "no such column", "table", t.Name(), "column", name), source, c.NameAt)
			}
			fields = append(fields, f)
		}
	}
	rows, err := db.query(ctx, source.apply(append(castValues(source.text, c.QueryAt, fields), edit{0, c.QueryAt, ""})), fields)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out := &Result{Statement: "INSERT"}
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			out.Count += rec.NumRows()
			err = w.Write(ctx, rec)
		}
		if err != nil {
			return nil, tarnerr.Trace(op, err, "table", t.Name())
		}
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	if out.Count == 0 {
		return out, nil
	}
	if out.Report, err = w.Commit(ctx); err != nil {
		return nil, tarnerr.Trace(op, err, "table", t.Name())
	}
	return out, nil
}

// castValues casts each value of VALUES (…), (…) to its column: by itself DuckDB
// would first bring all rows to one type of its own choice, and lose digits.
// DEFAULT becomes NULL, which the table's writer replaces.
func castValues(text string, at int, fields []types.Field) []edit {
	var edits []edit
	tokens := sqltext.Lex(text)
	i := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Start == at })
	if i < 0 || !tokens[i].Is("VALUES") {
		return nil
	}
	for i++; i < len(tokens) && tokens[i].Is("("); i++ {
		end := closing(tokens, i)
		if end == len(tokens) {
			return nil
		}
		column, depth, first := 0, 0, i+1
		for k := i + 1; k <= end; k++ {
			switch t := tokens[k]; {
			case t.Is("(") || t.Is("[") || t.Is("{"):
				depth++
			case k < end && (t.Is(")") || t.Is("]") || t.Is("}")):
				depth--
			case k == end || t.Is(",") && depth == 0:
				if first < k && column < len(fields) {
					from, to := tokens[first].Start, tokens[k-1].End()
					if first == k-1 && tokens[first].Is("DEFAULT") {
						edits = append(edits, edit{from, to, "NULL"})
					} else {
						edits = append(edits, edit{from, from, "CAST("}, edit{to, to, " AS " + castName(fields[column].Type) + ")"})
					}
				}
				column++
				first = k + 1
			}
		}
		if i = end + 1; i >= len(tokens) || !tokens[i].Is(",") {
			break
		}
	}
	return edits
}

// memoryRows are rows that are not read from anywhere.
func (db *DB) memoryRows(fields []types.Field, rows [][]types.Value) (*Rows, error) {
	s, err := types.ArrowSchema(fields)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(db.engine.mem, s)
	defer b.Release()
	for _, row := range rows {
		for i, v := range row {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				return nil, err
			}
		}
	}
	rec := b.NewRecordBatch()
	return &Rows{
		fields: fields, schema: s,
		next: func(context.Context) (arrow.RecordBatch, error) {
			if rec == nil || rec.NumRows() == 0 {
				return nil, io.EOF
			}
			out := rec
			rec = nil
			return out, nil
		},
		close: func() error {
			if rec != nil {
				rec.Release()
			}
			return nil
		},
	}, nil
}
