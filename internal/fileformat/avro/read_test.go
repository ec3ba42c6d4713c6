package avro

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestReadsJavasFiles(t *testing.T) {
	for _, name := range javaFiles {
		t.Run(name, func(t *testing.T) {
			f := open(t, testBytes(t, name+".avro"), checked(t))
			fields := tableFields(t, name)
			want := lines(testBytes(t, name+".jsonl"))
			if name == "java-union" { // one of the table's two files
				rows := map[string]bool{}
				for _, l := range want {
					rows[l] = true
				}
				want = sorted(jsonl(t, f, fileformat.ReadRequest{Columns: fields}))
				for _, l := range want {
					if !rows[l] {
						t.Errorf("no such row: %s", l)
					}
				}
				if len(want) < 50 {
					t.Errorf("%d rows", len(want))
				}
			}
			for _, req := range []fileformat.ReadRequest{{Columns: fields}, {Columns: fields, BatchRows: 3}, {Columns: fields, BatchRows: 1}} {
				if diff := cmp.Diff(sorted(want), sorted(jsonl(t, f, req))); diff != "" {
					t.Errorf("rows differ (−written +Tarn)\n%s", diff)
				}
			}
			for i := range fields { // each alone: the others are passed over
				if got := jsonl(t, f, fileformat.ReadRequest{Columns: fields[i : i+1]}); len(got) != len(want) {
					t.Errorf("column %s has %d rows", fields[i].Name, len(got))
				}
			}
		})
	}
}

// TestFields: what a file says of its columns is what the table has, as far as
// Avro can tell.
func TestFields(t *testing.T) {
	lost := map[string]string{
		"ti": "INT", "si": "INT", "ch": "STRING", "vc": "STRING", "bn": "BYTES", "vb": "BYTES", "tm0": "TIME(3)", "ts0": "TIMESTAMP(3)",
		"tz0": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ms": "MAP<STRING, INT>",
	}
	for _, name := range javaFiles {
		f := open(t, testBytes(t, name+".avro"), nil)
		for i, want := range tableFields(t, name) {
			got := f.Fields()[i]
			if s, ok := lost[want.Name]; ok {
				want.Type = types.MustParse(s)
			}
			keys := strings.NewReplacer(" NOT NULL, ", ", ") // Avro's maps have no null keys
			if got.Name != want.Name || got.ID != -1 || keys.Replace(got.Type.String()) != keys.Replace(want.Type.String()) {
				t.Errorf("%s: column %v, want %v", name, got, want)
			}
		}
		if f.RowCount() != -1 {
			t.Errorf("%d rows without reading", f.RowCount())
		}
	}
}

// TestColumnsAreFoundByName, nested ones too; what the file does not have is null.
func TestColumnsAreFoundByName(t *testing.T) {
	f := open(t, testBytes(t, "java-nested.avro"), checked(t))
	got := jsonl(t, f, fileformat.ReadRequest{Columns: []types.Field{
		field(77, "r", "ROW<z INT, c ROW<e ARRAY<DOUBLE>, q ROW<x INT>>, b STRING>"), field(0, "none", "ARRAY<INT>"), field(9, "id", "BIGINT"),
	}, BatchRows: 2})
	want := []string{
		`{"r":{"z":null,"c":{"e":[1.5,null,-0.25],"q":null},"b":"b"},"none":null,"id":1}`,
		`{"r":{"z":null,"c":null,"b":null},"none":null,"id":2}`,
		`{"r":null,"none":null,"id":3}`,
		`{"r":{"z":null,"c":{"e":null,"q":null},"b":"x"},"none":null,"id":4}`,
	}
	if diff := cmp.Diff(want, got[:4]); diff != "" {
		t.Error(diff)
	}
	before := f.BlocksUnpacked()
	if got := jsonl(t, f, fileformat.ReadRequest{Columns: []types.Field{field(0, "none", "ROW<a INT>")}, From: 1, To: 4}); len(got) != 3 {
		t.Errorf("%d rows of no column", len(got))
	}
	if n := f.BlocksUnpacked() - before; n != 0 {
		t.Errorf("%d blocks unpacked for a column that is not there", n)
	}
	if _, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: []types.Field{field(0, "id", "INT"), field(1, "id", "INT")}}); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("a column twice: %v", err)
	}
}

// TestOtherTypes reads columns as types that hold the same values, and expects
// a refusal by name for those that do not.
func TestOtherTypes(t *testing.T) {
	formattest.OtherTypes(t, func(t *testing.T) fileformat.File { return open(t, testBytes(t, "java-scalar.avro"), checked(t)) }, 0, []formattest.OtherType{
		{"ti", "INT", 0, "127"},
		{"i", "BIGINT", 0, "2147483647"},
		{"i", "SMALLINT", tarnerr.Invalid, ""},
		{"bi", "INT", tarnerr.Invalid, ""},
		{"si", "TINYINT", tarnerr.Invalid, ""},
		{"ti", "DATE", 0, "1970-05-08"},
		{"f", "DOUBLE", 0, "3.4028234663852886E38"},
		{"st", "BYTES", 0, "hex:c3bc6ec3afe6bca2f09f9880"},
		{"bn", "BYTES", 0, "hex:ffffff"},
		{"ts6", "TIMESTAMP(3)", 0, "9999-12-31T23:59:59.999"},
		{"ts3", "TIMESTAMP(6)", 0, "9999-12-31T23:59:59.999"},
		{"ts3", "TIMESTAMP(9)", tarnerr.Invalid, ""},
		{"ts6", "TIMESTAMP(6) WITH LOCAL TIME ZONE", 0, "9999-12-31T23:59:59.999999Z"},
		{"d9", "DECIMAL(12,2)", 0, "9999999.99"},
		{"d9", "DECIMAL(9,3)", tarnerr.Unsupported, ""},
		{"d9", "DECIMAL(3,2)", tarnerr.Invalid, ""},
		{"d38", "DECIMAL(20,10)", tarnerr.Invalid, ""},
		{"d9", "BYTES", tarnerr.Unsupported, ""},
		{"i", "STRING", tarnerr.Unsupported, ""},
		{"st", "INT", tarnerr.Unsupported, ""},
		{"bo", "INT", tarnerr.Unsupported, ""},
		{"da", "TIMESTAMP(3)", tarnerr.Unsupported, ""},
		{"da", "INT", tarnerr.Unsupported, ""},
		{"tm3", "DATE", tarnerr.Unsupported, ""},
		{"bi", "DATE", tarnerr.Unsupported, ""},
		{"ts3", "BIGINT", tarnerr.Unsupported, ""},
		{"d", "FLOAT", tarnerr.Unsupported, ""},
		{"i", "ARRAY<INT>", tarnerr.Unsupported, ""},
		{"i", "MAP<INT, INT>", tarnerr.Unsupported, ""},
		{"d", "ROW<a INT>", tarnerr.Unsupported, ""},
		{"st", "VARIANT", tarnerr.Unsupported, ""},
	})
}

// TestRowRanges: every range of a file of many blocks is what a full read has
// there, and blocks outside are not unpacked.
func TestRowRanges(t *testing.T) {
	fields := []types.Field{field(0, "n", "BIGINT"), field(1, "s", "STRING")}
	var rows [][]types.Value
	for i := range 9000 {
		rows = append(rows, []types.Value{int64(i), strings.Repeat("x", i%60)})
	}
	for _, codec := range []string{"null", "zstd"} {
		rec := record(t, checked(t), fields, rows...)
		data, _ := write(t, fields, fileformat.WriteOptions{Compression: codec}, rec)
		rec.Release()
		f := open(t, data, checked(t))
		all := jsonl(t, f, fileformat.ReadRequest{Columns: fields})
		blocks := f.BlocksUnpacked()
		if len(all) != len(rows) || blocks < 5 {
			t.Fatalf("%d rows in %d blocks", len(all), blocks)
		}
		for _, r := range [][2]int64{{0, 1}, {0, 9000}, {1, 2}, {100, 7000}, {5000, 5000}, {8999, 9000}, {8999, 0}, {9000, 9100}, {20000, 0}, {3, 99999}} {
			to := min(r[1], 9000)
			if r[1] == 0 {
				to = 9000
			}
			var want []string
			if r[0] < to {
				want = all[r[0]:to]
			}
			got := jsonl(t, f, fileformat.ReadRequest{Columns: fields, From: r[0], To: r[1], BatchRows: 1000})
			if !cmp.Equal(got, want) {
				t.Errorf("%s: rows %d to %d: %d rows, want %d", codec, r[0], r[1], len(got), len(want))
			}
		}
		before := f.BlocksUnpacked()
		jsonl(t, f, fileformat.ReadRequest{Columns: fields, From: 8990})
		if n := f.BlocksUnpacked() - before; n != 1 {
			t.Errorf("%d blocks unpacked for the last rows", n)
		}
		for _, r := range [][2]int64{{-1, 0}, {0, -1}, {5, 4}} {
			if _, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: fields, From: r[0], To: r[1]}); !errors.Is(err, tarnerr.Invalid) {
				t.Errorf("rows %d to %d: %v", r[0], r[1], err)
			}
		}
	}
}

// TestRequests: a small file is one request, a large one a request per window.
func TestRequests(t *testing.T) {
	f := open(t, testBytes(t, "java-nested.avro"), nil)
	jsonl(t, f, fileformat.ReadRequest{Columns: tableFields(t, "java-nested")})
	if f.Requests() != 1 {
		t.Errorf("%d requests for a file of %d bytes", f.Requests(), f.Size)
	}
	fields := []types.Field{field(0, "s", "STRING")}
	rows := make([][]types.Value, 30)
	for i := range rows {
		rows[i] = []types.Value{strings.Repeat(string(rune('a'+i)), 100_000)}
	}
	rec := record(t, checked(t), fields, rows...)
	defer rec.Release()
	data, _ := write(t, fields, fileformat.WriteOptions{Compression: "null"}, rec)
	f = open(t, data, checked(t))
	if got := jsonl(t, f, fileformat.ReadRequest{Columns: fields}); len(got) != 30 || f.Requests() != 4 {
		t.Errorf("%d requests for %d rows of %d bytes", f.Requests(), len(got), len(data))
	}
}

func TestEnds(t *testing.T) { formattest.Ends(t, New(), testBytes(t, "java-scalar.avro")) }
