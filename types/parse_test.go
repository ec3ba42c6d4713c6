package types

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"boolean":                               "BOOLEAN",
		"Integer":                               "INT",
		"INT NULL":                              "INT",
		"int not  null":                         "INT NOT NULL",
		"DOUBLE PRECISION":                      "DOUBLE",
		"DEC":                                   "DECIMAL(10, 0)",
		"numeric(5)":                            "DECIMAL(5, 0)",
		"DECIMAL(38,38)":                        "DECIMAL(38, 38)",
		"CHAR":                                  "CHAR(1)",
		"VARCHAR(20)":                           "VARCHAR(20)",
		"VARCHAR(2147483647)":                   "STRING",
		"BYTES":                                 "BYTES",
		"VARBINARY(2147483647) NOT NULL":        "BYTES NOT NULL",
		"BINARY(3)":                             "BINARY(3)",
		"TIME":                                  "TIME(0)",
		"TIME(3) WITHOUT TIME ZONE":             "TIME(3)",
		"TIMESTAMP":                             "TIMESTAMP(6)",
		"TIMESTAMP(9) WITHOUT TIME ZONE":        "TIMESTAMP(9)",
		"timestamp_ltz(3)":                      "TIMESTAMP(3) WITH LOCAL TIME ZONE",
		"TIMESTAMP WITH LOCAL TIME ZONE":        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"VARIANT":                               "VARIANT",
		"BLOB":                                  "BLOB",
		"GEOMETRY":                              "GEOMETRY(OGC:CRS84)",
		"GEOGRAPHY('EPSG 4326', Karney)":        "GEOGRAPHY('EPSG 4326', karney)",
		"VECTOR<FLOAT,3>":                       "VECTOR<FLOAT, 3>",
		"INT ARRAY":                             "ARRAY<INT>",
		"INT NOT NULL ARRAY NOT NULL MULTISET":  "MULTISET<ARRAY<INT NOT NULL> NOT NULL>",
		"ARRAY<ARRAY<DECIMAL(3,1)>>":            "ARRAY<ARRAY<DECIMAL(3, 1)>>",
		"MAP<STRING,INT NOT NULL> NOT NULL":     "MAP<STRING, INT NOT NULL> NOT NULL",
		"ROW<a INT, b STRING NOT NULL 'it''s'>": "ROW<`a` INT, `b` STRING NOT NULL COMMENT 'it''s'>",
		"ROW(`x``y` INT COMMENT 'c')":           "ROW<`x``y` INT COMMENT 'c'>",
		"ROW<>":                                 "ROW<>",
		"ROW<row ROW<int INT> NOT NULL>":        "ROW<`row` ROW<`int` INT> NOT NULL>",
	} {
		got, err := Parse(in)
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q) = %v, %v, want %s", in, got, err, want)
		}
	}
}

// The order in which Java hands out ids: a member after the members below it.
func TestParseMemberIDs(t *testing.T) {
	r := MustParse("ROW<a INT, c ROW<x INT, y ARRAY<ROW<z INT>>>, d INT>")
	c := r.Fields[1]
	y := c.Type.Fields[1]
	got := []int{r.Fields[0].ID, c.Type.Fields[0].ID, y.Type.Element.Fields[0].ID, y.ID, c.ID, r.Fields[2].ID}
	for i, id := range got {
		if id != i {
			t.Fatalf("ids in Java's order = %v, want 0…5", got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "expected a type",
		"INT INT":                     "unexpected 'INT'",
		"STRNG":                       "no such type",
		"DECIMAL(39)":                 "between 1 and 38",
		"DECIMAL(3,4)":                "scale",
		"DECIMAL(0)":                  "between 1 and 38",
		"CHAR(0)":                     "length",
		"VARCHAR(2147483648)":         "out of range",
		"TIMESTAMP(10)":               "precision",
		"TIME(":                       "number",
		"ARRAY<INT":                   "expected '>'",
		"MAP<INT>":                    "expected ','",
		"ROW<a>":                      "expected a type",
		"ROW<a INT, a INT>":           "twice",
		"ROW<a INT,>":                 "name",
		"ROW<` ` INT>":                "blank",
		"ROW<a INT 'x>":               "unclosed",
		"VECTOR<STRING, 3>":           "VECTOR holds",
		"VECTOR<INT, 0>":              "length",
		"INT NOT":                     "NULL",
		"GEOGRAPHY(x, flat)":          "no such algorithm",
		"TIMESTAMP WITH TIME ZONE":    "LOCAL",
		strings.Repeat("ARRAY<", 300): "too deeply",
	} {
		_, err := Parse(in)
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q) = %v, want %q in it", in, err, want)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, in := range []string{
		`{"id":1,"name":"a","type":"INT NOT NULL"}`,
		`{"id":2,"name":"q\"\\\u0001\n/é","type":"STRING","description":"<b>","defaultValue":"x"}`,
		`{"id":3,"name":"m","type":{"type":"MAP NOT NULL","key":"STRING NOT NULL","value":{"type":"ARRAY","element":"BIGINT"}}}`,
		`{"id":4,"name":"r","type":{"type":"ROW","fields":[{"id":5,"name":"x","type":"DECIMAL(10, 2)"},{"id":6,"name":"y","type":{"type":"MULTISET","element":"STRING"}}]}}`,
		`{"id":7,"name":"v","type":{"type":"VECTOR","element":"FLOAT","length":3}}`,
	} {
		var f Field
		if err := json.Unmarshal([]byte(in), &f); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := string(f.AppendJSON(nil)); got != in {
			t.Errorf("read and written again\n got %s\nwant %s", got, in)
		}
	}
}

func TestJSONMemberIDs(t *testing.T) {
	var got Type
	if err := json.Unmarshal([]byte(`{"type":"ROW","fields":[{"name":"a","type":"INT"},{"name":"b","type":"INT"}]}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Fields[0].ID != 0 || got.Fields[1].ID != 1 {
		t.Errorf("missing ids became %d, %d", got.Fields[0].ID, got.Fields[1].ID)
	}
	for _, in := range []string{
		`{"type":"ROW","fields":[{"id":1,"name":"a","type":"INT"},{"name":"b","type":"INT"}]}`,
		`{"type":"ROW","fields":[{"name":"a","type":"INT"},{"id":1,"name":"b","type":"INT"}]}`,
		`{"type":"ARRAY"}`, `{"type":"MAP","key":"INT"}`, `{"type":"VECTOR","element":"INT"}`,
		`{"type":"VECTOR","element":"STRING","length":2}`, `{"type":"SET","element":"INT"}`, `[]`, `7`, `null`, `{}`, `"INT`, `"INTT"`,
	} {
		if err := got.UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("%s was taken for %v", in, got)
		}
	}
	var f Field
	for _, in := range []string{`{"name":"a","type":"INT"}`, `{"id":1,"type":"INT"}`, `{"id":1,"name":"a"}`, `{"id":9999999999,"name":"a","type":"INT"}`} {
		if err := json.Unmarshal([]byte(in), &f); err == nil {
			t.Errorf("%s was taken for %v", in, f)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"INT NOT NULL", "ROW<a INT, b MAP<STRING, DECIMAL(3, 1)> 'c'>", "INT ARRAY MULTISET", "GEOGRAPHY('a b', karney)", "VECTOR<FLOAT, 3>", "ROW<`` INT>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			if !errors.Is(err, tarnerr.Invalid) {
				t.Fatalf("kind of %v", err)
			}
			return
		}
		again, err := Parse(got.String())
		if err != nil || !again.Equal(got) {
			t.Fatalf("%q -> %q -> %v, %v", s, got, again, err)
		}
		var decoded Type
		if err := json.Unmarshal(got.AppendJSON(nil), &decoded); err != nil || !decoded.Equal(got) && !strings.ContainsRune(got.String(), '\uFFFD') && isValid(got.String()) {
			t.Fatalf("%q through JSON -> %v, %v", got, decoded, err)
		}
	})
}

func isValid(s string) bool { return strings.ToValidUTF8(s, "") == s }

func FuzzTypeJSON(f *testing.F) {
	f.Add([]byte(`{"type":"ROW","fields":[{"id":5,"name":"x","type":"DECIMAL(10, 2)"}]}`))
	f.Add([]byte(`{"type":"VECTOR NOT NULL","element":"FLOAT","length":3}`))
	f.Add([]byte(`{"type":"MAP","key":"INT","value":{"type":"ARRAY","element":"INT"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, again Type
		if err := got.UnmarshalJSON(data); err != nil {
			return
		}
		if err := again.UnmarshalJSON(got.AppendJSON(nil)); err != nil || !again.Equal(got) {
			t.Fatalf("%s -> %v -> %v, %v", data, got, again, err)
		}
	})
}
