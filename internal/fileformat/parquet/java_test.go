package parquet

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/types"
)

func testFile(t testing.TB, name string, alloc memory.Allocator) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(data, alloc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

var javaFiles = []string{
	"java-scalar.parquet", "java-scalar-0.8.2.parquet", "java-nested.parquet", "java-kv.parquet", "java-variant.parquet",
}

// TestReadsJavasFiles compares every value with what Java reads from its files.
func TestReadsJavasFiles(t *testing.T) {
	for _, name := range []string{"java-scalar", "java-scalar-0.8.2", "java-nested"} {
		t.Run(name, func(t *testing.T) {
			alloc := checked(t)
			f := testFile(t, name+".parquet", alloc)
			fields := append([]types.Field(nil), f.Fields()...)
			for i, c := range fields {
				if c.Name == "tz9" { // INT96 does not say which of the two it is
					fields[i].Type.Root = types.TimestampLTZ
				}
			}
			for _, req := range []fileformat.ReadRequest{{Columns: fields}, {Columns: fields, BatchRows: 3, Workers: 2}} {
				r, err := f.Read(context.Background(), req)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				w := rowtext.NewJSONL(&out, fields, false)
				if err := eachBatch(r, w.Write); err != nil {
					t.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				want, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(lines(want), lines(out.Bytes())); diff != "" {
					t.Errorf("rows differ (−Java +Tarn)\n%s", diff)
				}
			}
		})
	}
}

// TestStatisticsAreJavas compares the summary of a file with what Java's writer
// put into the manifest for the same rows.
func TestStatisticsAreJavas(t *testing.T) {
	f := testFile(t, "java-scalar.parquet", nil)
	fields := f.Fields()
	r, err := f.Read(context.Background(), fileformat.ReadRequest{Columns: fields})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, s := write(t, fields, fileformat.WriteOptions{}, rec)
	r.Close()
	got := map[string]string{}
	for i, c := range s.Columns {
		got[fields[i].Name] = types.FormatValue(fields[i].Type, c.Min) + ".." + types.FormatValue(fields[i].Type, c.Max) + " " + strconv.FormatInt(c.NullCount, 10)
	}
	null := types.FormatValue(types.Type{}, nil)
	none := null + ".." + null
	// From Java's $files, min_value_stats, max_value_stats and null_value_counts.
	want := map[string]string{
		"id": "1..8 0", "bo": "false..true 5", "ti": "-128..127 5", "si": "-32768..32767 5", "i": "-2147483648..2147483647 5",
		"bi": "-9223372036854775808..9223372036854775807 5", "f": "-3.4028235E38..NaN 1", "d": "-Infinity..NaN 1",
		"d9": "-9999999.99..9999999.99 5", "d18": "-999999999999.999999..999999999999.999999 5",
		"d19": "-9999999999999999999..9999999999999999999 5",
		"d38": "-9999999999999999999999999999.9999999999..9999999999999999999999999999.9999999999 5", "d1": "-9..9 5",
		"ch": "     ..abcde 5", "vc": "..0123456789 5", "st": "..ünï漢😀 4", "bn": none + " 5", "vb": none + " 5", "by": none + " 5",
		"da": "0001-01-01..9999-12-31 2", "tm0": "00:00:00..23:59:59 5", "tm3": "00:00:00.001..23:59:59.999 5",
		"ts0": "0001-01-01T00:00:00..9999-12-31T23:59:59 4", "ts3": "0001-01-01T00:00:00.001..9999-12-31T23:59:59.999 3",
		"ts6": "0001-01-01T00:00:00.000001..9999-12-31T23:59:59.999999 2", "ts9": none + " 3",
		"tz0": "0001-01-01T00:00:00Z..9999-12-31T23:59:59Z 4", "tz3": "1969-12-31T23:59:59.999Z..9999-12-31T23:59:59.999Z 5",
		"tz6": "1969-12-31T23:59:59.999999Z..9999-12-31T23:59:59.999999Z 4", "tz9": none + " 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statistics differ (−Java +Tarn)\n%s", diff)
	}
}
