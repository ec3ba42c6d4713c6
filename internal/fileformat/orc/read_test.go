package orc

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// pyFields are the columns of pyarrow's files, which have no ids.
func pyFields(name string) []types.Field {
	list := []string{
		"id BIGINT", "b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INT", "i64 BIGINT", "f FLOAT", "d DOUBLE", "s STRING", "few STRING", "y BYTES",
		"day DATE", "ts TIMESTAMP(6)", "tz TIMESTAMP(6) WITH LOCAL TIME ZONE", "dec9 DECIMAL(9,2)", "dec38 DECIMAL(38,1)", "none INT", "full INT",
	}
	if strings.Contains(name, "nested") {
		list = []string{
			"l ARRAY<INT>", "ll ARRAY<ARRAY<STRING>>", "st ROW<a BIGINT, b ROW<c STRING, l ARRAY<SMALLINT>>>", "m MAP<STRING, INT>",
			"lst ARRAY<ROW<x INT, y STRING, ok BOOLEAN>>",
		}
	}
	var out []types.Field
	for i, s := range list {
		name, typ, _ := strings.Cut(s, " ")
		out = append(out, field(100+i, name, typ))
	}
	return out
}

func TestReadsPyarrowsFiles(t *testing.T) {
	for _, name := range testFiles(t) {
		if strings.HasPrefix(name, "java") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := testFile(t, name, checked(t))
			expected, _, _ := strings.Cut(name, "-")
			want := lines(testBytes(t, expected+".jsonl"))
			if f.RowCount() != int64(len(want)) {
				t.Errorf("%d rows, want %d", f.RowCount(), len(want))
			}
			fields := pyFields(name)
			for _, req := range []fileformat.ReadRequest{{Columns: fields}, {Columns: fields, BatchRows: 9, Workers: 3}, {Columns: fields, BatchRows: 1}} {
				if diff := cmp.Diff(want, jsonl(t, f, req)); diff != "" {
					t.Fatalf("rows differ (−pyarrow +Tarn)\n%s", diff)
				}
			}
			for i := range fields { // each alone, so that no column leans on another
				req := fileformat.ReadRequest{Columns: fields[i : i+1], BatchRows: 13}
				if got := jsonl(t, f, req); len(got) != len(want) {
					t.Errorf("column %s has %d rows", fields[i].Name, len(got))
				}
			}
		})
	}
}

// javaTypes are logical types that ORC does not tell.
var javaTypes = map[string]string{
	"tm0": "TIME(0)", "tm3": "TIME(3)", "bn": "BINARY(3)",
	"ts0": "TIMESTAMP(0)", "ts3": "TIMESTAMP(3)", "ts6": "TIMESTAMP(6)",
	"tz0": "TIMESTAMP(0) WITH LOCAL TIME ZONE", "tz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "tz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}

func TestReadsJavasFiles(t *testing.T) {
	for _, name := range []string{"java-scalar", "java-nested"} {
		t.Run(name, func(t *testing.T) {
			f := testFile(t, name+".orc", checked(t))
			fields := append([]types.Field(nil), f.Fields()...)
			for i, c := range fields {
				if s, ok := javaTypes[c.Name]; ok {
					fields[i].Type = types.MustParse(s)
				}
				if c.ID < 0 {
					t.Errorf("column %s has no id", c.Name)
				}
			}
			want := sorted(lines(testBytes(t, name+".jsonl")))
			for _, req := range []fileformat.ReadRequest{{Columns: fields}, {Columns: fields, BatchRows: 3, Workers: 2}} {
				if diff := cmp.Diff(want, sorted(jsonl(t, f, req))); diff != "" {
					t.Errorf("rows differ (−written +Tarn)\n%s", diff)
				}
			}
		})
	}
}

// TestColumnsAreFound by id where the file has ids, else by name; what the file
// does not have is null.
func TestColumnsAreFound(t *testing.T) {
	f := testFile(t, "java-scalar.orc", checked(t))
	got := jsonl(t, f, fileformat.ReadRequest{Columns: []types.Field{
		field(20, "midday", "TIME(0)"), field(0, "renamed", "INT"), field(99, "st", "STRING"), field(98, "new", "ROW<a INT>"),
	}})
	if want := `{"midday":"12:00:00","renamed":3,"st":null,"new":null}`; got[2] != want {
		t.Errorf("by id: %s, want %s", got[2], want)
	}
	f = testFile(t, "nested-zstd.orc", checked(t))
	got = jsonl(t, f, fileformat.ReadRequest{Columns: []types.Field{
		field(1, "st", "ROW<b ROW<nothing INT, c STRING>, z INT>"), field(2, "zz", "MAP<INT, INT>"),
	}})
	if want := `{"st":{"b":{"nothing":null,"c":"x4"},"z":null},"zz":null}`; got[4] != want {
		t.Errorf("by name: %s, want %s", got[4], want)
	}
	if want := `{"st":{"b":null,"z":null},"zz":null}`; got[1] != want {
		t.Errorf("a null member: %s, want %s", got[1], want)
	}
	if want := `{"st":null,"zz":null}`; got[3] != want {
		t.Errorf("a null row: %s, want %s", got[3], want)
	}
	if got := jsonl(t, f, fileformat.ReadRequest{Columns: []types.Field{field(1, "m", "MULTISET<STRING>")}}); got[2] != `{"m":[["k0",0],["k1",null]]}` {
		t.Errorf("a multiset: %s", got[2])
	}
}

// TestOtherTypes reads columns as types that hold the same values, and expects
// a refusal by name for those that do not.
func TestOtherTypes(t *testing.T) {
	formattest.OtherTypes(t, func(t *testing.T) fileformat.File { return testFile(t, "scalars-none.orc", checked(t)) }, 1, []formattest.OtherType{
		{"i8", "INT", 0, "-74"},
		{"i8", "BIGINT", 0, "-74"},
		{"i32", "BIGINT", 0, "-2119483648"},
		{"full", "TINYINT", tarnerr.Invalid, ""},
		{"full", "SMALLINT", 0, "1"},
		{"full", "TIME(3)", 0, "00:00:00.001"},
		{"full", "DATE", 0, "1970-01-02"},
		{"i64", "INT", tarnerr.Invalid, ""},
		{"f", "DOUBLE", 0, "-6.75"},
		{"s", "BYTES", 0, "hex:6772c3bc6e2d31"},
		{"s", "CHAR(3)", 0, "grün-1"},
		{"y", "STRING", 0, "\x00"},
		{"ts", "TIMESTAMP(3)", 0, "1969-12-03T23:59:58.777"},
		{"ts", "TIMESTAMP(9)", 0, "1969-12-03T23:59:58.777011"},
		{"ts", "TIMESTAMP(6) WITH LOCAL TIME ZONE", 0, "1969-12-03T23:59:58.777011Z"},
		{"tz", "TIMESTAMP(0)", 0, "1969-12-03T23:59:58.777"},
		{"dec9", "DECIMAL(12,2)", 0, "-19.69"},
		{"dec9", "DECIMAL(9,3)", tarnerr.Unsupported, ""},
		{"dec9", "DECIMAL(3,2)", tarnerr.Invalid, ""},
		{"dec38", "DECIMAL(20,1)", tarnerr.Invalid, ""},
		{"i32", "STRING", tarnerr.Unsupported, ""},
		{"s", "INT", tarnerr.Unsupported, ""},
		{"b", "INT", tarnerr.Unsupported, ""},
		{"day", "TIMESTAMP(3)", tarnerr.Unsupported, ""},
		{"i64", "DATE", tarnerr.Unsupported, ""},
		{"d", "FLOAT", tarnerr.Unsupported, ""},
		{"i32", "ARRAY<INT>", tarnerr.Unsupported, ""},
		{"d", "ROW<a INT>", tarnerr.Unsupported, ""},
		{"s", "VARIANT", tarnerr.Unsupported, ""},
	})
}

// TestRequests: a small file is one request, of a large one only the streams
// wanted are read.
func TestRequests(t *testing.T) {
	f := testFile(t, "scalars-stripes.orc", nil)
	jsonl(t, f, fileformat.ReadRequest{Columns: pyFields("scalars")})
	if f.Requests() != 1 {
		t.Errorf("%d requests for a file of %d bytes", f.Requests(), f.Size)
	}
	f = testFile(t, "scalars-stripes.orc", nil)
	f.tail.data = f.tail.data[len(f.tail.data)-1000:] // as if it were a large file
	f.tail.off = f.Size - 1000
	if got, want := jsonl(t, f, fileformat.ReadRequest{Columns: pyFields("scalars")}), lines(testBytes(t, "scalars.jsonl")); !cmp.Equal(got, want) {
		t.Error("rows differ without the tail")
	}
	if n := f.Requests(); n != 1+2*3 {
		t.Errorf("%d requests, want one for the footer and two per stripe", n)
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	w, err := fs.Create(ctx, testPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New().NewWriter(w, nil, fileformat.WriteOptions{}); !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "writing ORC files") {
		t.Errorf("writing: %v", err)
	}
	if _, err := fs.Stat(ctx, testPath); !errors.Is(err, tarnerr.NotFound) {
		t.Errorf("a refused file was left: %v", err)
	}
	if _, err := New().Open(ctx, fs, "/missing.orc", 100, nil); !errors.Is(err, tarnerr.NotFound) {
		t.Errorf("opening a missing file: %v", err)
	}
	f := testFile(t, "java-scalar.orc", nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.Read(ended, fileformat.ReadRequest{Columns: f.Fields()}); !errors.Is(err, context.Canceled) {
		t.Errorf("reading under an ended context: %v", err)
	}
	r, err := f.Read(ctx, fileformat.ReadRequest{Columns: f.Fields()[:1]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Next under an ended context: %v", err)
	}
	r.Close()
	if _, err := r.Next(ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("Next after Close: %v", err)
	}
}
