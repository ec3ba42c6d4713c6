package sqltext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLex(t *testing.T) {
	for _, c := range []struct {
		src  string
		want string // tokens, each with the letter of its kind
	}{
		{"SELECT a.b FROM `x``y` -- end", "W:SELECT W:a S:. W:b W:FROM Q:`x``y`"},
		{`orders$snapshots "o $"`, `W:orders$snapshots Q:"o $"`},
		{"1.5e-3+.5 2e x_1", "N:1.5e-3 S:+ N:.5 N:2 W:e W:x_1"},
		{"'it''s' e'\\'' $$a;b$$ $t$ $$ $t$ $1", "T:'it''s' T:e'\\'' T:$$a;b$$ T:$t$ $$ $t$ S:$ N:1"},
		{"a<=b<>c::int=>d /* x /* y */ z */ größe", "W:a S:<= W:b S:<> W:c S::: W:int S:=> W:d W:größe"},
		{"a /*+ options('x' = '1') */ b /*+ BROADCAST(a) */ /*+", "W:a H:/*+ options('x' = '1') */ W:b U:/*+"},
		{"a 'b", "W:a U:'b"},
		{"a /* b", "W:a U:/* b"},
		{"a $$b", "W:a U:$$b"},
		{"", ""},
	} {
		var got []string
		for _, tok := range Lex(c.src) {
			if c.src[tok.Start:tok.End()] != tok.Text {
				t.Errorf("%q: token %q is not at %d", c.src, tok.Text, tok.Start)
			}
			got = append(got, "WQTNSHU"[tok.Kind:tok.Kind+1]+":"+tok.Text)
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q: %s", c.src, d)
		}
	}
}

func TestSplit(t *testing.T) {
	got := Split("  SELECT ';' -- a;b\n ; ; INSERT INTO t VALUES ($$;$$);\n/* ; */ SELECT 2 ")
	want := []Statement{
		{"SELECT ';'", 2, true},
		{"INSERT INTO t VALUES ($$;$$)", 25, true},
		{"SELECT 2", 63, false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Split(" ; -- x"); len(got) != 0 {
		t.Errorf("statements of nothing: %v", got)
	}
	if got := Split("SELECT 'a;"); len(got) != 1 || got[0].Ended {
		t.Errorf("an open quote: %v", got)
	}
}

func TestPointAt(t *testing.T) {
	script := "SELECT 1;\nSELECT 'ü', foo FROM t"
	want := "\n  LINE 2: SELECT 'ü', foo FROM t\n                      ^"
	if d := cmp.Diff(want, PointAt(script, strings.Index(script, "foo"))); d != "" {
		t.Error(d)
	}
	long := strings.Repeat("é", 300)
	shown := PointAt(long, 400)
	lines := strings.Split(shown, "\n")
	if len(lines) != 3 || []rune(lines[2])[len([]rune(lines[2]))-1] != '^' || !strings.HasSuffix(lines[1], " …") {
		t.Errorf("a long line: %q", shown)
	}
	if PointAt("x", 5) != "" || PointAt("x", -1) != "" {
		t.Error("a place outside the text")
	}
}

func FuzzLex(f *testing.F) {
	for _, s := range []string{"SELECT 1", "'", "`a``", "$x$y$x$", "/*/**/", "é.\xff", "1e+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		end := 0
		for _, tok := range Lex(src) {
			if tok.Text == "" || tok.Start < end || src[tok.Start:tok.End()] != tok.Text {
				t.Fatalf("token %+v after %d", tok, end)
			}
			end = tok.End()
			if n := tok.Name(); len(n) > len(tok.Text) {
				t.Fatalf("token %+v is named %q", tok, n)
			}
		}
		for _, s := range Split(src) {
			if src[s.Offset:s.Offset+len(s.Text)] != s.Text {
				t.Fatalf("statement %+v", s)
			}
		}
		for at := range len(src) + 1 {
			PointAt(src, at)
		}
	})
}
