//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/types"
)

// explainPrefix cuts EXPLAIN, in the words of DuckDB, Flink or Spark, from a query.
func explainPrefix(source *edited) (string, *edited) {
	tokens := sqltext.Lex(source.text)
	if len(tokens) < 2 || !tokens[0].Is("EXPLAIN") {
		return "", source
	}
	prefix, skip := "EXPLAIN", 1
	switch {
	case tokens[1].Is("ANALYZE"):
		prefix, skip = "EXPLAIN ANALYZE", 2
	case tokens[1].Is("EXTENDED"), tokens[1].Is("FORMATTED"):
		skip = 2
	case len(tokens) > 2 && tokens[1].Is("PLAN") && tokens[2].Is("FOR"):
		skip = 3
	}
	if skip >= len(tokens) {
		return "", source
	}
	return prefix, source.apply([]edit{{0, tokens[skip].Start, ""}})
}

// addTables adds a row to those of EXPLAIN that says what is read of each table.
func (db *DB) addTables(rows *Rows, found *survey) {
	if len(found.references) == 0 || len(rows.fields) != 2 {
		return
	}
	var b strings.Builder
	for _, r := range found.references {
		r.describe(&b)
	}
	inner, told := rows.next, false
	rows.next = func(ctx context.Context) (arrow.RecordBatch, error) {
		rec, err := inner(ctx)
		if err != io.EOF || told {
			return rec, err
		}
		told = true
		last, err := db.memoryRows(rows.fields, [][]types.Value{{"tables", b.String()}})
		if err != nil {
			return nil, err
		}
		return last.next(ctx)
	}
}

// describe writes what is read for a reference.
func (r *reference) describe(b *strings.Builder) {
	b.WriteString(r.scan.table.Name().String())
	if r.alias != "" {
		b.WriteString(" AS " + r.alias)
	}
	switch {
	case r.scan.system:
		b.WriteString("\n  a system table\n")
		return
	case r.pinned == 0:
		b.WriteString("\n  no snapshot yet\n")
		return
	}
	files := 0
	for _, s := range r.scan.splits {
		files += s.Files()
	}
	b.WriteString("\n  snapshot " + strconv.FormatInt(r.pinned, 10) + ": " + count(len(r.scan.splits), "split") + ", " +
		count(files, "file") + ", at most " + count(int(r.scan.rows), "row") + "\n")
	if n := r.scan.plain.files; n > 0 {
		b.WriteString("  DuckDB reads " + count(n, "file") + " by itself: no row of " + count(int(r.scan.plain.rows), "row") + " needs a merge\n")
	}
	if r.scan.counted {
		b.WriteString("  counted without a look at them: " + count(int(r.scan.told), "row") + "\n")
	}
	if r.scan.where != nil {
		b.WriteString("  pushed down: " + predicateText(r.scan.where, r.scan.fields, false) + "\n")
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// predicateText writes a predicate as SQL.
func predicateText(e expr.Expr, fields []types.Field, inner bool) string {
	switch e := e.(type) {
	case expr.Compare:
		return e.Column + " " + e.Op.String() + " " + valueText(e.Column, e.Value, fields)
	case expr.In:
		list := make([]string, len(e.Values))
		for i, v := range e.Values {
			list[i] = valueText(e.Column, v, fields)
		}
		return e.Column + " IN (" + strings.Join(list, ", ") + ")"
	case expr.IsNull:
		return e.Column + " IS NULL"
	case expr.Prefix:
		return e.Column + " LIKE " + quoteText(e.Prefix+"%")
	case expr.Not:
		return "NOT (" + predicateText(e.Child, fields, false) + ")"
	case expr.And:
		return listText(e, " AND ", fields, inner)
	case expr.Or:
		return listText(e, " OR ", fields, inner)
	}
	return "?"
}

func listText(list []expr.Expr, between string, fields []types.Field, inner bool) string {
	if len(list) == 1 {
		return predicateText(list[0], fields, inner)
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = predicateText(e, fields, true)
	}
	text := strings.Join(texts, between)
	if inner {
		text = "(" + text + ")"
	}
	return text
}

func valueText(column string, v types.Value, fields []types.Field) string {
	switch v := v.(type) {
	case string:
		return quoteText(v)
	case expr.Number:
		return string(v)
	}
	f, _ := foldedField(fields, column)
	text := types.FormatValue(f.Type, v)
	if f.Type.Root >= types.Date && f.Type.Root <= types.TimestampLTZ {
		return quoteText(text)
	}
	return text
}
