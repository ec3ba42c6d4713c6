package sqltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The files hold one statement a test and what it is read as: the command's
// type and what it holds, or the error with its place.
func TestCommands(t *testing.T) {
	for _, file := range []string{"create", "alter", "other", "refused"} {
		t.Run(file, func(t *testing.T) {
			datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "parse" {
					t.Fatalf("no command %s", d.Cmd)
				}
				c, err := ParseCommand(d.Input)
				var e *SyntaxError
				if errors.As(err, &e) {
					kind := "invalid"
					if e.Feature {
						kind = "unsupported"
					}
					return kind + ": " + e.Why + PointAt(d.Input, e.At) + "\n"
				}
				text, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				shown := nothing.ReplaceAllString(string(text), "")
				return strings.TrimPrefix(fmt.Sprintf("%T ", c), "sqltext.") + strings.ReplaceAll(shown, ",}", "}") + "\n"
			})
		})
	}
}

// nothing is what a command does not say.
var nothing = regexp.MustCompile(`"\w+":(null|false|""|\{"Parts":null,"At":0\}),?`)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, takes, leaves string
	}{
		{"ord%", "orders ORD", "xord or"},
		{"o_d%s", "orders odds", "os ods"},
		{"%", "a bc", ""},
		{"ord*", "orders ord", "xord"},
		{"a|b*c", "a bc bxxc A", "ab b c"},
		{"Größe", "größe", "grösse"},
		{"a.b", "a.b", "axb"},
		{"%a%b%", "ab xaxbx aab", "ba"},
	} {
		p, not := &Pattern{Text: c.pattern}, &Pattern{Text: c.pattern, Not: true}
		for _, n := range strings.Fields(c.takes) {
			if !p.Matches(n) || not.Matches(n) {
				t.Errorf("%s does not take %s", c.pattern, n)
			}
		}
		for _, n := range strings.Fields(c.leaves) {
			if p.Matches(n) || !not.Matches(n) {
				t.Errorf("%s takes %s", c.pattern, n)
			}
		}
	}
	if !(*Pattern)(nil).Matches("x") {
		t.Error("no pattern takes all")
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{
		"CREATE TABLE t (a ARRAY<INT> NOT NULL, PRIMARY KEY (a)) WITH ('a'='b')", "ALTER TABLE t SET (a-b=1)", "INSERT INTO t PARTITION (a = 1, b) (a) VALUES (1)",
		"DROP", "SHOW CREATE", "ALTER TABLE t ADD (a INT FIRST, b.c STRING AFTER a)", "ALTER TABLE t CHANGE a b INT", "SHOW TABLES IN x.y NOT LIKE 'a*'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		c, err := ParseCommand(sql)
		var e *SyntaxError
		switch {
		case err == nil && c == nil:
			t.Fatal("neither a command nor an error")
		case err != nil && (!errors.As(err, &e) || e.At < 0 || e.At > len(sql)):
			t.Fatalf("error %v outside the text", err)
		}
		if i, ok := c.(Insert); ok && i.QueryAt >= len(sql) {
			t.Fatalf("query at %d", i.QueryAt)
		}
	})
}
