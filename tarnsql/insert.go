//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// insertion is where the columns of an INSERT go.
type insertion struct {
	fields []types.Field // of the query's columns, in their order
	fixed  []types.Field // of the values of PARTITION (…)
}

// columnError is an error about a column that stands at a place.
type columnError struct {
	error
	at int
}

// placeColumn shows the place of an error: a column's, or the one given.
func placeColumn(err error, source *edited, otherwise int) error {
	var at *columnError
	if errors.As(err, &at) {
		return withPlace(at.error, source, at.at)
	}
	return placeUnlessPlaced(err, source, otherwise)
}

// insertColumns finds the columns that an INSERT names.
func insertColumns(t table.Table, c sqltext.Insert) (*insertion, error) {
	s := t.Schema()
	out := &insertion{}
	taken := map[string]bool{}
	find := func(n sqltext.Name) (types.Field, error) {
		fail := func(cause string) (types.Field, error) {
			return types.Field{}, &columnError{tarnerr.New(tarnerr.Invalid, "inserting rows", cause, "table", t.Name(), "column", n.Text), n.At}
		}
		f, ok := foldedField(s.Fields, n.Text)
		switch {
		case !ok:
			return fail("no such column")
		case taken[f.Name]:
			return fail("the column is named twice")
		}
		taken[f.Name] = true
		return f, nil
	}
	for _, p := range c.Partition {
		f, err := find(p.Column)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(s.PartitionKeys, f.Name) {
			return nil, &columnError{tarnerr.New(tarnerr.Invalid, "inserting rows", "the column is no partition key", "table", t.Name(), "column", f.Name), p.Column.At}
		}
		out.fixed = append(out.fixed, f)
	}
	if c.Columns == nil {
		for _, f := range s.Fields {
			if !taken[f.Name] {
				out.fields = append(out.fields, f)
			}
		}
		return out, nil
	}
	for _, n := range c.Columns {
		f, err := find(n)
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, f)
	}
	return out, nil
}

// prefix makes edits that leave the query of an INSERT, and select the values of
// PARTITION (…) as they stand before it, behind its columns.
func (in *insertion) prefix(c sqltext.Insert, end int) []edit {
	if c.Partition == nil {
		return []edit{{0, c.QueryAt, ""}}
	}
	edits := []edit{{0, c.Partition[0].ValueAt, "SELECT *, CAST("}}
	for i, p := range c.Partition {
		after := p.ValueAt + len(p.Value)
		cast := " AS " + castName(in.fixed[i].Type) + ")"
		if i == len(c.Partition)-1 {
			edits = append(edits, edit{after, c.QueryAt, cast + " FROM ("})
		} else {
			edits = append(edits, edit{after, c.Partition[i+1].ValueAt, cast + ", CAST("})
		}
	}
	return append(edits, edit{end, end, "\n)"})
}

// insert writes the rows of a query and returns when they are committed.
func (db *DB) insert(ctx context.Context, source *edited, c sqltext.Insert) (out *Result, err error) {
	const op = "inserting rows"
	var report *table.CommitReport
	defer func() { uncommitted(ctx, "INSERT", report, err) }()
	t, err := db.lookup(ctx, c.Name.Parts, opened{})
	if err != nil {
		return nil, withPlace(err, source, c.Name.At)
	}
	if t.Name().System != "" {
		return nil, withPlace(tarnerr.New(tarnerr.Unsupported, op, "writing to a system table", "table", t.Name()).WithHint("Write to the table itself."), source, c.Name.At)
	}
	into, err := insertColumns(t, c)
	if err != nil {
		return nil, placeColumn(err, source, c.Name.At)
	}
	// What is wrong with the rows and has no place of its own is wrong with the query.
	place := func(err error) error {
		if tarnerr.KindOf(err) == tarnerr.Invalid {
			return placeUnlessPlaced(err, source, c.QueryAt)
		}
		return err
	}
	edits, structs := castValues(source.text, c.QueryAt, into.fields)
	if edits, err = db.castStructs(edits, structs, source); err != nil {
		return nil, err
	}
	edits = append(edits, into.prefix(c, len(source.text))...)
	rows, err := db.query(ctx, source.apply(edits), append(into.fields, into.fixed...))
	if err != nil {
		return nil, place(err)
	}
	defer rows.Close()
	opts := table.WriteOptions{}
	if c.Overwrite {
		only, err := partitionOf(t, c.Partition)
		if err != nil {
			return nil, placeColumn(err, source, c.Name.At)
		}
		opts.Overwrite = &table.Overwrite{Partition: only}
	}
	w, err := t.NewBatchWrite(ctx, opts)
	if err != nil {
		return nil, placeUnlessPlaced(err, source, c.Name.At)
	}
	defer w.Close()
	out = &Result{Statement: "INSERT"}
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
			return nil, place(tarnerr.Trace(op, err))
		}
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	if out.Count == 0 && !c.Overwrite {
		return out, nil
	}
	if report, err = w.Commit(ctx); err != nil {
		return nil, tarnerr.Trace(op, err, "table", t.Name())
	}
	out.Report = report
	return out, nil
}

// uncommitted says in the error of a statement whose context ended that nothing
// came of it, where that is so.
func uncommitted(ctx context.Context, statement string, report *table.CommitReport, err error) {
	var e *tarnerr.Error
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) || !errors.As(err, &e) || e.Hint != "" ||
		e.Kind == tarnerr.CommitStateUnknown || report != nil && len(report.Snapshots) > 0 {
		return
	}
	e.Hint = "Nothing of this " + statement + " was committed."
}

// writtenValue is a value of VALUES (…) with the column that it goes to.
type writtenValue struct {
	field    types.Field
	from, to int // bytes of the text
}

// cast makes edits that cast the value to its column.
func (v writtenValue) cast() []edit {
	return []edit{{v.from, v.from, "CAST("}, {v.to, v.to, " AS " + castName(v.field.Type) + ")"}}
}

// castValues casts each value of VALUES (…), (…) to its column: by itself DuckDB
// would first bring all rows to one type of its own choice, and lose digits.
// DEFAULT becomes NULL, which the table's writer replaces. Values that may have
// members are not among the edits.
func castValues(text string, at int, fields []types.Field) (edits []edit, structs []writtenValue) {
	tokens := sqltext.Lex(text)
	i := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Start == at })
	if i < 0 || !tokens[i].Is("VALUES") {
		return nil, nil
	}
	for i++; i < len(tokens) && tokens[i].Is("("); i++ {
		end := closing(tokens, i)
		if end == len(tokens) {
			return nil, nil
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
					v := writtenValue{fields[column], tokens[first].Start, tokens[k-1].End()}
					switch {
					case first == k-1 && tokens[first].Is("DEFAULT"):
						edits = append(edits, edit{v.from, v.to, "NULL"})
					case hasMembers(v.field.Type):
						structs = append(structs, v)
					default:
						edits = append(edits, v.cast()...)
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
	return edits, structs
}

// hasMembers tells whether a type is, or holds, a ROW.
func hasMembers(t types.Type) bool {
	if t.Root == types.Row || t.Root == types.Variant {
		return true
	}
	return t.Element != nil && hasMembers(*t.Element) || t.Key != nil && hasMembers(*t.Key)
}

// castStructs adds the casts of values that may have members, none of which the
// cast may leave out. Where DuckDB cannot read the values by themselves, they stay
// as they are, and the type that they share is looked at.
func (db *DB) castStructs(edits []edit, values []writtenValue, source *edited) ([]edit, error) {
	if len(values) == 0 {
		return edits, nil
	}
	conn, err := db.engine.connect()
	if err != nil {
		return nil, err
	}
	defer mapping.Disconnect(&conn)
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = source.text[v.from:v.to]
	}
	var stmt mapping.PreparedStatement
	defer mapping.DestroyPrepare(&stmt)
	if mapping.Prepare(conn, "SELECT "+strings.Join(list, ", "), &stmt) == mapping.StateError || int(mapping.PreparedStatementColumnCount(stmt)) != len(values) {
		return edits, nil
	}
	for i, v := range values {
		t := mapping.PreparedStatementColumnLogicalType(stmt, mapping.IdxT(i))
		from := newDecoder(t).out
		mapping.DestroyLogicalType(&t)
		if err := refuseStray(from, v.field); err != nil {
			return nil, withPlace(err, source, v.from)
		}
		edits = append(edits, v.cast()...)
	}
	return edits, nil
}

// partitionOf are values of partition columns as a partition's path has them. The
// default name stands for null.
func partitionOf(t table.Table, values []sqltext.PartitionValue) (map[string]string, error) {
	s := t.Schema()
	opts, err := option.Parse(s.Options)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range values {
		f, ok := foldedField(s.Select(s.PartitionKeys), v.Column.Text)
		if !ok {
			return nil, &columnError{tarnerr.New(tarnerr.Invalid, "reading partition", "the column is no partition key", "table", t.Name(), "column", v.Column.Text), v.Column.At}
		}
		if v.Text == opts.PartitionDefault {
			out[f.Name] = v.Text
			continue
		}
		value, err := types.ParseValue(f.Type, v.Text)
		if err != nil {
			return nil, &columnError{err, v.ValueAt}
		}
		out[f.Name] = types.FormatValue(f.Type, value)
	}
	return out, nil
}
