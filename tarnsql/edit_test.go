//go:build cgo && !tarn_nosql

package tarnsql

import (
	"testing"
)

func TestStandard(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT `a``b` FROM t", "SELECT \"a`b\" FROM t"},
		{"SELECT * FROM default.t, x.default.u, default", `SELECT * FROM "default".t, x."default".u, default`},
		{"FROM t AT (VERSION => 1) AS b(x) WHERE x", "FROM t  AS b(x) AT (VERSION => 1) WHERE x"},
		{"FROM t VERSION AS OF 1", "FROM t AT (VERSION => 1)"},
		{"FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' - INTERVAL '1' DAY b JOIN u", "FROM t  b AT (TIMESTAMP => TIMESTAMP '2024-01-01' - INTERVAL '1' DAY) JOIN u"},
		{"FROM t TIMESTAMP AS OF 5 JOIN u VERSION AS OF 2 ON true", "FROM t AT (TIMESTAMP => to_timestamp(5)) JOIN u AT (VERSION => 2) ON true"},
		{"FROM t TIMESTAMP AS OF now() WHERE a", "FROM t AT (TIMESTAMP => now()) WHERE a"},
		{"FROM t TIMESTAMP AS OF current_timestamp - INTERVAL 1 HOUR", "FROM t AT (TIMESTAMP => current_timestamp - INTERVAL 1 HOUR)"},
		{"FROM t TIMESTAMP AS OF (now())", "FROM t AT (TIMESTAMP => (now()))"},
		{"FROM t VERSION AS OF 1 VERSION AS OF 2", "FROM t AT (VERSION => 1) VERSION AS OF 2"}, // which DuckDB refuses
		{"SELECT a AS version, b AS timestamp FROM t", "SELECT a AS version, b AS timestamp FROM t"},
		{"SELECT timestamp '2024-01-01' AS of FROM t", "SELECT timestamp '2024-01-01' AS of FROM t"},
	} {
		if got := original(c.text, c.text, 0).standard().text; got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
}

func FuzzStandard(f *testing.F) {
	for _, s := range []string{
		"FROM t VERSION AS OF 1 VERSION AS OF 2", "FROM t AT (VERSION => `x`) AS `b`", "x AT (TIMESTAMP => default.x) y AT (VERSION => 1) z", "t TIMESTAMP AS OF (1) + (2 a(", "a default.default.b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := original("; "+text, text, 2).standard()
		for at := range len(e.text) + 1 {
			if place := e.locate(at); place < 2 || place > len(text)+2 {
				t.Fatalf("byte %d of %q is from byte %d", at, e.text, place)
			}
			e.pointAt(at)
		}
	})
}
