package rowtext

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// What would be stored as something else than it says is refused.
func TestAlteredTextIsRefused(t *testing.T) {
	fs := fields(t, "id INT", "s STRING", "c CHAR(3)", "v VARCHAR(3)", "b BINARY(2)", "vb VARBINARY(2)", "m MAP<STRING, INT>", "r ROW<x INT>")
	for line, want := range map[string]string{
		`{"s":"\ud800"}`:          "half a surrogate pair",
		`{"s":"\udc00\ud800"}`:    "half a surrogate pair",
		`{"s":"\ud800x"}`:         "half a surrogate pair",
		`{"id":1,"id":2}`:         `"id" is given twice`,
		`{"r":{"x":1,"x":2}}`:     `"x" is given twice`,
		`{"m":[["a",1],["a",2]]}`: "key given twice",
		`{"m":{"a":1,"a":2}}`:     `"a" is given twice`,
		`{"c":"abcd"}`:            "4 characters in a CHAR(3)",
		`{"v":"ééééé"}`:           "5 characters in a VARCHAR(3)",
		`{"b":"hex:000102"}`:      "3 bytes in a BINARY(2)",
		`{"vb":"hex:000102"}`:     "3 bytes in a VARBINARY(2)",
		`{"id":1`:                 "not a JSON object",
		`{"id":`:                  "not a JSON object",
		`{"id":1]`:                "not a JSON object",
		`{"s":"` + "\x01" + `"}`:  "not a JSON object",
		`{"id":1}` + strings.Repeat(" ", 9) + `{}`: "text after",
	} {
		r, err := ReadJSONL(strings.NewReader(line), fs, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Next(context.Background()); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	var out bytes.Buffer
	in := `{"id":null,"s":"\ud83d\ude00\\ud800","c":"éé","v":null,"b":null,"vb":null,"m":null,"r":null}` + "\n"
	roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
		return ReadJSONL(strings.NewReader(in), fs, ReadOptions{Mem: mem})
	}, NewJSONL(&out, fs, false))
	if want := strings.Replace(in, `\ud83d\ude00`, "\U0001f600", 1); out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// The empty string and null are told apart, as is a string that reads like null.
func TestEmptyStringsInCSV(t *testing.T) {
	fs := fields(t, "a STRING", "b STRING", "n INT")
	for _, null := range []string{"", "NULL"} {
		in := `{"a":"","b":null,"n":null}` + "\n" + `{"a":"NULL","b":"x,\"y\"\u000a","n":1}` + "\n" + `{"a":" ","b":"","n":null}` + "\n"
		var csvText, again bytes.Buffer
		roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
			return ReadJSONL(strings.NewReader(in), fs, ReadOptions{Mem: mem})
		}, NewCSV(&csvText, fs, false, 0, null))
		text := csvText.String()
		roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
			return ReadCSV(strings.NewReader(text), fs, ReadOptions{Mem: mem, Header: true, Null: null})
		}, NewJSONL(&again, fs, false))
		if again.String() != in {
			t.Errorf("null %q: through\n%s\nto\n%s", null, text, again.String())
		}
	}
}

// So is a VARIANT whose JSON reads like null; what is no JSON is null in quotes, too.
func TestVariantsThatReadLikeNullInCSV(t *testing.T) {
	fs := fields(t, "v VARIANT", "n INT")
	for _, null := range []string{"null", "1", "", "NULL"} {
		in := `{"v":"null","n":null}` + "\n" + `{"v":null,"n":2}` + "\n" + `{"v":"1","n":3}` + "\n"
		var csvText, again bytes.Buffer
		roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
			return ReadJSONL(strings.NewReader(in), fs, ReadOptions{Mem: mem})
		}, NewCSV(&csvText, fs, false, 0, null))
		text := csvText.String()
		roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
			return ReadCSV(strings.NewReader(text), fs, ReadOptions{Mem: mem, Header: true, Null: null})
		}, NewJSONL(&again, fs, false))
		if again.String() != in {
			t.Errorf("null %q: through\n%s\nto\n%s", null, text, again.String())
		}
	}
	var out bytes.Buffer
	roundTrip(t, fs, false, func(mem memory.Allocator) (batch.Reader, error) {
		return ReadCSV(strings.NewReader("\"NULL\",1\n"), fs, ReadOptions{Mem: mem, Null: "NULL"})
	}, NewJSONL(&out, fs, false))
	if want := `{"v":null,"n":1}` + "\n"; out.String() != want {
		t.Errorf("a quoted NULL is %s", out.String())
	}
}

func TestRejectedTextIsWhole(t *testing.T) {
	fs := fields(t, "id INT NOT NULL", "s STRING")
	var told []string
	opts := ReadOptions{Reject: func(e *RowError, text string) error {
		told = append(told, text)
		return nil
	}}
	r, err := ReadCSV(strings.NewReader("1,a\n\n7,x\"y\n\nx,\"two\nlines\"\n2,b\r\ny,c\r\n"), fs, opts)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(context.Background())
	if err != nil || rec.NumRows() != 2 {
		t.Fatal(rec, err)
	}
	if r.Line(0) != 1 || r.Line(1) != 7 {
		t.Errorf("rows on lines %d and %d", r.Line(0), r.Line(1))
	}
	if want := []string{`7,x"y`, "x,\"two\nlines\"", "y,c"}; strings.Join(told, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", told, want)
	}
	if _, err := r.Next(context.Background()); err != io.EOF {
		t.Error(err)
	}
	r.Close()
}

// A quote that is never closed swallows all that follows: that is no row to set
// aside, it ends the reading where it began.
func TestUnclosedQuoteEndsTheReading(t *testing.T) {
	fs := fields(t, "id INT NOT NULL", "s STRING")
	rejected := 0
	opts := ReadOptions{Reject: func(*RowError, string) error { rejected++; return nil }}
	r, err := ReadCSV(strings.NewReader("1,a\n2,\"unclosed\n3,c\n4,d\n"), fs, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Next(context.Background())
	if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "quote") || rejected != 0 {
		t.Errorf("%v, %d rejected", err, rejected)
	}
}
