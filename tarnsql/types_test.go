//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

const everyType = `id INT NOT NULL, b BOOLEAN, i8 TINYINT, i16 SMALLINT, i64 BIGINT, f FLOAT, d DOUBLE,
	d3 DECIMAL(3, 1), d9 DECIMAL(9, 2), d18 DECIMAL(18, 4), d38 DECIMAL(38, 10), c CHAR(3), s STRING, bin BINARY(3), bytes BYTES,
	day DATE, t TIME(3), t0 TIMESTAMP(0), t3 TIMESTAMP(3), t6 TIMESTAMP(6), t9 TIMESTAMP(9), z3 TIMESTAMP_LTZ(3), z6 TIMESTAMP_LTZ(6), z9 TIMESTAMP_LTZ(9),
	arr ARRAY<STRING>, deep ARRAY<ARRAY<INT>>, m MAP<STRING, DECIMAL(5, 2)>, ms MULTISET<STRING>,
	r ROW<a INT, b ROW<c STRING, d ARRAY<DOUBLE>>, e DATE>, ra ARRAY<ROW<x INT, y STRING>>, mm MAP<INT, MAP<STRING, TIMESTAMP_LTZ(3)>>`

// everyRow has a value of each type; rows of rest are all null.
func everyRow(id int) string {
	long := strings.Repeat("ä€", id%20)
	return fmt.Sprintf(`{"id":%d,"b":%v,"i8":%d,"i16":-32768,"i64":-9223372036854775808,"f":1.5,"d":-0.25,`+
		`"d3":"-12.3","d9":"1234567.89","d18":"-12345678901234.5678","d38":"1234567890123456789012345678.0123456789","c":"abc","s":"%s","bin":"hex:0001ff","bytes":"hex:%s",`+
		`"day":"1969-12-31","t":"23:59:59.999","t0":"1960-01-01 00:00:01","t3":"1969-12-31 23:59:59.999","t6":"2024-02-29 12:00:00.123456","t9":"1677-09-22 00:00:00.000000001",`+
		`"z3":"2024-01-01 00:00:00.5","z6":"0999-01-01 00:00:00.000001","z9":"2024-01-01 00:00:00.000001",`+
		`"arr":["x",null,"%s"],"deep":[[1,null],null,[],[%d]],"m":{"k":"1.25","n":null},"ms":{"q":2},`+
		`"r":{"a":1,"b":{"c":"in%s","d":[0.5,null]},"e":null},"ra":[{"x":1,"y":"%s"},null,{"x":null,"y":null}],"mm":{"7":{"a":"2020-02-02 02:02:02"},"8":null}}`,
		id, id%2 == 0, id%100, long, strings.Repeat("ab", id%30), long, id, long, long) + "\n"
}

func everyTable(w *world, name string) table.Table {
	t := w.table(name, everyType, "", nil)
	var lines strings.Builder
	for i := range 5000 {
		if i%3 == 0 {
			fmt.Fprintf(&lines, `{"id":%d}`+"\n", i)
		} else {
			lines.WriteString(everyRow(i))
		}
	}
	w.write(t, lines.String())
	return t
}

func direct(w *world, t table.Table, columns []string) string {
	w.Helper()
	ctx := context.Background()
	r, err := t.Scan(ctx, table.Scan{Columns: columns, Workers: 1})
	if err != nil {
		w.Fatal(err)
	}
	defer r.Close()
	fields := t.Schema().Fields
	if columns != nil {
		fields = t.Schema().Select(columns)
	}
	out, err := drain(ctx, r, fields)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// same compares two long texts and shows the first line that differs.
func (w *world) same(what, got, want string) {
	w.Helper()
	if got == want {
		return
	}
	g, n := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(n)) {
		if g[i] != n[i] {
			w.Errorf("%s: line %d:\n%s\nwant:\n%s", what, i, g[i], n[i])
			return
		}
	}
	w.Errorf("%s: %d lines, want %d", what, len(g), len(n))
}

func TestEveryTypeEqualsTheDirectScan(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Threads: 1})
	tab := everyTable(w, "every")
	want := direct(w, tab, nil)
	for _, sql := range []string{"SELECT * FROM every", "SELECT * FROM every WHERE id >= 0", "SELECT * FROM every ORDER BY id"} {
		got, err := text(w.db, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		w.same(sql, got, want)
	}
	var names []string
	for _, f := range tab.Schema().Fields {
		names = append([]string{f.Name}, names...)
	}
	for _, columns := range [][]string{names, {"ra", "s"}, {"r"}} {
		got, err := text(w.db, "SELECT "+strings.Join(columns, ", ")+" FROM every")
		if err != nil {
			t.Fatal(err)
		}
		w.same(strings.Join(columns, ","), got, direct(w, tab, columns))
	}
	// What is inside a null is null, and members are found.
	w.wants("SELECT count(*) FROM every WHERE r.b.c IS NULL AND len(arr) IS NULL AND r.a IS NULL", "1667\n")
	w.wants("SELECT count(r.b.d[1]), sum(len(ra)), sum(ms['q']) FROM every", "3333,9999,6666\n")
}

func TestInsertSelectKeepsEveryType(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Threads: 1})
	from := everyTable(w, "every")
	to := w.table("copied", everyType, "", nil)
	r, err := w.db.Exec(context.Background(), "INSERT INTO copied SELECT * FROM every")
	if err != nil {
		t.Fatal(err)
	}
	if r.Count != 5000 || r.Report == nil || r.Report.Status != table.Succeeded || r.Rows != nil {
		t.Errorf("result %+v", r)
	}
	w.same("copy", direct(w, to, nil), direct(w, from, nil))
}

func TestResultsOfDuckDBsOwnTypes(t *testing.T) {
	w := newWorld(t, tarnsql.Options{})
	w.wants("SELECT 200::UTINYINT, 60000::USMALLINT, 4000000000::UINTEGER, 18446744073709551615::UBIGINT, 12345678901234567890123::HUGEINT",
		"200,60000,4000000000,18446744073709551615,12345678901234567890123\n")
	w.wants("SELECT INTERVAL 3 DAY, UUID '00000000-0000-0000-0000-00000000000a', [INTERVAL 1 HOUR]", "3 days,00000000-0000-0000-0000-00000000000a,['01:00:00']\n")
	w.wants("SELECT NULL, [NULL], 'a'::ENUM('a', 'b'), TIMESTAMP_S '2024-01-01 00:00:00', union_value(k := 1)", "null,[null],a,2024-01-01T00:00:00,1\n")
	w.wants("SELECT ['a', NULL]::VARCHAR[2], [[1, 2]::INT[2]]", "\"[\"\"a\"\",null]\",\"[[1,2]]\"\n")
	w.refuses("SELECT 170141183460469231731687303715884105727::HUGEINT", tarnerr.Unsupported, "38 digits")
	w.refuses("SELECT TIME '01:02:03.000001' AS fine", tarnerr.Unsupported, "column=fine")
}
