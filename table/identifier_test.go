package table

import (
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestParseIdentifier(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Identifier
		form string // what String gives; "" = text
	}{
		{"db.t", Identifier{Database: "db", Table: "t"}, ""},
		{"t", Identifier{Database: "default", Table: "t"}, "default.t"},
		{"db.t$snapshots", Identifier{Database: "db", Table: "t", System: "snapshots"}, ""},
		{"db.t$branch_b1", Identifier{Database: "db", Table: "t", Branch: "b1"}, ""},
		{"db.t$branch_b1$files", Identifier{Database: "db", Table: "t", Branch: "b1", System: "files"}, ""},
		{"Ünï.数据", Identifier{Database: "Ünï", Table: "数据"}, ""},
		{"db.t$branch_v1.0", Identifier{Database: "db", Table: "t", Branch: "v1.0"}, ""},
		{"db.with space", Identifier{Database: "db", Table: "with space"}, ""},
	} {
		got, err := ParseIdentifier(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.text, got, err)
			continue
		}
		form := tt.form
		if form == "" {
			form = tt.text
		}
		if got.String() != form {
			t.Errorf("%q is written %q", tt.text, got.String())
		}
	}
	for _, text := range []string{
		"", ".", ".t", "db.", "a.b.c", "db.t$", "db.t$branch_", "db.t$branch_b$", "db.t$a$b", "db.t$branch_b$a$c",
		"../x.t", "db./etc", `db.a\b`, "db.a\tb", "db.a\x00", " .t",
		"db.t$branch_../x", "db.t$branch_a/b", `db.t$branch_a\b`, "db.t$branch_main", "db.t$branch_12", "db.t$branch_a\n",
	} {
		if got, err := ParseIdentifier(text); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseIdentifier(f *testing.F) {
	for _, s := range []string{"db.t", "t$branch_x$files", "..", "a.b.c", "$", "a.$x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseIdentifier(text)
		if err != nil {
			return
		}
		again, err := ParseIdentifier(id.String())
		if err != nil || again != id {
			t.Fatalf("%q: %+v is written %q, which reads %+v, %v", text, id, id.String(), again, err)
		}
	})
}
