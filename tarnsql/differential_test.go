//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnsql"
)

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
	{"s", "STRING", []string{"", "a", "abc", "abcdefghijklmnop", "abcdefghijklmnopq", "abcdefghijklmnoé", "abcdefghijklmnoéz", "ä", "日本語日本語日本語日本語日本語日本語", "😀", "z", "7"},
		[]string{"'a'", "''", "'abcdefghijklmnop'", "'abcdefghijklmnoé'", "'日本語'", "'😀'", "'zz'"}},
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

func randomPredicate(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := randomPredicate(r, depth-1), randomPredicate(r, depth-1)
		return pick(r, []string{"(" + a + " AND " + b + ")", "(" + a + " OR " + b + ")", "NOT (" + a + ")", "NOT (" + a + " AND " + b + ")", "(" + a + ") IS NOT TRUE"})
	}
	c := pick(r, randomColumns)
	name := pick(r, []string{c.name, "t." + c.name, strings.ToUpper(c.name)})
	op := pick(r, []string{"=", "<>", "<", "<=", ">", ">="})
	switch r.IntN(10) {
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
	w := newWorld(t, tarnsql.Options{Threads: 1})
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	const tables, predicates = 10, 50
	statements := 10
	if testing.Short() {
		statements = 2
	}
	r := rand.New(rand.NewPCG(7, 9))
	empty := 0
	for i := range tables {
		name := fmt.Sprintf("t%d", i)
		randomTable(w, r, name, i)
		for range statements {
			// Each SELECT of the UNION has a reference and a predicate of its own; without
			// push-down one scan answers all of them.
			selects, tests := make([]string, predicates), make([]string, predicates)
			for q := range selects {
				p := randomPredicate(r, 3)
				selects[q] = fmt.Sprintf("SELECT %d AS q, t.id, t.s FROM %s t WHERE %s", q, name, p)
				tests[q] = fmt.Sprintf("CASE WHEN %s THEN %d END", p, q)
			}
			all := "SELECT q, id, s FROM (SELECT unnest([" + strings.Join(tests, ", ") + "]) AS q, t.id, t.s FROM " + name + " t) WHERE q IS NOT NULL ORDER BY ALL"
			want, err := text(off, all)
			if err != nil {
				t.Fatalf("%s: %v", all, err)
			}
			sql := strings.Join(selects, "\nUNION ALL ") + "\nORDER BY ALL"
			got, err := text(w.db, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for q, s := range selects {
				if g, n := answers(got, q), answers(want, q); g != n {
					t.Fatalf("%s:\n%swant:\n%s", s, g, n)
				} else if n == "" {
					empty++
				}
			}
		}
	}
	if all := tables * statements * predicates; empty > all/2 {
		t.Errorf("%d of %d predicates match nothing", empty, all)
	}
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
		p, q := randomPredicate(r, 2), randomPredicate(r, 1)
		for _, sql := range []string{
			"SELECT count(*), count(t.id), sum(o.id) FROM a t " + join + " (SELECT id FROM b t WHERE " + q + ") o ON t.id = o.id WHERE " + p,
			"SELECT count(*), count(t.id), count(o.id) FROM a t " + join + " b o ON t.id = o.id AND t.n > 0 AND o.n < 5 WHERE o.c IS NULL OR o.c > 1",
			"SELECT count(*), count(t.id), count(o.id) FROM a t " + join + " b o ON t.id = o.id JOIN a x ON x.id = o.id AND x.n = 1 WHERE t.n >= 0 AND o.s < 'b'",
			"SELECT count(*) FROM a t POSITIONAL JOIN (SELECT id AS other FROM b ORDER BY id) o WHERE other < 10",
			"SELECT count(*) FROM a t JOIN b USING (id) WHERE id > 10",
			"SELECT count(*) FROM a t SEMI JOIN b o ON t.id = o.id AND o.n > 0 WHERE t.n < 100",
			"SELECT count(*) FROM a t ANTI JOIN b o ON t.id = o.id AND o.n > 0 WHERE t.n < 100",
		} {
			want, wantErr := text(off, sql)
			got, err := text(w.db, sql)
			if wantErr == nil && (err != nil || got != want) {
				t.Fatalf("%s: %v\n%swant:\n%s", sql, err, got, want)
			}
		}
	}
	if _, err := w.db.Exec(context.Background(), "SELECT nope FROM a JOIN b USING (id)"); err == nil {
		t.Error("a column that is not there")
	}
}
