//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

// EXPLAIN shows DuckDB's plan and, below it, what is read of each table.
func TestExplain(t *testing.T) {
	w := shop(t)
	w.does("CREATE TABLE days (d DATE, n DECIMAL(5, 2), ok BOOLEAN, s STRING) PARTITIONED BY (d); INSERT INTO days VALUES (DATE '2024-01-01', 1, true, 'x'), (DATE '2024-01-02', 2, false, 'it''s')")
	for _, c := range []struct{ sql, want string }{
		{"EXPLAIN SELECT * FROM orders", "shop.orders\n  snapshot 2: 2 splits, 3 files, at most 4 rows\n"},
		{"EXPLAIN PLAN FOR SELECT * FROM orders o AT (VERSION => 1) WHERE id = 2", "shop.orders AS o\n  snapshot 1: 1 split, 1 file, at most 2 rows\n  pushed down: id = 2\n"},
		{"EXPLAIN EXTENDED SELECT * FROM days WHERE d >= '2024-01-02' AND n IN (1, 2) AND (ok OR s < 'k') AND s LIKE 'i%' AND s IS NOT NULL",
			"shop.days\n  snapshot 1: 1 split, 1 file, at most 1 row\n  pushed down: d >= '2024-01-02' AND n IN (1, 2) AND (ok = true OR s < 'k') AND s LIKE 'i%' AND NOT (s IS NULL)\n"},
		{"EXPLAIN SELECT * FROM orders o, orders$files f WHERE o.version >= 1 AND f.level = 0", "shop.orders AS o\n  snapshot 2: 2 splits, 3 files, at most 4 rows\n  pushed down: version >= 1\nshop.orders$files AS f\n  a system table\n"},
		{"EXPLAIN ANALYZE SELECT count(*) FROM orders", "shop.orders\n  snapshot 2: 2 splits, 3 files, at most 4 rows\n"},
	} {
		got, err := text(w.db, c.sql)
		if err != nil || !strings.Contains(got, strings.ReplaceAll(c.want, `"`, `""`)) || !strings.Contains(strings.ToUpper(got), "TARN_SCAN") {
			t.Errorf("%s: %v\n%swant it to hold:\n%s", c.sql, err, got, c.want)
		}
	}
	w.does("CREATE TABLE empty (a INT)")
	if got, err := text(w.db, "EXPLAIN SELECT * FROM empty"); err != nil || !strings.Contains(got, "shop.empty\n  no snapshot yet\n") {
		t.Errorf("%s %v", got, err)
	}
	if got, err := text(w.db, "EXPLAIN SELECT 1"); err != nil || strings.Contains(got, "tables") {
		t.Errorf("%s %v", got, err)
	}
	w.refuses("EXPLAIN SELECT\n  nope FROM orders", tarnerr.Invalid, "LINE 2:   nope FROM orders\n            ^")
	w.refuses("EXPLAIN", tarnerr.Invalid)
}
