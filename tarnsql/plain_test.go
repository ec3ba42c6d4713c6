//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

// plainWorld has a DB whose tables DuckDB reads by itself where it can, small as
// they are; and w.db, whose tables it never does.
func plainWorld(t *testing.T) (*world, *tarnsql.DB) {
	t.Helper()
	w := newWorld(t, tarnsql.Options{})
	plain := w.open(tarnsql.Options{Threads: 2, Database: "shop", TempDir: t.TempDir(), Allocator: w.mem})
	t.Cleanup(func() {
		if err := plain.Close(); err != nil {
			t.Error(err)
		}
	})
	tarnsql.ReadPlainFrom(plain, 1)
	return w, plain
}

// byItself is how many files of the tables in a query DuckDB reads by itself.
func byItself(t *testing.T, db *tarnsql.DB, sql string) int {
	t.Helper()
	plan, err := text(db, "EXPLAIN "+sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	all := 0
	for line := range strings.Lines(plan) {
		n := 0
		if _, err := fmt.Sscanf(line, "  DuckDB reads %d file", &n); err == nil {
			all += n
		}
	}
	return all
}

// The same rows come when DuckDB reads files by itself and when our table
// function does, also where it reads a part of them only.
func TestPlainFilesChangeNothing(t *testing.T) {
	w, plain := plainWorld(t)
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	const predicates = 50
	statements := 5
	if testing.Short() {
		statements = 1
	}
	var columns, names []string
	for _, c := range randomColumns {
		if c.typ != "TIMESTAMP(9)" { // DuckDB's reader cuts the nanoseconds of INT96
			columns, names = append(columns, c.name+" "+c.typ), append(names, c.name)
		}
	}
	list := strings.Join(names, ", ")
	r := rand.New(rand.NewPCG(11, 12))
	for i, tail := range []string{
		") WITH ('bucket' = '-1')", ") PARTITIONED BY (n)", ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '3')",
		") WITH ('file.compression' = 'snappy')", ") WITH ('parquet.block.size' = '2000')",
	} {
		source, name := fmt.Sprintf("source%d", i), fmt.Sprintf("plain%d", i)
		randomTable(w, r, source, shapes[0])
		w.does("CREATE TABLE " + name + " (id INT NOT NULL, " + strings.Join(columns, ", ") + tail)
		for part := range 3 {
			w.does(fmt.Sprintf("INSERT INTO %s SELECT id * 3 + %d, %s FROM %s WHERE id %% 3 = %d", name, part, list, source, part))
		}
		// Of a key table, buckets where a key comes again need a merge.
		w.does("INSERT INTO " + name + " SELECT * FROM " + name + " ORDER BY id LIMIT 1")
		if n := byItself(t, plain, "SELECT * FROM "+name); n == 0 && i != 2 {
			t.Errorf("%s: DuckDB reads no file by itself", name)
		}
		if n := byItself(t, w.db, "SELECT * FROM "+name); n != 0 {
			t.Errorf("%s: DuckDB reads %d files by itself where it is not to", name, n)
		}
		for range statements {
			selects := make([]string, predicates)
			for q := range selects {
				about := map[string]bool{"p": true}
				p := ""
				for about["p"] {
					clear(about)
					p = randomPredicate(r, randomColumns, 3, about)
				}
				selects[q] = fmt.Sprintf("SELECT %d AS q, t.id, t.s, t.m, t.z, t.k, t.c FROM %s t WHERE %s", q, name, p)
			}
			sql := strings.Join(selects, "\nUNION ALL ") + "\nORDER BY ALL"
			want, err := text(off, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			got, err := text(plain, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for q, s := range selects {
				if g, n := answers(got, q), answers(want, q); g != n {
					t.Fatalf("%s:\n%swant:\n%s", s, g, n)
				}
			}
		}
		for _, sql := range []string{
			"SELECT * FROM " + name + " ORDER BY ALL", "SELECT count(*) FROM " + name, "SELECT s, count(*), sum(c) FROM " + name + " GROUP BY s ORDER BY ALL",
			"FROM " + name + " AS x(key) SELECT count(key), min(x.m), max(x.z)", "SELECT count(*) FROM " + name + " a JOIN " + name + " b USING (id) WHERE a.n = 1",
			"SELECT typeof(COLUMNS(*)) FROM " + name + " LIMIT 1", "SELECT count(*) FROM (TABLE " + name + ")",
			"SELECT count(*) AS n, count(*) FROM " + name + " AS x", "SELECT count(*) OVER (PARTITION BY s) AS n FROM " + name + " ORDER BY n",
			"SELECT count(*) FILTER (WHERE id > 9) FROM " + name, "SELECT count(*) FROM " + name + " GROUP BY s ORDER BY s", "SELECT count(*) FROM " + name + " WHERE id > 9",
			"SELECT count(*) FROM " + name + " HAVING max(id) > 3", "SELECT count(*) FROM " + name + " QUALIFY row_number() OVER (ORDER BY max(id)) = 1",
			"SELECT count(*), rand FROM (SELECT 1 AS rand) u, " + name + " GROUP BY rand", "SELECT min(s), max(s), min(d), max(d), min(f + 0), max(f + 0) FROM " + name, // 0.0 and −0.0 are equal
		} {
			want, err := text(w.db, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if got, err := text(plain, sql); err != nil || got != want {
				t.Errorf("%s: %v\n%swant:\n%s", sql, err, got, want)
			}
		}
	}
}

// Only files that hold the columns wanted as the table has them, and whose rows
// are all there are of their keys, are read as they stand.
func TestWhichFilesArePlain(t *testing.T) {
	w, plain := plainWorld(t)
	does := func(sql string) {
		t.Helper()
		w.does(sql)
	}
	same := func(sql string, files int) {
		t.Helper()
		want, err := text(w.db, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		got, err := text(plain, sql)
		if err != nil || got != want {
			t.Errorf("%s: %v\n%swant:\n%s", sql, err, got, want)
		}
		if n := byItself(t, plain, sql); n != files {
			t.Errorf("%s: DuckDB reads %d files by itself, want %d", sql, n, files)
		}
	}
	does("CREATE TABLE heap (a INT, b STRING, c TIMESTAMP(3)); INSERT INTO heap VALUES (1, 'x', TIMESTAMP '1969-12-31 23:59:59.999')")
	same("SELECT * FROM heap", 1)
	does("ALTER TABLE heap RENAME COLUMN b TO label; INSERT INTO heap VALUES (2, 'y', NULL)")
	same("SELECT a, label, c FROM heap ORDER BY a", 2)
	same("SELECT * FROM heap AT (VERSION => 1)", 1)
	does("ALTER TABLE heap ADD COLUMN d BIGINT; INSERT INTO heap VALUES (3, 'z', NULL, 5)")
	same("SELECT * FROM heap ORDER BY a", 1) // the others do not have d
	same("SELECT a FROM heap ORDER BY a", 1)
	does("CREATE TABLE nested (a INT, b ARRAY<INT>); INSERT INTO nested VALUES (1, [2])")
	same("SELECT * FROM nested", 0)
	does("CREATE TABLE keyed (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1'); INSERT INTO keyed VALUES (1, 'a'), (2, 'b')")
	same("SELECT * FROM keyed ORDER BY k", 1)
	same("SELECT * FROM keyed WHERE k = 2", 0)
	same("SELECT * FROM keyed WHERE k IN (1, 2) AND v > 'a'", 0)
	same("SELECT * FROM keyed WHERE k > 1", 1)
	does("INSERT INTO keyed VALUES (2, 'c')")
	same("SELECT * FROM keyed ORDER BY k", 0)
	same("SELECT * FROM keyed AT (VERSION => 1) ORDER BY k", 1)
	does(`CREATE TABLE odd ("a""b" INT, "sel ect" STRING, A INT); INSERT INTO odd VALUES (1, 'x''y', 2)`)
	same("SELECT * FROM odd", 1)
	does("CREATE TABLE parts (p STRING, v INT) PARTITIONED BY (p); INSERT INTO parts VALUES ('a', 1), ('it''s', 2), ('w*d', 3), ('x/y', 4)")
	same("SELECT * FROM parts ORDER BY v", 4)
	same("SELECT * FROM parts WHERE p = 'a'", 1)
}

// DuckDB reads files below the warehouse for us, but not for those who write the
// query; and it reads nothing else.
func TestPlainFilesOpenNoDoor(t *testing.T) {
	w, plain := plainWorld(t)
	w.does("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
	if got, err := text(plain, "SELECT * FROM t"); err != nil || got != "1\n" {
		t.Fatalf("%s %v", got, err)
	}
	files, err := filepath.Glob(filepath.Join(w.dir, "shop.db", "t", "bucket-0", "*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, f := range []string{
		"read_parquet('" + files[0] + "')", "PARQUET_SCAN('" + files[0] + "')", "parquet_metadata('" + files[0] + "')", "read_text('" + files[0] + "')", "glob('" + w.dir + "/*')",
		"query('SELECT 1')", "query_table('t')", "json_execute_serialized_sql('{}')", "enable_logging()", "arrow_scan(1, 2, 3)", "duckdb_secrets()", "system.main.read_blob('" + files[0] + "')",
	} {
		for _, sql := range []string{"SELECT * FROM " + f, "SELECT (SELECT count(*) FROM " + f + ")", "WITH x AS (SELECT * FROM " + f + ") SELECT * FROM x, t", "SELECT * FROM t, LATERAL (SELECT * FROM " + f + ")"} {
			if _, err := text(plain, sql); tarnerr.KindOf(err) != tarnerr.Denied {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	// A file is no table, however it is named.
	for _, from := range []string{
		"FROM '" + files[0] + "'", "TABLE \"" + files[0] + "\"", "SELECT * FROM (DESCRIBE TABLE '" + files[0] + "')", "SELECT * FROM (SUMMARIZE '" + files[0] + "')",
		"SELECT * FROM (PIVOT '" + files[0] + "' ON a USING count(*))", "SELECT * FROM (SHOW '" + files[0] + "')", "SELECT * FROM (SUMMARIZE FROM '" + files[0] + "')",
		"SELECT (TABLE '" + files[0] + "')", "SELECT * FROM t AT (TIMESTAMP => (TABLE \"" + files[0] + "\"))", "EXPLAIN FROM '" + files[0] + "'",
	} {
		if out, err := text(plain, from); err == nil || strings.Contains(err.Error(), "Conversion") {
			t.Errorf("%s: %s %v", from, out, err)
		}
	}
	for _, sql := range []string{
		"SELECT json_serialize_plan('FROM read_text(''" + files[0] + "'')')", "SELECT ('FROM t').JSON_serialize_plan()", "INSERT INTO t VALUES (length(json_serialize_plan('SELECT 1')))",
		"FROM t AT (TIMESTAMP => json_serialize_plan('SELECT 1'))", "SELECT * FROM t, tarn_scan(1)",
	} {
		if _, err := plain.Exec(t.Context(), sql); tarnerr.KindOf(err) != tarnerr.Denied {
			t.Errorf("%s: %v", sql, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(w.dir, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Skip(err)
	}
	for _, f := range []string{secret, link, w.dir + "/../" + filepath.Base(filepath.Dir(secret)) + "/secret.txt"} {
		rows, err := tarnsql.Plain(context.Background(), plain, "SELECT * FROM read_text('"+f+"')")
		if err == nil {
			_, err = drain(context.Background(), rows, rows.Fields())
			rows.Close()
		}
		if tarnerr.KindOf(err) != tarnerr.Denied {
			t.Errorf("%s: %v", f, err)
		}
	}
	for _, sql := range []string{"SET enable_external_access = true", "SET allowed_directories = ['/']", "COPY (SELECT 1) TO '" + secret + "'"} {
		if err := tarnsql.PlainExec(plain, sql); err == nil {
			t.Errorf("%s is taken", sql)
		}
	}
}

// A warehouse behind a link is the directory behind it.
func TestPlainFilesBehindLinks(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	w.does("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
	link := filepath.Join(t.TempDir(), "lake")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Skip(err)
	}
	ctx := context.Background()
	cat, err := tarn.Open(ctx, link, tarn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	db, err := tarnsql.Open(ctx, cat, tarnsql.Options{Database: "shop", TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tarnsql.ReadPlainFrom(db, 1)
	if got, err := text(db, "SELECT * FROM t"); err != nil || got != "1\n" || byItself(t, db, "SELECT * FROM t") != 1 {
		t.Errorf("%s %v", got, err)
	}
	// A bucket that is a link out of the warehouse is read by us.
	bucket := filepath.Join(w.dir, "shop.db", "t", "bucket-0")
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(bucket, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, bucket); err != nil {
		t.Fatal(err)
	}
	if got, err := text(db, "SELECT * FROM t"); err != nil || got != "1\n" || byItself(t, db, "SELECT * FROM t") != 0 {
		t.Errorf("%s %v", got, err)
	}
	if err := os.RemoveAll(away); err != nil {
		t.Fatal(err)
	}
	if _, err := text(db, "SELECT * FROM t"); tarnerr.KindOf(err) != tarnerr.NotFound {
		t.Errorf("a file that is gone: %v", err)
	}
}
