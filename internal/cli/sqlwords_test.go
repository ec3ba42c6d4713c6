package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// FuzzWords: whatever stands around the cursor, what is completed lies before it,
// and what is put in can be read as the name it stands for.
func FuzzWords(f *testing.F) {
	for _, s := range []string{
		"SELECT o.", `SELECT "a`, "SELECT `", "FROM a, b", "x.y.z.", "SELECT $$", "--", "/*", "e'", `\d `, `\c "a".`, `\i /`, "DROP TABLE IF EXISTS ", "1.", "表.",
	} {
		f.Add(s, " FROM t o, u;", "na me")
	}
	f.Fuzz(func(t *testing.T, before, after, name string) {
		w := &sqlWords{query: func(_ context.Context, sql string) ([][]string, error) {
			if len(sql)%3 == 0 {
				return nil, errors.New("no such table")
			}
			return [][]string{{name}, {"other"}}, nil
		}}
		from, found := w.candidates(context.Background(), before+after, len(before))
		if from < 0 || from > len(before) {
			t.Fatalf("from %d of %d", from, len(before))
		}
		for _, c := range found {
			if c == "" && name != "" {
				t.Errorf("an empty candidate for %q", before)
			}
		}
		written := sqlWord{}.written(name)
		if parts, err := nameParts(written); name != "" && !strings.Contains(name, `"`) && (err != nil || len(parts) != 1 || parts[0] != name) {
			t.Errorf("%q is written %s and read as %q, %v", name, written, parts, err)
		}
	})
}

func TestReady(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  \n": true, "-- only a comment": true, ";": true, "SELECT 1": false, "SELECT 1;": true, "SELECT 1; -- done": true,
		"SELECT ';": false, "SELECT ';';": true, "SELECT $$;": false, "SELECT $$;$$;": true, "/* ;": false, "SELECT 1; SELECT": false,
		`\d`: true, `  \d t`: true, "exit": true, "quit;": true, "help": true, "exit now": false,
	} {
		if got := ready(text); got != want {
			t.Errorf("ready(%q) = %v", text, got)
		}
	}
}
