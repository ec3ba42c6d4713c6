package avro

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/go-cmp/cmp"
	twmb "github.com/twmb/avro/ocf"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// readBatches reads all of a file and keeps its batches.
func readBatches(t testing.TB, f *File, fields []types.Field) (out []arrow.RecordBatch) {
	t.Helper()
	r, err := f.Read(context.Background(), fileformat.ReadRequest{Columns: fields})
	if err != nil {
		t.Fatal(err)
	}
	if err := eachBatch(r, func(rec arrow.RecordBatch) error {
		rec.Retain()
		t.Cleanup(rec.Release)
		out = append(out, rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWritesAsJava rewrites Java's files: the same schema text, the same bytes of
// records.
func TestWritesAsJava(t *testing.T) {
	for _, name := range []string{"java-scalar", "java-nested"} {
		java := open(t, testBytes(t, name+".avro"), checked(t))
		fields := tableFields(t, name)
		data, _ := write(t, fields, fileformat.WriteOptions{Compression: "null"}, readBatches(t, java, fields)...)
		ours := open(t, data, checked(t))
		text := func(f *File) string {
			c := ocf.Cursor{Buf: f.head}
			return string(c.Header().Schema)
		}
		if diff := cmp.Diff(text(java), text(ours)); diff != "" {
			t.Errorf("%s: schemas differ (−Java +Tarn)\n%s", name, diff)
		}
		records := func(f *File) []byte {
			w := newWindow(f)
			b, _, err := w.next(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := ocf.Unpack(f.codec, nil, b.packed)
			if err != nil {
				t.Fatal(err)
			}
			return plain
		}
		if !bytes.Equal(records(java), records(ours)) {
			t.Errorf("%s: the bytes of the records differ", name)
		}
	}
}

// TestSchemaText has what the files of Java do not show.
func TestSchemaText(t *testing.T) {
	for _, c := range []struct{ typ, want string }{
		{"MAP<INT, MAP<INT, INT NOT NULL>> NOT NULL", `{"type":"array","items":{"type":"record","name":"record_c","fields":[{"name":"key","type":["null","int"]},` +
			`{"name":"value","type":["null",{"type":"array","items":{"type":"record","name":"record_c_value","fields":[{"name":"key","type":["null","int"]},` +
			`{"name":"value","type":"int"}]},"logicalType":"map"}],"default":null}]},"logicalType":"map"}`},
		{"ARRAY<MAP<DATE NOT NULL, ROW<a INT>>>", `["null",{"type":"array","items":["null",{"type":"array","items":{"type":"record","name":"record_c","fields":` +
			`[{"name":"key","type":{"type":"int","logicalType":"date"}},{"name":"value","type":["null",{"type":"record","name":"record_c_value","fields":` +
			`[{"name":"a","type":["null","int"],"default":null}]}],"default":null}]},"logicalType":"map"}]}]`},
		{"MULTISET<STRING NOT NULL>", `["null",{"type":"map","values":["null","int"]}]`},
		{"VECTOR<FLOAT, 3>", `["null",{"type":"array","items":["null","float"]}]`},
		// The same record again is its name.
		{"MAP<MAP<INT, INT>, INT>", `["null",{"type":"array","items":{"type":"record","name":"record_c","fields":[{"name":"key","type":["null",` +
			`{"type":"array","items":{"type":"record","name":"record_c_key","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null","int"],"default":null}]},"logicalType":"map"}]},` +
			`{"name":"value","type":["null","int"],"default":null}]},"logicalType":"map"}]`},
	} {
		text, err := schemaText([]types.Field{field(0, "c", c.typ)})
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		want := `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"c","type":` + c.want
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s\n%s\nwant\n%s", c.typ, text, want)
		}
		if _, err := ocf.ParseSchema([]byte(text)); err != nil {
			t.Errorf("%s: %v", c.typ, err)
		}
	}
	same := []types.Field{field(0, "a_b", "ROW<x INT>"), field(1, "a", "ROW<b ROW<x INT>>")}
	text, err := schemaText(same)
	if err != nil || !strings.Contains(text, `{"name":"b","type":["null","record_a_b"],"default":null}`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestWhatAvroCannotHold(t *testing.T) {
	for _, c := range []struct {
		fields []types.Field
		kind   tarnerr.Kind
		says   string
	}{
		{[]types.Field{field(0, "a", "TIMESTAMP(7)")}, tarnerr.Unsupported, "TIMESTAMP(7)"},
		{[]types.Field{field(0, "a", "TIMESTAMP(9) WITH LOCAL TIME ZONE")}, tarnerr.Unsupported, "LOCAL TIME ZONE"},
		{[]types.Field{field(0, "a", "TIME(6)")}, tarnerr.Unsupported, "TIME(6)"},
		{[]types.Field{field(0, "a", "VARIANT")}, tarnerr.Unsupported, "VARIANT"},
		{[]types.Field{field(0, "a", "BLOB")}, tarnerr.Unsupported, "BLOB"},
		{[]types.Field{field(0, "a", "MULTISET<INT>")}, tarnerr.Unsupported, "MULTISET<INT>"},
		{[]types.Field{field(0, "a", "ROW<b VARIANT>")}, tarnerr.Unsupported, "column=b"},
		{[]types.Field{field(0, "a-b", "INT")}, tarnerr.Invalid, "a-b"},
		{[]types.Field{field(0, "1a", "INT")}, tarnerr.Invalid, "1a"},
		{[]types.Field{field(0, "a", "ROW<`x y` INT>")}, tarnerr.Invalid, "x y"},
		{[]types.Field{field(0, "a_b", "ROW<x INT>"), field(1, "a", "ROW<b ROW<x BIGINT>>")}, tarnerr.Unsupported, "record_a_b"},
		{nil, tarnerr.Unsupported, "without columns"},
	} {
		fs := mem.New(mem.Posix)
		out, err := fs.Create(t.Context(), testPath)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New().NewWriter(out, c.fields, fileformat.WriteOptions{})
		if tarnerr.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%v: %v, want kind %v saying %q", c.fields, err, c.kind, c.says)
		}
		if _, err := fs.Stat(t.Context(), testPath); !errors.Is(err, tarnerr.NotFound) {
			t.Errorf("a refused file was left: %v", err)
		}
	}
	if text, err := schemaText([]types.Field{field(0, "größe_漢1", "INT")}); err != nil || !strings.Contains(text, "größe_漢1") {
		t.Errorf("letters: %s, %v", text, err)
	}
}

func TestCodecs(t *testing.T) {
	fields := []types.Field{field(0, "n", "INT"), field(1, "s", "STRING")}
	rows := make([][]types.Value, 3000)
	for i := range rows {
		rows[i] = []types.Value{int64(i), strings.Repeat("ab", i%40)}
	}
	rec := record(t, checked(t), fields, rows...)
	defer rec.Release()
	var want []string
	for _, c := range []struct {
		option, avro, codec string
		kind                tarnerr.Kind
	}{
		{"null", "", ocf.CodecNull, 0}, {"", "", ocf.CodecZstd, 0}, {"ZSTD", "", ocf.CodecZstd, 0}, {"zstandard", "", ocf.CodecZstd, 0},
		{"snappy", "", ocf.CodecSnappy, 0}, {"deflate", "", ocf.CodecDeflate, 0}, {"zstd", "snappy", ocf.CodecSnappy, 0}, {"none", "null", ocf.CodecNull, 0},
		{"none", "", "", tarnerr.Invalid}, {"lz4", "", "", tarnerr.Invalid}, {"Snappy", "", "", tarnerr.Invalid}, {"zstd", "zstd", "", tarnerr.Invalid},
		{"bzip2", "", "", tarnerr.Unsupported}, {"zstd", "xz", "", tarnerr.Unsupported},
	} {
		opts := fileformat.WriteOptions{Compression: c.option, Options: map[string]string{}}
		if c.avro != "" {
			opts.Options["avro.codec"] = c.avro
		}
		if c.kind != 0 {
			if _, err := newPacker(opts); tarnerr.KindOf(err) != c.kind {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		data, s := write(t, fields, opts, rec)
		f := open(t, data, checked(t))
		got := jsonl(t, f, fileformat.ReadRequest{Columns: fields})
		if want == nil {
			want = got
		}
		if f.codec != c.codec || !cmp.Equal(got, want) || len(got) != len(rows) || s.RowCount != int64(len(rows)) {
			t.Errorf("%+v: %d rows as %s", c, len(got), f.codec)
		}
	}
}

// randomValue draws a value of any type, nil for null.
func randomValue(r *rand.Rand, typ types.Type, depth int) types.Value {
	if typ.Nullable && r.IntN(4) == 0 {
		return nil
	}
	list := func(t types.Type, n int) []types.Value {
		out := make([]types.Value, n)
		for i := range out {
			out[i] = randomValue(r, t, depth+1)
		}
		return out
	}
	switch typ.Root {
	case types.Boolean:
		return r.IntN(2) == 0
	case types.TinyInt:
		return int64(int8(r.Uint32()))
	case types.SmallInt:
		return int64(int16(r.Uint32()))
	case types.Int:
		return int64(int32(r.Uint32()))
	case types.BigInt:
		return int64(r.Uint64() >> r.IntN(64))
	case types.Float:
		return []float32{r.Float32(), float32(math.NaN()), float32(math.Inf(-1)), 0}[r.IntN(4)]
	case types.Double:
		return []float64{r.NormFloat64(), math.NaN(), math.Copysign(0, -1), 0}[r.IntN(4)]
	case types.Decimal:
		return decimal128.FromI64(r.Int64N(2_000_000) - 1_000_000).Mul(decimal128.FromI64(1 + r.Int64N(1_000_000)))
	case types.Char, types.VarChar:
		return strings.Repeat("ü", r.IntN(5))
	case types.Binary, types.VarBinary:
		return []byte(strings.Repeat("\x00\xff", r.IntN(4)))
	case types.Date, types.Time:
		return int32(r.IntN(40_000))
	case types.Timestamp, types.TimestampLTZ:
		v := types.Instant{Millis: r.Int64N(1<<41) - 1<<40}
		if typ.Precision > 3 {
			v.NanoOfMilli = int32(r.IntN(1000)) * 1000
		}
		return v
	case types.Array:
		return list(*typ.Element, r.IntN(5))
	case types.Vector:
		return list(*typ.Element, typ.Length)
	}
	return nil
}

// everyType are columns of all types that files hold.
func everyType() []types.Field {
	var out []types.Field
	for i, s := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(14,2)", "DECIMAL(38,5)", "CHAR(9)", "STRING", "BINARY(4)",
		"BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(0) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"ARRAY<INT>", "ARRAY<ARRAY<STRING NOT NULL>>", "VECTOR<FLOAT, 3>", "ARRAY<DECIMAL(14,2)>",
	} {
		out = append(out, field(2*i, fmt.Sprint("c", 2*i), s), field(2*i+1, fmt.Sprint("c", 2*i+1), s+" NOT NULL"))
	}
	return out
}

// TestRoundTrip writes random batches, also slices of them, and reads the rows back.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	fields := everyType()
	for round := range 20 {
		rows := make([][]types.Value, 1+r.IntN(300))
		for i := range rows {
			for _, f := range fields {
				rows[i] = append(rows[i], randomValue(r, f.Type, 0))
			}
		}
		alloc := checked(t)
		rec := record(t, alloc, fields, rows...)
		cut := int64(r.IntN(len(rows) + 1))
		a, b := batch.Slice(rec, 0, cut), batch.Slice(rec, cut, int64(len(rows)))
		data, s := write(t, fields, fileformat.WriteOptions{Compression: []string{"null", "zstd", "snappy"}[round%3]}, a, b)
		got := readBatches(t, open(t, data, alloc), fields)
		if len(got) != 1 || !equalRows(fields, rec, got[0]) {
			t.Fatalf("round %d: rows differ", round)
		}
		checkStats(t, fields, rows, s)
		a.Release()
		b.Release()
		rec.Release()
	}
}

func equalRows(fields []types.Field, a, b arrow.RecordBatch) bool {
	if a.NumRows() != b.NumRows() {
		return false
	}
	for c, f := range fields {
		for i := range int(a.NumRows()) {
			if types.FormatValue(f.Type, types.ValueAt(f.Type, a.Column(c), i)) != types.FormatValue(f.Type, types.ValueAt(f.Type, b.Column(c), i)) ||
				a.Column(c).IsNull(i) != b.Column(c).IsNull(i) {
				return false
			}
		}
	}
	return true
}

// checkStats compares the summary with what the rows say one by one.
func checkStats(t *testing.T, fields []types.Field, rows [][]types.Value, s fileformat.Summary) {
	t.Helper()
	for c, f := range fields {
		var want fileformat.ColumnStats
		for _, row := range rows {
			v := row[c]
			switch {
			case v == nil:
				want.NullCount++
			case f.Type.IsNested() || f.Type.IsBytes():
			case want.Min == nil:
				want.Min, want.Max = v, v
			default:
				if types.Compare(f.Type, v, want.Min) < 0 {
					want.Min = v
				}
				if types.Compare(f.Type, v, want.Max) > 0 {
					want.Max = v
				}
			}
		}
		got := s.Columns[c]
		if got.NullCount != want.NullCount || types.FormatValue(f.Type, got.Min) != types.FormatValue(f.Type, want.Min) || types.FormatValue(f.Type, got.Max) != types.FormatValue(f.Type, want.Max) {
			t.Errorf("column %s %s: %v, want %v", f.Name, f.Type, got, want)
		}
	}
}

// TestOthersReadOurs: another implementation reads schema, blocks and records.
func TestOthersReadOurs(t *testing.T) {
	fields := []types.Field{
		field(0, "id", "INT NOT NULL"), field(1, "s", "STRING"), field(2, "m", "MAP<INT, STRING>"), field(3, "r", "ROW<a BIGINT, b ARRAY<INT>>"),
		field(4, "d", "DECIMAL(9,2)"),
	}
	rows := make([][]types.Value, 5000)
	for i := range rows {
		rows[i] = []types.Value{int64(i), fmt.Sprint("s", i), nil, nil, decimal128.FromI64(int64(i) - 2500)}
	}
	for _, codec := range []string{"null", "deflate", "snappy", "zstd"} {
		rec := record(t, checked(t), fields, rows...)
		data, _ := write(t, fields, fileformat.WriteOptions{Compression: codec}, rec)
		rec.Release()
		r, err := twmb.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; ; n++ {
			var row map[string]any
			if err := r.Decode(&row); err != nil {
				if n == len(rows) && errors.Is(err, io.EOF) {
					break
				}
				t.Fatalf("%s, row %d: %v", codec, n, err)
			}
			if row["id"] != int32(n) || row["s"] != fmt.Sprint("s", n) || row["m"] != nil || len(row) != len(fields) {
				t.Fatalf("%s, row %d: %+v", codec, n, row)
			}
		}
	}
}

func TestWriterLife(t *testing.T) {
	ctx := t.Context()
	fields := []types.Field{field(0, "n", "BIGINT NOT NULL")}
	rec := record(t, checked(t), fields, []types.Value{int64(1)})
	defer rec.Release()
	data, s := write(t, fields, fileformat.WriteOptions{})
	if got := jsonl(t, open(t, data, nil), fileformat.ReadRequest{Columns: fields}); len(got) != 0 || s.RowCount != 0 || s.Columns[0].Min != nil {
		t.Errorf("a file without rows: %v, %v", got, s)
	}
	start := func() (*mem.FS, fileformat.Writer) {
		fs := mem.New(mem.Posix)
		out, err := fs.Create(ctx, testPath)
		if err != nil {
			t.Fatal(err)
		}
		w, err := New().NewWriter(out, fields, fileformat.WriteOptions{Compression: "null"})
		if err != nil {
			t.Fatal(err)
		}
		return fs, w
	}
	fs, w := start()
	if err := w.Write(ctx, rec); err != nil || w.Size() == 0 {
		t.Errorf("%v, %d bytes", err, w.Size())
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if err := w.Write(ctx, rec); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("writing after Abort: %v", err)
	}
	if _, err := w.Close(ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("Close after Abort: %v", err)
	}
	if _, err := fs.Stat(ctx, testPath); !errors.Is(err, tarnerr.NotFound) {
		t.Errorf("after Abort: %v", err)
	}
	other := record(t, checked(t), []types.Field{field(0, "n", "INT")}, []types.Value{int64(1)})
	defer other.Release()
	null := record(t, checked(t), []types.Field{field(0, "n", "BIGINT")}, []types.Value{nil})
	defer null.Release()
	for _, bad := range []arrow.RecordBatch{other, null} {
		fs, w := start()
		if err := w.Write(ctx, bad); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "column=n") {
			t.Errorf("writing another type, or null: %v", err)
		}
		if _, err := w.Close(ctx); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("Close after a failed Write: %v", err)
		}
		if _, err := fs.Stat(ctx, testPath); !errors.Is(err, tarnerr.NotFound) {
			t.Errorf("after a failed Close: %v", err)
		}
	}
}
