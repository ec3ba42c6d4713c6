//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

// What is pushed down, in words. The tables a and b have the same columns.
func TestWhatIsPushedDown(t *testing.T) {
	e, err := openEngine(Options{TempDir: t.TempDir()}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	fields := types.MustParse("ROW<id INT, s STRING, d DOUBLE, day DATE, ok BOOLEAN, c DECIMAL(10, 2), ts TIMESTAMP(3)>").Fields
	for _, c := range []struct{ sql, want string }{
		{"SELECT * FROM a", "a: nil"},
		{"SELECT * FROM a WHERE id = 5 AND 'x' < s", "a: [[{id = 5} {s > x}]]"},
		{"SELECT * FROM a WHERE id = 5 AND abs(id) = 3", "a: [[{id = 5}]]"},
		{"SELECT * FROM a WHERE id = 5 OR abs(id) = 3", "a: nil"},
		{"SELECT * FROM a WHERE NOT (id = 5 AND abs(id) = 3)", "a: nil"},
		{"SELECT * FROM a WHERE (id = 1 OR id = 2 AND abs(id) = 3)", "a: [[{id = 1} [{id = 2}]]]"},
		{"SELECT * FROM a WHERE id IN (1, 2) AND s LIKE 'x%' AND day BETWEEN '2024-01-01' AND DATE '2024-02-01' AND ok AND s IS NOT NULL",
			"a: [[{id [1 2]} {s x} [{day >= 19723} {day <= 19754}] {ok = true} {{s}}]]"},
		{"SELECT * FROM a WHERE id = '5'", "a: nil"},
		{"SELECT * FROM a WHERE s = 5", "a: nil"},
		{"SELECT * FROM a WHERE c >= 1.5 AND d < 0.1", "a: [[{c >= 1.5} {d < 0.1}]]"},
		{"SELECT * FROM a WHERE ts > '2024-01-01 00:00:00.0001'", "a: nil"},
		{"SELECT * FROM a x WHERE x.ID = 5", "a: [{id = 5}]"},
		{"SELECT * FROM a x(k) WHERE k = 5", "a: nil"},
		{"SELECT * FROM a TABLESAMPLE 10% WHERE id = 5", "a: nil"},
		{"SELECT * FROM a JOIN b ON a.id = b.id AND a.s = 'x' WHERE b.id > 3", "a: [[{s = x}]] b: [{id > 3}]"},
		{"SELECT * FROM a JOIN b USING (id) WHERE id = 3", "a: nil b: nil"},
		{"SELECT * FROM a LEFT JOIN b ON a.id = b.id AND b.s = 'x' WHERE a.id > 3 AND b.id = 4", "a: nil b: nil"},
		{"SELECT * FROM a, (SELECT 1 AS z) q WHERE a.id = 3 AND s = 'x'", "a: [[{id = 3}]]"},
		{"WITH q AS (SELECT * FROM b WHERE id = 1) SELECT * FROM a WHERE id IN (SELECT id FROM q) AND id = 2", "b: [{id = 1}] a: [[{id = 2}]]"},
	} {
		source := original(c.sql, c.sql, 0)
		tree, err := e.serialize(context.Background(), source)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		s, err := examine(source, tree)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		for _, r := range s.references {
			r.scan = &scan{fields: fields}
		}
		s.push("UTC")
		got := make(map[string]string)
		for _, r := range s.references {
			got[r.name()] = "nil"
			if r.scan.where != nil {
				got[r.name()] = fmt.Sprint(r.scan.where)
			}
		}
		var words []string
		for _, w := range strings.SplitAfter(c.want, " ") {
			if name, ok := strings.CutSuffix(w, ": "); ok {
				words = append(words, name+": "+got[name])
			}
		}
		if text := strings.Join(words, " "); text != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.sql, text, c.want)
		}
	}
}
