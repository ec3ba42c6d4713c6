//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/tarnsql"
)

// edge is a text whose first 16 characters have nothing above them: cut to them,
// it cannot be rounded up.
var edge = strings.Repeat("\U0010FFFF", 17)

type randomColumn struct {
	name, typ string
	values    []string // as text that casts to the type
	literals  []string // as SQL
}

// Predicates and values where engines like to differ: nulls, NaN, −0.0, decimals,
// strings that differ after the 16th character or in the middle of one, times
// before 1970.
var randomColumns = []randomColumn{
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

// idColumn is that of the ids, which lie between -10 and 50.
var idColumn = randomColumn{"id", "INT", nil, []string{
	"5", "5.0", "'5'", "5.5", "1e1", "1e2", "0", "-3", "-4.0", "'-7'", "12", "23", "31", "38", "44", "50", "-11", "1000",
	"-2147483649", "2147483647", "5000000000", "99999999999999999999",
}}

// shape is how a table of the random columns is keyed and stored.
type shape struct {
	keys   []string // columns that cannot be null
	bucket []string // columns whose values tell the bucket, of several
	tail   string
}

// Of 7 buckets both zeroes of a DOUBLE lie in different ones, of 3 in one.
var shapes = []shape{
	{nil, nil, ") WITH ('bucket' = '-1')"},
	{[]string{"id"}, []string{"id"}, ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')"},
	{nil, nil, ") PARTITIONED BY (n)"},
	{[]string{"id"}, nil, ", PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', 'metadata.stats-mode' = 'counts')"},
	{nil, nil, ") WITH ('metadata.stats-mode' = 'full')"},
	{[]string{"s"}, []string{"s"}, ", PRIMARY KEY (s) NOT ENFORCED) WITH ('bucket' = '3')"},
	{[]string{"c", "id"}, []string{"c"}, ", PRIMARY KEY (c, id) NOT ENFORCED) WITH ('bucket' = '3', 'bucket-key' = 'c')"},
	{[]string{"m"}, []string{"m"}, ", PRIMARY KEY (m) NOT ENFORCED) WITH ('bucket' = '3')"},
	{[]string{"d", "id"}, []string{"d"}, ", PRIMARY KEY (d, id) NOT ENFORCED) WITH ('bucket' = '3', 'bucket-key' = 'd')"},
	{[]string{"d"}, []string{"d"}, ", PRIMARY KEY (d) NOT ENFORCED) WITH ('bucket' = '7')"},
	{[]string{"n", "id"}, []string{"id"}, ", PRIMARY KEY (n, id) NOT ENFORCED) PARTITIONED BY (n) WITH ('bucket' = '3')"},
	{[]string{"id"}, []string{"id"}, ") WITH ('bucket' = '3', 'bucket-key' = 'id', 'bucket-function.type' = 'mod')"},
	{nil, []string{"d"}, ") WITH ('bucket' = '7', 'bucket-key' = 'd')"},
	{nil, []string{"s", "id"}, ") WITH ('bucket' = '3', 'bucket-key' = 's,id')"},
}

// columns are those that predicates over a table of the shape are about: its keys
// come up more often.
func (s shape) columns() []randomColumn {
	out := append([]randomColumn{idColumn, idColumn}, randomColumns...)
	for _, c := range slices.Clone(out)[1:] {
		if slices.Contains(s.keys, c.name) {
			out = append(out, c, c, c)
		}
	}
	return out
}

// point is a predicate that allows few values of what tells the bucket.
func (s shape) point(r *rand.Rand, used map[string]bool) string {
	var tests []string
	for _, c := range append([]randomColumn{idColumn}, randomColumns...) {
		if slices.Contains(s.bucket, c.name) {
			used[c.name] = true
			tests = append(tests, pick(r, []string{
				c.name + " = " + pick(r, c.literals), c.name + " IN (" + pick(r, c.literals) + ", " + pick(r, c.literals) + ")",
			}))
		}
	}
	return strings.Join(tests, " AND ")
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func randomTable(w *world, r *rand.Rand, name string, sh shape) {
	w.Helper()
	columns := "id INT NOT NULL"
	for _, c := range randomColumns {
		columns += ", " + c.name + " " + c.typ
		if slices.Contains(sh.keys, c.name) {
			columns += " NOT NULL"
		}
	}
	w.does("CREATE TABLE " + name + " (" + columns + sh.tail)
	for file := range 4 {
		var rows []string
		few := map[string][]string{} // in a file a column has few values, so that it can be skipped
		for _, c := range randomColumns {
			values, n := c.values, 3
			if slices.Contains(sh.keys, c.name) || slices.Contains(sh.bucket, c.name) {
				// More, or few rows are left. NaN is refused there.
				values, n = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "NaN" }), 5
			}
			for range n {
				few[c.name] = append(few[c.name], pick(r, values))
			}
		}
		for i := range 20 {
			row := fmt.Sprint(r.IntN(20) + file*10 + i/10 - 10)
			for _, c := range randomColumns {
				if r.IntN(6) == 0 && !slices.Contains(sh.keys, c.name) {
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
func randomPredicate(r *rand.Rand, columns []randomColumn, depth int, used map[string]bool) string {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := randomPredicate(r, columns, depth-1, used), randomPredicate(r, columns, depth-1, used)
		return pick(r, []string{"(" + a + " AND " + b + ")", "(" + a + " OR " + b + ")", "NOT (" + a + ")", "NOT (" + a + " AND " + b + ")", "(" + a + ") IS NOT TRUE"})
	}
	c := pick(r, columns)
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
		list := pick(r, c.literals)
		for range pick(r, []int{1, 1, 2, 9}) {
			list += ", " + pick(r, c.literals)
		}
		return name + pick(r, []string{" IN (", " NOT IN ("}) + list + ")"
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

// scans notes what was planned.
type scans struct {
	mu  sync.Mutex
	all []event.ScanPlanned
}

func (s *scans) note(p event.ScanPlanned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, p)
}

// take are the scans since it was called last.
func (s *scans) take() []event.ScanPlanned {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.all
	s.all = nil
	return out
}

func TestPushdownChangesNothing(t *testing.T) {
	var planned scans
	listener := &event.Listener{ScanPlanned: planned.note}
	w := newWorldOf(t, tarn.Config{Components: tarn.Components{Listener: listener}}, tarnsql.Options{Threads: 1})
	off := w.open(tarnsql.Options{Threads: 1, Database: "shop", TempDir: t.TempDir(), NoPushdown: true, Allocator: w.mem})
	defer off.Close()
	const predicates = 50
	statements := 8
	if testing.Short() {
		statements = 2
	}
	r := rand.New(rand.NewPCG(7, 9))
	matching, empty := map[string]int{}, map[string]int{} // predicates about a column that have rows, and that have none
	total := 0
	for i, sh := range shapes {
		name := fmt.Sprintf("t%d", i)
		randomTable(w, r, name, sh)
		columns := sh.columns()
		files, buckets := 0, 0 // scans that left files out by what they hold, and by where they lie
		planned.take()
		for range statements {
			// Each SELECT of the UNION has a reference and a predicate of its own; without
			// push-down one scan answers all of them.
			selects, tests := make([]string, predicates), make([]string, predicates)
			about := make([]map[string]bool, predicates)
			for q := range selects {
				about[q] = map[string]bool{}
				var p string
				if q < 3 && len(sh.bucket) > 0 {
					p = sh.point(r, about[q])
				} else {
					p = randomPredicate(r, columns, 3, about[q])
				}
				selects[q] = fmt.Sprintf("SELECT %d AS q, t.id, t.s FROM %s t WHERE %s", q, name, p)
				tests[q] = fmt.Sprintf("CASE WHEN %s THEN %d END", p, q)
			}
			all := "SELECT q, id, s FROM (SELECT unnest([" + strings.Join(tests, ", ") + "]) AS q, t.id, t.s FROM " + name + " t) WHERE q IS NOT NULL ORDER BY ALL"
			want, err := text(off, all)
			if err != nil {
				t.Fatalf("%s: %v", all, err)
			}
			whole := planned.take()[0]
			sql := strings.Join(selects, "\nUNION ALL ") + "\nORDER BY ALL"
			got, err := text(w.db, sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for _, p := range planned.take() {
				if p.FilesSkipped > 0 {
					files++
				}
				if p.FilesKept+p.FilesSkipped < whole.FilesKept {
					buckets++
				}
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
		if files == 0 || buckets == 0 && len(sh.bucket) > 0 {
			t.Errorf("%s%s: %d scans left out files, %d buckets", name, sh.tail, files, buckets)
		}
	}
	if !testing.Short() && total < 5000 {
		t.Errorf("%d predicates", total)
	}
	for _, c := range append([]randomColumn{idColumn}, randomColumns...) {
		if matching[c.name] < total/100 || empty[c.name] < total/1000 {
			t.Errorf("%s: %d predicates have rows, %d have none, of %d", c.name, matching[c.name], empty[c.name], total)
		}
	}
	differentialCovers(w, off, len(shapes))
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
	randomTable(w, r, "a", shapes[0])
	randomTable(w, r, "b", shapes[1])
	for range 25 {
		join := pick(r, []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"})
		p, q := randomPredicate(r, randomColumns, 2, nil), randomPredicate(r, randomColumns, 1, nil)
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
