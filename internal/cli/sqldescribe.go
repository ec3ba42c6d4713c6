package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func (s *sqlShell) listDatabases(ctx context.Context, _ string) error {
	return s.run(ctx, "SHOW DATABASES")
}

func (s *sqlShell) listTables(ctx context.Context, database string) error {
	if database == "" {
		return s.run(ctx, "SHOW TABLES")
	}
	path, err := writtenName(database)
	if err != nil {
		return err
	}
	return s.run(ctx, "SHOW TABLES FROM "+path)
}

// describe shows a table's columns, and below them what its schema and its latest
// snapshot say.
func (s *sqlShell) describe(ctx context.Context, name string) error {
	if name == "" {
		return s.listTables(ctx, "")
	}
	parts, err := nameParts(name)
	if err != nil {
		return err
	}
	if err := s.run(ctx, "DESCRIBE "+quotedName(parts)); err != nil {
		return err
	}
	if strings.Contains(parts[len(parts)-1], "$") {
		return nil // a system table has columns, and no more
	}
	system := func(table string) string {
		of := slices.Clone(parts)
		of[len(of)-1] += "$" + table
		return quotedName(of)
	}
	schema, err := s.rows(ctx, "SELECT primary_keys, partition_keys, options, comment FROM "+system("schemas")+
		" ORDER BY schema_id DESC LIMIT 1")
	if err != nil {
		return err
	}
	snapshot, err := s.rows(ctx, "SELECT snapshot_id, commit_kind, CAST(commit_time AS VARCHAR), total_record_count FROM "+system("snapshots")+
		" ORDER BY snapshot_id DESC LIMIT 1")
	if err != nil {
		return err
	}
	var b strings.Builder
	if len(schema) == 1 {
		writeSchema(&b, schema[0])
	}
	if len(snapshot) == 1 {
		rows := snapshot[0][3] + " rows"
		if rows == "1 rows" {
			rows = "1 row"
		}
		fmt.Fprintf(&b, "Latest snapshot: %s, %s of %s, %s in files\n", snapshot[0][0], snapshot[0][1], snapshot[0][2], rows)
	} else {
		b.WriteString("No snapshot yet\n")
	}
	_, err = io.WriteString(s.out, b.String())
	return outErr(err)
}

// writeSchema prints a row of $schemas, which has JSON in its columns.
func writeSchema(b *strings.Builder, row []string) {
	keys := func(title, text string) {
		var names []string
		if json.Unmarshal([]byte(text), &names) == nil && len(names) > 0 {
			fmt.Fprintf(b, "%s: %s\n", title, harmless(strings.Join(names, ", ")))
		}
	}
	keys("Primary key", row[0])
	keys("Partitioned by", row[1])
	if row[3] != "" {
		fmt.Fprintf(b, "Comment: %s\n", harmless(row[3]))
	}
	var options map[string]string
	if json.Unmarshal([]byte(row[2]), &options) == nil && len(options) > 0 {
		b.WriteString("Options:\n")
		for _, k := range slices.Sorted(maps.Keys(options)) {
			fmt.Fprintf(b, "  %s = %s\n", harmless(k), harmless(options[k]))
		}
	}
}

// rows are the rows of a query as text, nulls being empty.
func (r *sqlRunner) rows(ctx context.Context, query string) (out [][]string, err error) {
	rows, err := r.db.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for y := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for x, f := range rows.Fields() {
				if col := rec.Column(x); !col.IsNull(y) {
					row[x] = types.FormatValue(f.Type, types.ValueAt(f.Type, col, y))
				}
			}
			out = append(out, row)
		}
	}
}

// nameParts reads a name as it is written in SQL: parts with points between, in
// quotes where needed.
func nameParts(name string) ([]string, error) {
	var parts []string
	for i, t := range sqltext.Lex(name) {
		switch {
		case i%2 == 0 && (t.Kind == sqltext.Word || t.Kind == sqltext.Quoted):
			parts = append(parts, t.Name())
			continue
		case i%2 == 1 && t.Is("."):
			continue
		}
		parts = nil
		break
	}
	if len(parts) == 0 || strings.HasSuffix(name, ".") {
		return nil, tarnerr.New(tarnerr.Invalid, "reading command", "not the name of a table or database", "found", name)
	}
	return parts, nil
}

func writtenName(name string) (string, error) {
	parts, err := nameParts(name)
	return quotedName(parts), err
}

func quotedName(parts []string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		quoted[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
	}
	return strings.Join(quoted, ".")
}
