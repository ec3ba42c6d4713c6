//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/tarnsql"
)

// edge is a text whose first 16 characters have nothing above them: cut to them,
// it cannot be rounded up.
var edge = strings.Repeat("\U0010FFFF", 17)

// Predicates and values where engines like to differ: nulls, NaN, −0.0, decimals,
// strings that differ after the 16th character or in the middle of one, times
// before 1970.
var randomColumns = []struct {
	name, typ string
	values    []string // as text that casts to the type
	literals  []string // as SQL
}{
	{"b", "BOOLEAN", []string{"true", "false"}, []string{"true", "false"}},
	{"n", "INT", []string{"-2147483648", "-1", "0", "1", "2", "7", "100", "2147483647"}, []string{"-1", "0", "1.5", "7", "100.0", "5000000000", "-2147483648", "'7'", "1e2"}},
	{"l", "BIGINT", []string{"-9223372036854775808", "-5", "0", "5", "9007199254740993", "9223372036854775807"}, []string{"5", "-5.0", "9007199254740993", "9007199254740992", "1e15", "9223372036854775807", "99999999999999999999"}},
	{"f", "FLOAT", []string{"NaN", "-0.0", "0.0", "1.5", "0.1", "-Infinity", "Infinity", "16777216"}, []string{"0", "0.1", "1.5", "'NaN'::FLOAT", "-0.0", "16777217", "1e0"}},
	{"d", "DOUBLE", []string{"NaN", "-0.0", "0.0", "0.1", "0.3", "-1.5", "1e300", "Infinity"}, []string{"0", "0.1", "0.30000000000000004", "-1.5", "1e300", "'NaN'::DOUBLE", "0.3"}},
	{"c", "DECIMAL(10, 2)", []string{"-99999999.99", "-0.01", "0", "1.10", "1.11", "12345678.90"}, []string{"1.1", "1.105", "0", "-0.01", "1e0", "99999999999", "12345678.9"}},
	{"h", "DECIMAL(38, 30)", []string{"0", "1.000000000000000000000000000001", "-1.5", "12345678"}, []string{"0", "-1.5", "1.0", "12345678"}},
	{"s", "STRING", []string{"", "a", "abc", "abcdefghijklmnop", "abcdefghijklmnopq", "abcdefghijklmnoé", "abcdefghijklmnoéz", "abcdefghijklmno\uD7FFz", "abcdefghijklmno\U0010FFFFz", edge, "ä", "日本語日本語日本語日本語日本語日本語", "😀", "z", "7"},
		[]string{"'a'", "''", "'abcdefghijklmnop'", "'abcdefghijklmnoé'", "'abcdefghijklmnoê'", "'abcdefghijklmno\uE000'", "'" + edge + "'", "'日本語'", "'😀'", "'zz'"}},
	{"t", "DATE", []string{"1969-12-31", "0001-01-01", "1970-01-01", "2024-02-29", "9999-12-31"}, []string{"DATE '1970-01-01'", "'2024-02-29'", "DATE '1969-12-31'", "TIMESTAMP '1970-01-01 00:00:00'", "'1969-12-31 00:00:00'"}},
	{"k", "TIME(3)", []string{"00:00:00", "12:00:00.5", "23:59:59.999"}, []string{"TIME '12:00:00.5'", "'00:00:00'", "TIME '12:00:00.500001'"}},
	{"m", "TIMESTAMP(3)", []string{"1969-12-31 23:59:59.999", "1970-01-01 00:00:00", "1900-01-01 00:00:00.001", "2024-01-01 00:00:00"}, []string{"TIMESTAMP '1970-01-01 00:00:00'", "'1969-12-31 23:59:59.999'", "DATE '2024-01-01'", "TIMESTAMP '1969-12-31 23:59:59.999001'"}},
	{"u", "TIMESTAMP(6)", []string{"1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1700-01-01 00:00:00.000001", "2024-01-01 00:00:00.5"}, []string{"TIMESTAMP '1969-12-31 23:59:59.999999'", "'1970-01-01 00:00:00'", "DATE '1970-01-01'", "TIMESTAMP '2024-01-01 00:00:00.5'"}},
	{"p", "TIMESTAMP(9)", []string{"1969-12-31 23:59:59.999999999", "1970-01-01 00:00:00.000000001", "2024-01-01 00:00:00"}, []string{"'1969-12-31 23:59:59.999999999'", "TIMESTAMP '1970-01-01 00:00:00'", "'2024-01-01 00:00:00'", "DATE '2024-01-01'"}},
	{"z", "TIMESTAMP_LTZ(3)", []string{"1969-12-31 23:59:59.999+00", "1970-01-01 00:00:00+00", "2024-01-01 00:00:00.5+00"}, []string{"TIMESTAMPTZ '1970-01-01 00:00:00+00'", "'1969-12-31 23:59:59.999'", "TIMESTAMP '2024-01-01 00:00:00.5'", "TIMESTAMPTZ '1970-01-01 01:00:00+01'"}},
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func randomTable(w *world, r *rand.Rand, name string, number int) {
	w.Helper()
	columns := "id INT NOT NULL"
	for _, c := range randomColumns {
		columns += ", " + c.name + " " + c.typ
	}
	tail := []string{") WITH ('bucket' = '-1')", ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')",
		") PARTITIONED BY (n)", ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'metadata.stats-mode' = 'counts')",
		") WITH ('metadata.stats-mode' = 'full')"}[number%5]
	w.does("CREATE TABLE " + name + " (" + columns + tail)
	for file := range 4 {
		var rows []string
		few := map[string][]string{} // in a file a column has few values, so that it can be skipped
		for _, c := range randomColumns {
			few[c.name] = []string{pick(r, c.values), pick(r, c.values), pick(r, c.values)}
		}
		for i := range 20 {
			row := fmt.Sprint(r.IntN(20) + file*10 + i/10)
			for _, c := range randomColumns {
				if r.IntN(6) == 0 {
					row += ", NULL"
				} else {
					row += ", '" + pick(r, few[c.name]) + "'"
				}
			}
			rows = append(rows, "("+row+")")
		}
		w.does("INSERT INTO " + name + " VALUES " + strings.Join(rows, ", "))
	}
}

// randomPredicate notes the columns it is about in used, where that is not nil.
func randomPredicate(r *rand.Rand, depth int, used map[string]bool) string {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := randomPredicate(r, depth-1, used), randomPredicate(r, depth-1, used)
		return pick(r, []string{"(" + a + " AND " + b + ")", "(" + a + " OR " + b + ")", "NOT (" + a + ")", "NOT (" + a + " AND " + b + ")", "(" + a + ") IS NOT TRUE"})
	}
	c := pick(r, randomColumns)
	name := pick(r, []string{c.name, "t." + c.name, strings.ToUpper(c.name)})
	op := pick(r, []string{"=", "<>", "<", "<=", ">", ">="})
	kind := r.IntN(10)
	if used != nil && kind != 4 && kind != 5 {
		used[c.name] = true
	}
	switch kind {
	case 0:
		return name + pick(r, []string{" IS NULL", " IS NOT NULL"})
	case 1:
		return name + pick(r, []string{" IN (", " NOT IN ("}) + pick(r, c.literals) + ", " + pick(r, c.literals) + ")"
	case 2:
		return name + pick(r, []string{" BETWEEN ", " NOT BETWEEN "}) + pick(r, c.literals) + " AND " + pick(r, c.literals)
	case 3:
		return pick(r, c.literals) + " " + op + " " + name
	case 4:
		return "s " + pick(r, []string{"LIKE", "NOT LIKE"}) + " " + pick(r, []string{"'abc%'", "'abcdefghijklmnoé%'", "'a_c%'", "'%é'", "'日本%'", "'%'", "''", "'a'"})
	case 5:
		return pick(r, []string{"b", "NOT b", "b IS TRUE", "id % 2 = 0", "length(s) > 3", "coalesce(n, 1) = 1", "n = l", "n + 1 = 2"})
	}
	return name + " " + op + " " + pick(r, c.literals)
}

func TestPushdownChangesNothing(t *testing.T) {
	var skipped atomic.Int64
	listener := &event.Listener{ScanPlanned: func(i event.ScanPlanned) { skipped.Add(int64(i.FilesSkipped)) }}
	w := newWorldOf(t, tarn.Config{Components: tarn.Components{Listener: listener}}, tarnsql.Options{Threads: 1})
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	const tables, predicates = 10, 50
	statements := 10
	if testing.Short() {
		statements = 2
	}
	r := rand.New(rand.NewPCG(7, 9))
	matching, empty := map[string]int{}, map[string]int{} // predicates about a column that have rows, and that have none
	total := 0
	for i := range tables {
		name := fmt.Sprintf("t%d", i)
		randomTable(w, r, name, i)
		for range statements {
			// Each SELECT of the UNION has a reference and a predicate of its own; without
			// push-down one scan answers all of them.
			selects, tests := make([]string, predicates), make([]string, predicates)
			about := make([]map[string]bool, predicates)
			for q := range selects {
				about[q] = map[string]bool{}
				p := randomPredicate(r, 3, about[q])
				selects[q] = fmt.Sprintf("SELECT %d AS q, t.id, t.s FROM %s t WHERE %s", q, name, p)
				tests[q] = fmt.Sprintf("CASE WHEN %s THEN %d END", p, q)
			}
			all := "SELECT q, id, s FROM (SELECT unnest([" + strings.Join(tests, ", ") + "]) AS q, t.id, t.s FROM " + name + " t) WHERE q IS NOT NULL ORDER BY ALL"
			want, err := text(off, all)
			if err != nil {
				t.Fatalf("%s: %v", all, err)
			}
			before := skipped.Load()
			sql := strings.Join(selects, "\nUNION ALL ") + "\nORDER BY ALL"
			got, err := text(w.db, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			// Of key tables values skip no file, and without bounds nothing does.
			if i%5 != 1 && i%5 != 3 && skipped.Load() == before {
				t.Errorf("%s: no file was skipped", name)
			}
			for q, s := range selects {
				g, n := answers(got, q), answers(want, q)
				if g != n {
					t.Fatalf("%s:\n%swant:\n%s", s, g, n)
				}
				total++
				for c := range about[q] {
					if n == "" {
						empty[c]++
					} else {
						matching[c]++
					}
				}
			}
		}
	}
	if !testing.Short() && total < 5000 {
		t.Errorf("%d predicates", total)
	}
	for _, c := range randomColumns {
		if matching[c.name] < total/100 || empty[c.name] < total/1000 {
			t.Errorf("%s: %d predicates have rows, %d have none, of %d", c.name, matching[c.name], empty[c.name], total)
		}
	}
	differentialCovers(w, off, tables)
}

// differentialCovers asserts that what engines differ in was there to be found.
func differentialCovers(w *world, off *tarnsql.DB, tables int) {
	var rows, files []string
	for i := range tables {
		rows = append(rows, fmt.Sprintf("SELECT * FROM t%d", i))
		files = append(files, fmt.Sprintf("SELECT * FROM t%d$files", i))
	}
	count := func(from []string, where string) {
		w.Helper()
		n, err := text(off, "SELECT count(*) FROM ("+strings.Join(from, " UNION ALL ")+") WHERE "+where)
		if err != nil || n == "0\n" {
			w.Errorf("no row with %s: %v", where, err)
		}
	}
	for _, c := range randomColumns {
		count(rows, c.name+" IS NULL")
		count(rows, c.name+" IS NOT NULL")
	}
	for _, where := range []string{
		"isnan(f)", "isnan(d)", "f = 0 AND signbit(f)", "d = 0 AND signbit(d)", "d = 0 AND NOT signbit(d)", "isinf(f)",
		"c = -99999999.99", "c = 1.11", "h = 1.000000000000000000000000000001",
		"length(s) > 16 AND strlen(s) > length(s)", "s LIKE 'abcdefghijklmnoé_%'", "length(s) = 16", "s = '" + edge + "'", "s LIKE 'abcdefghijklmno\uD7FF_%'",
		"t < DATE '1970-01-01'", "m < TIMESTAMP '1970-01-01'", "u < TIMESTAMP '1970-01-01'", "p < TIMESTAMP '1970-01-01'", "z < TIMESTAMPTZ '1970-01-01 00:00:00+00'",
		"m = TIMESTAMP '1969-12-31 23:59:59.999'", "u = TIMESTAMP '1969-12-31 23:59:59.999999'",
	} {
		count(rows, where)
	}
	// A maximum that was cut inside a text of several bytes to a letter, and raised;
	// one raised over the surrogates; one that cannot be raised, so that nothing is known.
	count(files, "contains(max_value_stats, 'abcdefghijklmnoê')")
	count(files, "contains(max_value_stats, 'abcdefghijklmno\uE000')")
	count(files, "contains(max_value_stats, 's=null') AND record_count > 0")
}

// answers are the rows of one SELECT of a UNION.
func answers(rows string, q int) string {
	var out strings.Builder
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(line, fmt.Sprintf("%d,", q)) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestPushdownStaysBelowInnerJoins(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Threads: 1})
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	r := rand.New(rand.NewPCG(1, 2))
	randomTable(w, r, "a", 0)
	randomTable(w, r, "b", 1)
	for range 25 {
		join := pick(r, []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"})
		p, q := randomPredicate(r, 2, nil), randomPredicate(r, 1, nil)
		for _, sql := range []string{
			"SELECT count(*), count(t.id), sum(o.other) FROM a t " + join + " (SELECT id AS other FROM b t WHERE " + q + ") o ON t.id = o.other WHERE " + p,
			"SELECT count(*), count(t.id), count(o.id) FROM a t " + join + " b o ON t.id = o.id AND t.n > 0 AND o.n < 5 WHERE o.c IS NULL OR o.c > 1",
			"SELECT count(*), count(t.id), count(o.id) FROM a t " + join + " b o ON t.id = o.id JOIN a x ON x.id = o.id AND x.n = 1 WHERE t.n >= 0 AND o.s < 'b'",
			"SELECT count(*) FROM a t POSITIONAL JOIN (SELECT id AS other FROM b ORDER BY id) o WHERE other < 10",
			"SELECT count(*) FROM a t JOIN b USING (id) WHERE id > 10",
			"SELECT count(*) FROM a t SEMI JOIN b o ON t.id = o.id AND o.n > 0 WHERE t.n < 100",
			"SELECT count(*) FROM a t ANTI JOIN b o ON t.id = o.id AND o.n > 0 WHERE t.n < 100",
		} {
			want, err := text(off, sql)
			if err != nil {
				t.Fatalf("%s, without push-down: %v", sql, err)
			}
			if got, err := text(w.db, sql); err != nil || got != want {
				t.Fatalf("%s: %v\n%swant:\n%s", sql, err, got, want)
			}
		}
	}
	if _, err := w.db.Exec(context.Background(), "SELECT nope FROM a JOIN b USING (id)"); err == nil {
		t.Error("a column that is not there")
	}
}
