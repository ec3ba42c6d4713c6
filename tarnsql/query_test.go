//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

func shop(t *testing.T) *world {
	w := newWorld(t, tarnsql.Options{})
	orders := w.table("orders", "id BIGINT NOT NULL, status STRING, version BIGINT", "id", map[string]string{"bucket": "2"})
	w.write(orders, `{"id":1,"status":"CREATED","version":1}`+"\n"+`{"id":2,"status":"CREATED","version":1}`)
	w.write(orders, `{"id":1,"status":"PAID, in full already","version":2}`+"\n"+`{"id":3,"status":null,"version":1}`)
	items := w.table("Items", "order_id BIGINT, what STRING", "", nil)
	w.write(items, `{"order_id":1,"what":"tea"}`+"\n"+`{"order_id":1,"what":"cup"}`+"\n"+`{"order_id":3,"what":"pot"}`)
	return w
}

func TestSelect(t *testing.T) {
	w := shop(t)
	const paid = `1,"PAID, in full already",2` + "\n"
	all := paid + "2,CREATED,1\n3,null,1\n"
	w.wants("SELECT * FROM orders ORDER BY id", all)
	w.wants("FROM shop.orders ORDER BY id", all)
	w.wants("SELECT * FROM `orders` AS `o` ORDER BY o.id -- the end", all)
	w.wants(`SELECT o.* FROM "shop"."orders" o ORDER BY 1`, all)
	w.wants("TABLE orders ORDER BY ALL", all)
	w.wants("SELECT count(*) FROM orders", "3\n")
	w.wants("SELECT count(*), count(status) FROM ORDERS", "3,2\n")
	w.wants("SELECT orders.version, orders.id FROM orders WHERE shop.orders.id = 1", "2,1\n")
	w.wants("SELECT x FROM orders AS o(x, y, z) WHERE y LIKE 'PAID%'", "1\n")
	w.wants("SELECT status FROM orders WHERE status = 'PAID, in full already' AND version > 1", `"PAID, in full already"`+"\n")
	w.wants("SELECT 1 AS a, 2 AS a, 'ü' AS b", "1,2,ü\n")
	w.wants("VALUES (1, 'x'), (2, NULL)", "1,x\n2,null\n")
}

func TestJoinsAndCTEs(t *testing.T) {
	w := shop(t)
	w.wants(`SELECT o.id, i.what FROM orders o JOIN items i ON o.id = i.order_id WHERE o.version = 2 ORDER BY i.what`, "1,cup\n1,tea\n")
	w.wants(`SELECT o.id, i.what FROM orders o LEFT JOIN "Items" i ON o.id = i.order_id AND i.what <> 'pot' WHERE i.what IS NULL ORDER BY 1`, "2,null\n3,null\n")
	w.wants(`WITH orders AS (SELECT 7 AS id) SELECT id FROM orders`, "7\n")
	w.wants(`WITH a AS (SELECT id FROM orders WHERE id > 1), b AS (SELECT max(id) AS m FROM a) SELECT m, (SELECT count(*) FROM shop.orders x WHERE x.id <= m) FROM b`, "3,3\n")
	w.wants(`WITH orders AS (SELECT id FROM orders WHERE id = 2) SELECT * FROM orders`, "2\n")
	w.wants(`WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT sum(n) FROM r`, "6\n")
	w.wants(`SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM items WHERE order_id = id AND what = 'pot')`, "3\n")
	w.wants(`SELECT a.id FROM orders a, orders b WHERE a.id = b.id + 1 AND a.id = 2 AND b.id = 1`, "2\n")
	w.wants(`SELECT count(*) FROM (SELECT id FROM orders UNION ALL SELECT order_id FROM items)`, "6\n")
	w.wants(`SELECT id + 10 AS id FROM orders WHERE id = 1`, "11\n")
}

func TestSystemTablesAndTimeTravel(t *testing.T) {
	w := shop(t)
	for _, name := range []string{"orders$snapshots", `"orders$snapshots"`, "`orders$snapshots`", "shop.orders$snapshots", "`shop`.`orders$snapshots`"} {
		w.wants("SELECT snapshot_id, commit_kind FROM "+name+" ORDER BY 1", "1,APPEND\n2,APPEND\n")
	}
	w.wants("SELECT sum(record_count) FROM orders$files", "4\n")
	w.wants("SELECT o.id, s.snapshot_id FROM orders o, orders$snapshots s WHERE o.id = 1 AND s.snapshot_id = 2", "1,2\n")
	w.wants("SELECT * FROM orders AT (VERSION => 1) ORDER BY id", "1,CREATED,1\n2,CREATED,1\n")
	w.wants("SELECT n.id FROM orders n LEFT JOIN shop.orders AT (VERSION => 1) AS b ON n.id = b.id WHERE b.id IS NULL", "3\n")
	w.wants("SELECT `b`.id FROM orders AS b AT (VERSION => 1) WHERE b.id = 2", "2\n")
	w.wants("SELECT `b`.id FROM orders AT (VERSION => 1) AS `b` WHERE b.id = 2", "2\n")
	w.wants("SELECT x FROM orders AS b(x, y) AT (VERSION => 1) WHERE x = 2", "2\n")
	w.refuses("SELECT * FROM orders AT (VERSION => 9)", tarnerr.NotFound, "LINE 1: SELECT * FROM orders AT", "snapshot")
	w.refuses("SELECT * FROM orders AT (VERSION => 0)", tarnerr.Invalid, "begin with 1")
	w.refuses("SELECT * FROM orders$nothing", tarnerr.NotFound, "$nothing")
}

func TestErrorsPointAtThePlace(t *testing.T) {
	w := shop(t)
	w.refuses("SELECT *\nFROM ordres", tarnerr.NotFound, "no such table", "Did you mean orders?", "\n  LINE 2: FROM ordres\n               ^")
	w.refuses("SELECT * FROM shpo.orders", tarnerr.NotFound, "no such database", "Did you mean shop?")
	w.refuses("SELECT * FROM `orders` WHERE `idd` = 1", tarnerr.Invalid, `Referenced column "idd" not found`, "\n  LINE 1: SELECT * FROM `orders` WHERE `idd` = 1\n                                       ^")
	w.refuses("SELECT 'ü', FROM orders o JOIN items i ON o.id = i.nope", tarnerr.Invalid, `does not have a column named "nope"`, "i.nope\n", "                                                  ^")
	w.refuses("SELECT id\n  FRM orders o x", tarnerr.Invalid, "syntax error", "LINE 2:   FRM orders o x\n                ^")
	w.refuses("SELECT CAST(status AS INT) FROM orders", tarnerr.Invalid, "Could not convert", "LINE 1: SELECT CAST(status")
	w.refuses("SELECT * FROM 'some.csv'", tarnerr.Invalid, "LINE 1")
	w.refuses("SELECT * FROM read_csv('some.csv')", tarnerr.Denied, "disabled")
	w.refuses("INSTALL httpfs", tarnerr.Unsupported, "INSTALL")
	w.refuses("SET memory_limit = '1TB'", tarnerr.Unsupported, "SET")
	w.refuses("COPY orders TO 'x.csv'", tarnerr.Unsupported, "COPY")
	w.refuses("SELECT * FROM orders, tarn_scan(1)", tarnerr.Denied, "disabled", "LINE 1")
	w.refuses("SELECT * FROM (SHOW TABLES)", tarnerr.Unsupported, "in a query")
	w.refuses("SELECT * FROM (DESCRIBE orders)", tarnerr.Unsupported, "in a query")
	w.refuses("FROM (PIVOT orders ON status USING count(*))", tarnerr.Unsupported, "IN ('a', 'b')", "LINE 1: FROM (PIVOT")
	w.refuses("EXPLAIN INSERT INTO orders SELECT 1", tarnerr.Unsupported, "no query", "LINE 1: EXPLAIN INSERT")
	w.refuses("INSERT INTO orders VALUES (1, 'A', 1), (2)", tarnerr.Invalid, "same length", "LINE 1: INSERT INTO orders VALUES")
	w.refuses("INSERT INTO orders$files VALUES (1)", tarnerr.Unsupported, "writing to a system table", "LINE 1: INSERT INTO orders$files")
	w.refuses("SELECT ?", tarnerr.Unsupported, "parameters")
	w.refuses("SELECT * FROM a.b.c", tarnerr.NotFound, "no such catalog", "The catalogs are warehouse.")
	w.refuses("", tarnerr.Invalid, "one statement")
}

// A number too large for a DOUBLE is infinite, in the syntax tree too.
func TestInfiniteLiterals(t *testing.T) {
	w := shop(t)
	w.wants("SELECT id FROM orders WHERE id < 1e400 AND id > -1e400 AND status <> '\\\"NaN' ORDER BY id", "1\n2\n")
	w.wants("SELECT 1e999, 'Infinity'", "Infinity,Infinity\n")
}

// A column that is a subquery has the name that the user wrote, not that of
// what stands in its place.
func TestTitlesOfSubqueries(t *testing.T) {
	w := shop(t)
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, (SELECT max(id)\n  FROM orders x WHERE x.id < o.id) FROM orders o", "id, (SELECT max(id) FROM orders x WHERE x.id < o.id)"},
		{"SELECT (SELECT max(id) FROM orders) AS a, (SELECT max(id) FROM `orders`) \"b c\", d: (SELECT 1 FROM orders LIMIT 1)", "a, b c, d"},
		{"SELECT DISTINCT ON (id) EXISTS (FROM orders), id FROM orders", "EXISTS (FROM orders), id"},
		{"FROM orders o SELECT 1 + (SELECT count(*) FROM orders WHERE id = o.id) WHERE id = 1", "1 + (SELECT count(*) FROM orders WHERE id = o.id)"},
		{"SELECT CASE WHEN id IN (SELECT id FROM orders) THEN 1 ELSE 2 END FROM orders LIMIT 1", "CASE WHEN id IN (SELECT id FROM orders) THEN 1 ELSE 2 END"},
		{"SELECT id IS DISTINCT FROM (SELECT min(id) FROM orders), coalesce(extract(year FROM (SELECT DATE '2024-01-01' FROM orders LIMIT 1)), 0) FROM orders", "id IS DISTINCT FROM (SELECT min(id) FROM orders), coalesce(extract(year FROM (SELECT DATE '2024-01-01' FROM orders LIMIT 1)), 0)"},
		{"SELECT * FROM (SELECT (SELECT (SELECT min(id) FROM orders) FROM orders LIMIT 1) UNION SELECT 2)", "(SELECT (SELECT min(id) FROM orders) FROM orders LIMIT 1)"},
		{"SELECT * REPLACE ((SELECT min(id) FROM orders) AS id) FROM orders", "id, status, version"},
		{"SELECT ARRAY(SELECT id FROM orders)[1], {'a': (SELECT min(id) FROM orders)}.a", "ARRAY(SELECT id FROM orders)[1], {'a': (SELECT min(id) FROM orders)}.a"},
		{"WITH c AS (SELECT (SELECT min(id) FROM orders)) SELECT *, (SELECT max(id) FROM c, orders) FROM c", "(SELECT min(id) FROM orders), (SELECT max(id) FROM c, orders)"},
	} {
		rows, err := w.db.Query(t.Context(), c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		var names []string
		for _, f := range rows.Fields() {
			names = append(names, f.Name)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.sql, got, c.want)
		}
	}
}
