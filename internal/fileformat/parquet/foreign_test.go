package parquet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// foreignFields are the columns of testdata/make.py as a table would have them.
// The ids differ from the files', which have none or their own.
func foreignFields(name string) []types.Field {
	list := []string{
		"b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INT", "i64 BIGINT", "u8 SMALLINT", "u16 INT", "u32 BIGINT", "f FLOAT", "d DOUBLE",
		"s STRING", "ls STRING", "y BYTES", "fy BINARY(3)", "day DATE", "t32 TIME(3)", "t64 TIME(3)", "ts_ms TIMESTAMP(3)", "ts_us TIMESTAMP(6)",
		"tz_us TIMESTAMP(6) WITH LOCAL TIME ZONE", "dec9 DECIMAL(9,2)", "dec18 DECIMAL(18,3)", "dec38 DECIMAL(38,1)",
	}
	if strings.Contains(name, "nested") {
		list = []string{
			"l ARRAY<INT>", "ll ARRAY<ARRAY<STRING>>", "st ROW<a BIGINT, b ROW<c STRING, l ARRAY<SMALLINT>>>", "m MAP<STRING, INT>",
			"lst ARRAY<ROW<x INT, y STRING>>",
		}
	}
	var out []types.Field
	for i, s := range list {
		name, typ, _ := strings.Cut(s, " ")
		out = append(out, field(100+i, name, typ))
	}
	return out
}

var foreignFiles = []string{
	"pyarrow-scalars-v1", "pyarrow-scalars-v2", "pyarrow-scalars-delta", "pyarrow-scalars-split", "pyarrow-scalars-int96",
	"pyarrow-nested-v1", "pyarrow-nested-v2", "duckdb-scalars", "duckdb-scalars-v2", "duckdb-nested",
}

func TestReadsFilesOfOthers(t *testing.T) {
	for _, name := range foreignFiles {
		t.Run(name, func(t *testing.T) {
			alloc := checked(t)
			f := testFile(t, name+".parquet", alloc)
			expected := "pyarrow-scalars.jsonl"
			if strings.Contains(name, "nested") {
				expected = "pyarrow-nested.jsonl"
			}
			data, err := os.ReadFile(filepath.Join("testdata", expected))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.TrimSpace(string(data)), "\n")
			fields := foreignFields(name)
			for _, req := range []fileformat.ReadRequest{{Columns: fields}, {Columns: fields, BatchRows: 9, Workers: 2}} {
				if diff := cmp.Diff(want, jsonl(t, f, req)); diff != "" {
					t.Fatalf("rows differ (−theirs +Tarn)\n%s", diff)
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

func jsonl(t testing.TB, f *File, req fileformat.ReadRequest) []string {
	t.Helper()
	return formattest.JSONL(t, f, req)
}

// TestOtherTypes reads columns as types that hold the same values, and expects
// a refusal by name for those that do not.
func TestOtherTypes(t *testing.T) {
	formattest.OtherTypes(t, func(t *testing.T) fileformat.File { return testFile(t, "pyarrow-scalars-v1.parquet", checked(t)) }, 1, []formattest.OtherType{
		{"i8", "INT", 0, "-29"},
		{"i8", "BIGINT", 0, "-29"},
		{"i32", "BIGINT", 0, "-1930000000"},
		{"i64", "INT", tarnerr.Invalid, ""},
		{"u8", "TINYINT", tarnerr.Invalid, ""},
		{"u8", "INT", 0, "191"},
		{"f", "DOUBLE", 0, "-6.75"},
		{"s", "BYTES", 0, "hex:6772c3bc6e2d30"},
		{"ts_us", "TIMESTAMP(3)", 0, "1969-12-31T23:59:58.777"},
		{"ts_us", "TIMESTAMP(9)", 0, "1969-12-31T23:59:58.777011"},
		{"ts_us", "TIMESTAMP(6) WITH LOCAL TIME ZONE", 0, "1969-12-31T23:59:58.777011Z"},
		{"ts_ms", "TIMESTAMP(6)", 0, "1969-12-31T23:59:58.777"},
		{"dec9", "DECIMAL(12,2)", 0, "-0.19"},
		{"dec9", "DECIMAL(9,3)", tarnerr.Unsupported, ""},
		{"dec38", "DECIMAL(20,1)", tarnerr.Invalid, ""},
		{"i32", "STRING", tarnerr.Unsupported, ""},
		{"s", "INT", tarnerr.Unsupported, ""},
		{"b", "INT", tarnerr.Unsupported, ""},
		{"day", "TIMESTAMP(3)", tarnerr.Unsupported, ""},
		{"i32", "ARRAY<INT>", tarnerr.Unsupported, ""},
		{"d", "ROW<a INT>", tarnerr.Unsupported, ""},
	})
}
