package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tarnlake/tarn/internal/systable"
)

// lookupTime bounds how long a press of Tab waits for the catalog.
const lookupTime = 3 * time.Second

// sqlWords completes what is typed in the shell.
type sqlWords struct {
	query func(ctx context.Context, sql string) ([][]string, error)
	known map[string][]string // what a query gave, until a statement has run
	funcs []string            // DuckDB's, which do not change
}

// forget drops the names that a statement may have changed.
func (w *sqlWords) forget() {
	if w != nil {
		w.known = nil
	}
}

// names are the first column of a query, none when it fails.
func (w *sqlWords) names(ctx context.Context, sql string) []string {
	if names, ok := w.known[sql]; ok {
		return names
	}
	rows, err := w.query(ctx, sql)
	if err != nil {
		return nil // what cannot be listed is not completed
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r[0]
	}
	if w.known == nil {
		w.known = map[string][]string{}
	}
	w.known[sql] = names
	return names
}

func (w *sqlWords) catalogs(ctx context.Context) []string { return w.names(ctx, "SHOW CATALOGS") }

// otherCatalogs are the catalogs where there are several, and names need them.
func (w *sqlWords) otherCatalogs(ctx context.Context) []string {
	if all := w.catalogs(ctx); len(all) > 1 {
		return all
	}
	return nil
}

func (w *sqlWords) databases(ctx context.Context) []string { return w.names(ctx, "SHOW DATABASES") }

func (w *sqlWords) tables(ctx context.Context, database []string) []string {
	if len(database) == 0 {
		return w.names(ctx, "SHOW TABLES")
	}
	return w.names(ctx, "SHOW TABLES FROM "+quotedName(database))
}

func (w *sqlWords) columns(ctx context.Context, table []string) []string {
	return w.names(ctx, "DESCRIBE "+quotedName(table))
}

// functions are those that can be called by name.
func (w *sqlWords) functions(ctx context.Context) []string {
	if w.funcs == nil {
		rows, err := w.query(ctx, `SELECT DISTINCT function_name FROM duckdb_functions()
			WHERE function_type IN ('scalar', 'aggregate', 'macro') AND regexp_full_match(function_name, '[a-z][a-z0-9_]*')
			AND function_name NOT LIKE 'pg\_%' ESCAPE '\' AND function_name NOT LIKE '\_\_%' ESCAPE '\' ORDER BY ALL`)
		if err != nil {
			return nil
		}
		for _, r := range rows {
			w.funcs = append(w.funcs, r[0]+"(")
		}
	}
	return w.funcs
}

// candidates are what the word before cursor can become; they replace the text
// from from to cursor.
func (w *sqlWords) candidates(ctx context.Context, text string, cursor int) (from int, out []string) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	if strings.HasPrefix(text, `\`) {
		return w.commandCandidates(ctx, text[:cursor])
	}
	word := wordBefore(text, cursor)
	if word.none {
		return cursor, nil
	}
	return word.start, w.complete(ctx, word, scopeOf(text, word.start, cursor))
}

// complete finds the candidates by what stands before the word.
func (w *sqlWords) complete(ctx context.Context, word sqlWord, scope []tableInScope) []string {
	var out matches
	switch {
	case len(word.path) > 0:
		for _, t := range scope {
			if len(word.path) == 1 && strings.EqualFold(t.visible(), word.path[0]) {
				out.names(word, w.columns(ctx, t.path))
			}
		}
		if len(out.found) == 0 || word.place != placeColumn {
			out.names(word, w.tables(ctx, word.path))
			out.systemTables(word, w.tables(ctx, word.path))
		}
		if len(out.found) == 0 {
			out.names(word, w.columns(ctx, word.path))
		}
	case word.place == placeCatalog:
		out.names(word, w.catalogs(ctx))
	case word.place == placeDatabase:
		out.names(word, w.databases(ctx))
		out.names(word, w.otherCatalogs(ctx))
	case word.place == placeTable:
		out.names(word, w.tables(ctx, nil))
		out.systemTables(word, w.tables(ctx, nil))
		out.names(word, w.databases(ctx))
		out.names(word, w.otherCatalogs(ctx))
		out.keywords(word, "IF EXISTS", "IF NOT EXISTS", "VALUES", "SELECT")
	default:
		for _, t := range scope {
			out.names(word, w.columns(ctx, t.path))
		}
		if word.prefix == "" {
			break // everything would be on offer
		}
		for _, t := range scope {
			out.names(word, []string{t.visible()})
		}
		out.keywords(word, sqlKeywords()...)
		out.functions(word, w.functions(ctx))
		out.names(word, w.tables(ctx, nil))
	}
	return out.found
}

// commandCandidates complete a command of the shell and what it takes.
func (w *sqlWords) commandCandidates(ctx context.Context, text string) (from int, out []string) {
	name, arg, spaced := strings.Cut(text, " ")
	if !spaced {
		for _, c := range shellCommands() {
			if strings.HasPrefix(c.name, text) {
				out = append(out, c.name)
			}
		}
		return 0, out
	}
	from = len(name) + 1
	var list []string
	switch name {
	case `\o`:
		list = []string{"table", "jsonl", "csv"}
	case `\x`:
		list = []string{layoutOn, layoutOff, layoutAuto}
	case `\timing`, `\pager`:
		list = []string{"on", "off"}
	case `\h`:
		for _, s := range statementSyntax {
			list = append(list, s.name)
		}
	case `\i`:
		return from, filesLike(arg)
	case `\d`, `\c`, `\dt`:
		word := wordBefore("USE "+arg, len("USE "+arg))
		if name == `\d` {
			word.place = placeTable
		}
		if word.none {
			return len(text), nil
		}
		word.start += from - len("USE ")
		if name == `\c` && len(word.path) > 0 {
			return word.start, nil
		}
		return word.start, w.complete(ctx, word, nil)
	}
	for _, l := range list {
		if len(arg) <= len(l) && strings.EqualFold(l[:len(arg)], arg) {
			out = append(out, l)
		}
	}
	return from, out
}

// filesLike are the files that a path can become; directories end with a slash.
func filesLike(prefix string) (out []string) {
	dir, name := filepath.Split(prefix)
	entries, err := os.ReadDir(first(dir, "."))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || name == "" && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := dir + e.Name()
		if e.IsDir() {
			path += string(filepath.Separator)
		}
		out = append(out, path)
	}
	return out
}

// matches gathers candidates, each once.
type matches struct{ found []string }

func (m *matches) add(word sqlWord, shown, plain string) {
	if len(plain) < len(word.prefix) || !strings.EqualFold(plain[:len(word.prefix)], word.prefix) || slices.Contains(m.found, shown) {
		return
	}
	m.found = append(m.found, shown)
}

// names adds names, in quotes where they need them.
func (m *matches) names(word sqlWord, names []string) {
	for _, n := range names {
		m.add(word, word.written(n), n)
	}
}

// systemTables adds the system tables of the table that the word names before its $.
func (m *matches) systemTables(word sqlWord, tables []string) {
	table, _, ok := strings.Cut(word.prefix, "$")
	if !ok || !slices.ContainsFunc(tables, func(t string) bool { return strings.EqualFold(t, table) }) {
		return
	}
	for _, n := range systable.Names() {
		m.add(word, word.written(table+"$"+n), table+"$"+n)
	}
}

func (m *matches) keywords(word sqlWord, keywords ...string) {
	if word.quote != 0 {
		return
	}
	small := strings.ContainsFunc(word.prefix, unicode.IsLower)
	for _, k := range keywords {
		if small {
			k = strings.ToLower(k)
		}
		m.add(word, k, k)
	}
}

func (m *matches) functions(word sqlWord, functions []string) {
	if word.quote != 0 {
		return
	}
	for _, f := range functions {
		m.add(word, f, f)
	}
}

// sqlKeywords are those that statements are made of.
func sqlKeywords() []string {
	return strings.Fields(`ADD AFTER ALL ALTER AND ANTI AS ASC ASOF AT BETWEEN BY CASCADE CASE CAST CATALOG CATALOGS COLUMN COLUMNS COMMENT
		CREATE CROSS CURRENT DATABASE DATABASES DEFAULT DESC DESCRIBE DISTINCT DROP ELSE END ENFORCED EXCEPT EXCLUDE EXISTS EXPLAIN
		EXTENDED FALSE FETCH FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS
		JOIN KEY LAST LATERAL LEFT LIKE LIMIT MODIFY NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PARTITIONED
		PARTITIONS PIVOT POSITIONAL PRECEDING PRIMARY QUALIFY RANGE RECURSIVE RENAME REPLACE RESET RIGHT ROLLUP ROWS SELECT SEMI SET SHOW
		SIMILAR TABLE TABLES TABLESAMPLE TBLPROPERTIES THEN TO TRUE UNBOUNDED UNION UNPIVOT USE USING VALUES VERSION WHEN WHERE WINDOW WITH
		BIGINT BINARY BOOLEAN CHAR DATE DECIMAL DOUBLE FLOAT INT SMALLINT STRING TIME TIMESTAMP TINYINT VARBINARY VARCHAR`)
}

// reservedWords are no names unless they stand in quotes.
func reservedWords() []string {
	return strings.Fields(`ALL AND ANTI ANY ARRAY AS ASC ASOF ASYMMETRIC AT BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS DEFAULT
		DEFERRABLE DESC DESCRIBE DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM FULL GROUP HAVING ILIKE IN INITIALLY INNER
		INTERSECT INTO IS JOIN LAMBDA LATERAL LEADING LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER PIVOT PLACING
		POSITIONAL PRIMARY QUALIFY REFERENCES RETURNING RIGHT SELECT SEMI SET SHOW SIMILAR SOME SUMMARIZE SYMMETRIC TABLE TABLESAMPLE
		THEN TO TRAILING TRUE UNION UNIQUE UNPIVOT USING VALUES VARIADIC WHEN WHERE WINDOW WITH`)
}

func isReserved(word string) bool { return slices.Contains(reservedWords(), strings.ToUpper(word)) }
