//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

// does runs a script that must succeed.
func (w *world) does(script string) {
	w.Helper()
	if _, err := w.db.Run(context.Background(), script, nil); err != nil {
		w.Fatal(err)
	}
}

func TestTablesInSQL(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Database: "default"})
	w.does("CREATE DATABASE IF NOT EXISTS shop; CREATE DATABASE `other`; CREATE DATABASE IF NOT EXISTS default; USE shop;" +
		"CREATE TABLE orders (id BIGINT COMMENT 'the key', dt STRING, status STRING DEFAULT 'NEW', price DECIMAL(10, 2), PRIMARY KEY (dt, id) NOT ENFORCED)" +
		" COMMENT 'it''s orders' PARTITIONED BY (dt) WITH ('bucket' = '1', 'write-only' = 'true')")
	w.wants("SHOW DATABASES", "default\nother\nshop\n")
	w.wants("SHOW TABLES", "orders\n")
	w.wants("SHOW TABLES FROM other", "")
	w.wants("DESCRIBE orders", "id,BIGINT,false,primary,null,the key\ndt,STRING,false,\"primary, partition\",null,null\nstatus,STRING,true,null,NEW,null\nprice,\"DECIMAL(10, 2)\",true,null,null,null\n")

	w.does("INSERT INTO orders VALUES (1, 'mon', 'PAID', 1.5), (2, 'tue', NULL, '2.25'); INSERT INTO shop.`orders` (dt, price, ID) SELECT 'mon', price * 10, id + 2 FROM orders WHERE id = 1")
	w.wants("SELECT * FROM orders ORDER BY id", "1,mon,PAID,1.50\n2,tue,NEW,2.25\n3,mon,NEW,15.00\n")
	w.does("INSERT INTO orders VALUES ((1 + 3), concat('m', 'on'), DEFAULT, 7), (5, 'tue', 'x,)', '8.25')")
	w.wants("SELECT * FROM orders WHERE id > 3 ORDER BY id", "4,mon,NEW,7.00\n5,tue,\"x,)\",8.25\n")
	w.wants("SHOW PARTITIONS orders", "dt=mon\ndt=tue\n")
	r, err := w.db.Exec(context.Background(), "INSERT INTO orders SELECT * FROM orders WHERE id > 100")
	if err != nil || r.Count != 0 || r.Report != nil {
		t.Errorf("an insert of nothing: %+v, %v", r, err)
	}
	w.wants("SELECT max(snapshot_id) FROM orders$snapshots", "3\n")

	// The statement that SHOW CREATE TABLE gives makes the same table.
	created, err := text(w.db, "SHOW CREATE TABLE orders")
	if err != nil {
		t.Fatal(err)
	}
	created = strings.ReplaceAll(strings.Trim(strings.TrimSpace(created), `"`), `""`, `"`)
	w.does("ALTER TABLE orders RENAME TO kept; " + created)
	again, err := text(w.db, "SHOW CREATE TABLE orders")
	if err != nil || strings.ReplaceAll(strings.Trim(strings.TrimSpace(again), `"`), `""`, `"`) != created || !strings.Contains(created, "'write-only' = 'true'") {
		t.Errorf("%v: %s\nwant:\n%s", err, again, created)
	}
	w.does("ALTER TABLE kept SET ('write-only' = 'false', 'snapshot.num-retained.max' = '70')")
	w.wants("SELECT value FROM kept$options WHERE key = 'snapshot.num-retained.max'", "70\n")
	w.does("ALTER TABLE kept RESET ('snapshot.num-retained.max')")
	w.wants("SELECT count(*) FROM kept$options WHERE key = 'snapshot.num-retained.max'", "0\n")
	w.does("DROP TABLE kept; DROP TABLE IF EXISTS kept; DROP DATABASE other; DROP DATABASE IF EXISTS other; DROP DATABASE shop CASCADE")
	w.wants("SHOW DATABASES", "default\n")

	// Columns whose names differ in case alone, or are those that casts use.
	w.does("CREATE DATABASE shop; CREATE TABLE twins (a INT, \"A\" STRING, c0 INT, \"q\"\"r\" INT); INSERT INTO twins SELECT 1, 2, 3, 4")
	w.refuses("SELECT count(*) FROM twins", tarnerr.Unsupported, "a, A", "RENAME COLUMN \"A\"", "LINE 1")
	w.does("CREATE TABLE inner_twins (r ROW<a INT, \"A\" INT>)")
	w.refuses("SELECT * FROM inner_twins", tarnerr.Unsupported, "r.a, r.A")
	w.wants("SELECT min_value_stats FROM twins$files", "\"{A=2, a=1, c0=3, q\"\"r=4}\"\n")
}

func TestWhatIsRefused(t *testing.T) {
	w := shop(t)
	w.refuses("INSERT INTO orders VALUES (1, 'x')", tarnerr.Invalid, "as many columns", "have=2 need=3", "id, status, version")
	w.refuses("INSERT INTO orders (id, nope) VALUES (1, 'x')", tarnerr.Invalid, "no such column", "column=nope")
	w.refuses("INSERT INTO orders\nVALUES ('one', 'x', 1)", tarnerr.Invalid, "Could not convert string 'one'")
	w.refuses("INSERT INTO orders SELECT 'one', 'x', 1", tarnerr.Invalid, "Could not convert string 'one'", "column id", "LINE 1: INSERT INTO orders SELECT 'one'")
	w.refuses("INSERT INTO orders\nVALUES (1, 'x', z)", tarnerr.Invalid, "\n  LINE 2: VALUES (1, 'x', z)\n                          ^")
	w.refuses("INSERT INTO orders (status) VALUES ('x')", tarnerr.Invalid, "NOT NULL")
	w.refuses("INSERT INTO ordrs VALUES (1)", tarnerr.NotFound, "Did you mean orders?", "LINE 1: INSERT INTO ordrs")
	w.refuses("INSERT INTO orders$files VALUES (1)", tarnerr.Unsupported, "writing to a system table")
	w.refuses("CREATE TABLE orders (a INT)", tarnerr.AlreadyExists)
	w.refuses("CREATE TABLE t (a INT, b NOPE)", tarnerr.Invalid, "NOPE", "LINE 1: CREATE TABLE t (a INT, b NOPE)\n                                   ^")
	w.refuses("CREATE CATALOG c WITH ('type' = 'paimon')", tarnerr.Unsupported, "CREATE CATALOG", "LINE 1: CREATE CATALOG c WITH")
	w.refuses("DELETE FROM orders", tarnerr.Unsupported, "DELETE")
	w.refuses("USE shpo", tarnerr.NotFound, "Did you mean shop?")
	w.refuses("SHOW PARTITIONS orders", tarnerr.Invalid, "not partitioned")
	w.wants("SELECT count(*) FROM orders", "3\n")

	db := w.open(tarnsql.Options{ReadOnly: true, Database: "shop", TempDir: t.TempDir()})
	defer db.Close()
	for _, sql := range []string{"INSERT INTO orders VALUES (1, 'x', 1)", "DROP TABLE orders", "ALTER TABLE orders SET ('a' = 'b')", "CREATE DATABASE x"} {
		if _, err := db.Exec(context.Background(), sql); tarnerr.KindOf(err) != tarnerr.Denied {
			t.Errorf("%s of a DB for reading only: %v", sql, err)
		}
	}
	if got, err := text(db, "SELECT count(*) FROM orders"); got != "3\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRunStopsAtTheFirstError(t *testing.T) {
	w := shop(t)
	var seen []string
	ran, err := w.db.Run(context.Background(), "SELECT 1;\n USE shop;;\nSELECT * FROM nope; SELECT 2", func(r *tarnsql.Result) error {
		seen = append(seen, r.Statement)
		return nil
	})
	if ran != 2 || fmt.Sprint(seen) != "[SELECT USE]" || !strings.Contains(fmt.Sprint(err), "LINE 3: SELECT * FROM nope; SELECT 2\n                        ^") {
		t.Errorf("%d %v %v", ran, seen, err)
	}
	stop := errors.New("enough")
	if ran, err := w.db.Run(context.Background(), "SELECT 1; SELECT 2", func(*tarnsql.Result) error { return stop }); ran != 0 || err != stop {
		t.Errorf("%d, %v", ran, err)
	}
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Exec(context.Background(), "SELECT 1"); tarnerr.KindOf(err) != tarnerr.Closed {
		t.Errorf("after close: %v", err)
	}
}

// TestInsertLosesNothing: what DuckDB's casts would leave out or make up is refused.
func TestInsertLosesNothing(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	w.does("CREATE TABLE t (d DATE, s TIMESTAMP(3), n TIMESTAMP(9), z TIMESTAMP_LTZ(6), r ROW<a INT, b STRING>, l ARRAY<ROW<a INT>>)")
	for _, column := range []string{"d", "s", "n", "z"} {
		for _, value := range []string{"infinity", "-infinity"} {
			w.refuses("INSERT INTO t ("+column+") VALUES ('"+value+"')", tarnerr.Invalid, "infinity", "column="+column)
		}
	}
	w.refuses("INSERT INTO t (d) SELECT CASE WHEN range < 9 THEN DATE '2024-01-01' ELSE 'infinity' END FROM range(10)", tarnerr.Invalid, "column=d")
	for _, value := range []string{"{'a': 1, 'zz': 2}", "{'a': 1, 'b': 'x', 'c': NULL}", "struct_pack(zz := 1)"} {
		w.refuses("INSERT INTO t (r) VALUES ({'a': 1, 'b': 'x'}), ("+value+")", tarnerr.Invalid, "member=", "column=r", "LINE 1")
		w.refuses("INSERT INTO t (r) SELECT "+value, tarnerr.Invalid, "member=", "column=r")
		w.refuses("INSERT INTO t (l) VALUES (["+value+"])", tarnerr.Invalid, "member=", "column=l")
	}
	w.refuses("INSERT INTO t (r) VALUES ((SELECT {'a': 1, 'zz': 2} FROM t LIMIT 1))", tarnerr.Invalid, "member=zz")
	w.does("INSERT INTO t (r) VALUES ({'a': 1}), ({'B': 'x'}), (row(3, 'y')), (NULL), ({'a': 9007199254740993 - 9007199254740990, 'b': 1.5})")
	w.wants("SELECT r FROM t ORDER BY r.a, r.b", "\"{\"\"a\"\":1,\"\"b\"\":null}\"\n\"{\"\"a\"\":3,\"\"b\"\":\"\"1.5\"\"}\"\n\"{\"\"a\"\":3,\"\"b\"\":\"\"y\"\"}\"\n\"{\"\"a\"\":null,\"\"b\"\":\"\"x\"\"}\"\nnull\n")
}
