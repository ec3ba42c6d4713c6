//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnsql"
	"github.com/tarnlake/tarn/types"
)

// The 22 queries over append tables and over key tables, whose rows partly had an
// earlier version, give what they give over the same rows in tables of DuckDB.
func TestTPCH(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Memory: 1 << 30})
	w.does("CREATE DATABASE plain; CREATE DATABASE keyed")
	for _, table := range tpchTables() {
		rows := "SELECT * FROM (" + table.rows + ") AS t (" + table.names() + ")"
		if err := tarnsql.PlainExec(w.db, "CREATE TABLE "+table.name+" ("+table.columns+"); INSERT INTO "+table.name+" "+rows); err != nil {
			t.Fatal(err)
		}
		older := "SELECT * REPLACE (" + table.older + ") FROM (" + rows + ") WHERE hash(" + table.key + ") % 8 = 0"
		w.does("CREATE TABLE plain." + table.name + " (" + table.columns + ");" +
			"INSERT INTO plain." + table.name + " " + rows + ";" +
			"CREATE TABLE keyed." + table.name + " (" + table.columns + ", PRIMARY KEY (" + table.key + ") NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true');" +
			"INSERT INTO keyed." + table.name + " " + older + ";" +
			"INSERT INTO keyed." + table.name + " " + rows)
		sum := "SELECT count(*), sum(hash(t)) FROM "
		want, _, err := result(tarnsql.Plain(context.Background(), w.db, sum+table.name+" t"))
		if err != nil {
			t.Fatal(err)
		}
		w.wants(sum+"plain."+table.name+" t", want)
		w.wants(sum+"keyed."+table.name+" t", want)
	}
	files, err := filepath.Glob("testdata/tpch/q*.sql")
	if err != nil || len(files) != 22 {
		t.Fatalf("%d queries: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			sql, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := result(tarnsql.Plain(context.Background(), w.db, string(sql)))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Trim(want, "nul,\n") == "" {
				t.Errorf("no rows, or nulls alone: %q", want)
			}
			for _, database := range []string{"plain", "keyed"} {
				w.does("USE " + database)
				got, fields, err := result(w.db.Query(context.Background(), string(sql)))
				if err != nil {
					t.Fatal(err)
				}
				if d := different(got, want, fields); d != "" {
					t.Errorf("%s tables: %s", database, d)
				}
			}
		})
	}
}

// result are all rows of a query as CSV, and its columns.
func result(rows *tarnsql.Rows, err error) (string, []types.Field, error) {
	if err != nil {
		return "", nil, err
	}
	text, err := drain(context.Background(), rows, rows.Fields())
	return text, rows.Fields(), errors.Join(err, rows.Close())
}

// different says where two results differ, row by row; "" when they do not. What
// is DOUBLE comes of a division or an average: its last digits depend on the
// order of the rows.
func different(got, want string, fields []types.Field) string {
	g, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	n, otherErr := csv.NewReader(strings.NewReader(want)).ReadAll()
	if err := errors.Join(err, otherErr); err != nil {
		return err.Error()
	}
	if len(g) != len(n) {
		return fmt.Sprintf("%d rows, want %d", len(g), len(n))
	}
	for i := range g {
		for c, f := range fields {
			if !sameCell(f.Type, g[i][c], n[i][c]) {
				return fmt.Sprintf("row %d, %s: %s, want %s", i+1, f.Name, g[i][c], n[i][c])
			}
		}
	}
	return ""
}

func sameCell(t types.Type, a, b string) bool {
	if a == b || t.Root != types.Double {
		return a == b
	}
	x, err := strconv.ParseFloat(a, 64)
	y, otherErr := strconv.ParseFloat(b, 64)
	return err == nil && otherErr == nil && math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}
