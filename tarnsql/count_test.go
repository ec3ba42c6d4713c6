//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnsql"
)

// A query that only counts rows takes what metadata tell of them, and reads the others:
// the answer is that of a DB that reads them all.
func TestCountWithoutReading(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	w.does(`CREATE TABLE heap (a INT, b STRING);
		INSERT INTO heap VALUES (1, 'x'), (2, NULL); INSERT INTO heap VALUES (3, 'x');
		CREATE TABLE avro (a INT) WITH ('file.format' = 'avro'); INSERT INTO avro VALUES (1), (2);
		CREATE TABLE empty (a INT);
		CREATE TABLE parts (p STRING, a INT) PARTITIONED BY (p); INSERT INTO parts VALUES ('x', 1), ('y', 2), (NULL, 3);
		CREATE TABLE first (k INT PRIMARY KEY NOT ENFORCED, v INT) WITH ('bucket' = '1', 'merge-engine' = 'first-row');
		INSERT INTO first VALUES (1, 1), (2, 2); INSERT INTO first VALUES (2, 3), (3, 3);
		CREATE TABLE mixed (p STRING, k INT, v INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '1', 'write-only' = 'true');
		INSERT INTO mixed VALUES ('x', 1, 1), ('x', 2, 2); INSERT INTO mixed VALUES ('x', 2, 3), ('y', 1, 1), ('y', 2, 2)`)
	w.write(w.load("mixed"), `{"_kind":"-D","p":"z","k":1,"v":1}`) // a file whose row does not count
	for table, told := range map[string]string{"heap": "3 rows", "avro": "2 rows", "empty": "", "parts": "3 rows", "first": "3 rows", "mixed": "2 rows"} {
		for _, sql := range []string{
			"SELECT count(*) FROM TBL", "select COUNT ( * ) , count() AS n from TBL as x", "FROM TBL SELECT n: count(*)", "SELECT count(*), count(*) c FROM shop.TBL",
			"SELECT count(*) AS \"a b\" FROM TBL;", "SELECT (SELECT count(*) FROM TBL)", "SELECT count(*) + 1 FROM TBL", "SELECT count(*) FROM TBL WHERE true",
			"SELECT count(*) FROM TBL t GROUP BY ALL", "SELECT count(*) FROM TBL LIMIT 1", "SELECT count(*), 1 FROM TBL", "WITH n AS (SELECT count(*) AS n FROM TBL) SELECT n FROM n",
			"SELECT count(DISTINCT t) FROM TBL AS t", "SELECT count(*) FROM TBL TABLESAMPLE 100%", "SELECT count(*) FROM TBL$files",
			"SELECT count(*) FROM TBL GROUP BY ()", "SELECT count(*) FROM TBL GROUP BY GROUPING SETS ((), ())",
		} {
			sql = strings.ReplaceAll(sql, "TBL", table)
			names := func(db *tarnsql.DB) (all []string) {
				rows, err := db.Query(t.Context(), sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				defer rows.Close()
				for _, f := range rows.Fields() {
					all = append(all, f.Name+" "+f.Type.String())
				}
				return all
			}
			want, err := text(off, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			w.wants(sql, want)
			if have, want := strings.Join(names(w.db), ", "), strings.Join(names(off), ", "); have != want {
				t.Errorf("%s has the columns %s, want %s", sql, have, want)
			}
		}
		got, err := text(w.db, "EXPLAIN SELECT count(*) FROM "+table)
		if err != nil || told != "" && !strings.Contains(got, "counted without a look at them: "+told+"\n") {
			t.Errorf("%s of %s: %v", got, table, err)
		}
		if reads := strings.Contains(strings.ToUpper(got), "TARN_SCAN"); reads != (table == "mixed") {
			t.Errorf("%s: reads %v\n%s", table, reads, got)
		}
	}
	w.wants("SELECT count(*) FROM mixed", "4\n")
	w.wants("SELECT count(*) FROM heap AT (VERSION => 1)", "2\n")
	w.does("INSERT INTO empty SELECT count(*) FROM heap")
	w.wants("SELECT * FROM empty", "3\n")
}
