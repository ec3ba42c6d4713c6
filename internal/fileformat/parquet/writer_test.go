package parquet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestStatisticsOfFloats(t *testing.T) {
	negZero, nan := math.Copysign(0, -1), math.NaN()
	for _, c := range []struct {
		values   []types.Value
		min, max string
	}{
		{[]types.Value{nil, nil}, "null", "null"},
		{[]types.Value{0.0, negZero}, "-0.0", "0.0"},
		{[]types.Value{negZero, 0.0}, "-0.0", "0.0"},
		{[]types.Value{negZero}, "-0.0", "-0.0"},
		{[]types.Value{nan}, "NaN", "NaN"},
		{[]types.Value{nan, 1.5, nil}, "1.5", "NaN"},
		{[]types.Value{1.5, nan, -2.0}, "-2.0", "NaN"},
		{[]types.Value{math.Inf(1), math.Inf(-1), nil}, "-Infinity", "Infinity"},
	} {
		fields := []types.Field{field(0, "d", "DOUBLE"), field(1, "f", "FLOAT")}
		var rows [][]types.Value
		for _, v := range c.values {
			row := []types.Value{v, nil}
			if v != nil {
				row[1] = float32(v.(float64))
			}
			rows = append(rows, row)
		}
		rec := record(t, memory.NewGoAllocator(), fields, rows)
		_, s := write(t, fields, fileformat.WriteOptions{}, rec)
		for i, st := range s.Columns {
			min, max := types.FormatValue(fields[i].Type, st.Min), types.FormatValue(fields[i].Type, st.Max)
			if !strings.EqualFold(min, c.min) || !strings.EqualFold(max, c.max) {
				t.Errorf("%v as %s: %s..%s, want %s..%s", c.values, fields[i].Type, min, max, c.min, c.max)
			}
		}
	}
}

func TestNestedColumnsHaveNoStatistics(t *testing.T) {
	fields := everything(nestedTypes)
	rec := record(t, memory.NewGoAllocator(), fields, randomRows(1, fields, 20))
	_, s := write(t, fields, fileformat.WriteOptions{}, rec)
	for i, c := range s.Columns {
		if c != (fileformat.ColumnStats{NullCount: -1}) {
			t.Errorf("%s: %+v", fields[i].Type, c)
		}
	}
}

func TestLongStringKeepsItsStatistics(t *testing.T) {
	fields := []types.Field{field(0, "s", "STRING")}
	long := strings.Repeat("x", 100_000)
	rec := record(t, memory.NewGoAllocator(), fields, [][]types.Value{{long}, {"y"}, {nil}})
	fs, s := write(t, fields, fileformat.WriteOptions{}, rec)
	if c := s.Columns[0]; c.Min != long || c.Max != "y" || c.NullCount != 1 {
		t.Errorf("%d bytes, %v, %d nulls", len(c.Min.(string)), c.Max, c.NullCount)
	}
	if f := open(t, fs, nil); f.meta.groups[0].columns[0].stats.min != nil {
		t.Error("statistics of 100,000 bytes belong into no footer")
	}
}

func TestWriterRefuses(t *testing.T) {
	ctx := context.Background()
	fields := []types.Field{field(0, "id", "INT NOT NULL"), field(1, "amount", "DECIMAL(5,2)"), field(2, "list", "ARRAY<INT NOT NULL>")}
	good := record(t, memory.NewGoAllocator(), fields, [][]types.Value{{int64(1), decimalValue(99999), []types.Value{int64(1)}}})
	nullable := slices.Clone(fields)
	nullable[0].Type.Nullable = true
	nullable[2] = field(2, "list", "ARRAY<INT>")
	for _, c := range []struct {
		name string
		rec  arrow.RecordBatch
		want string
	}{
		{"null in NOT NULL", record(t, memory.NewGoAllocator(), nullable, [][]types.Value{{nil, nil, nil}}), "column=id"},
		{"null element", record(t, memory.NewGoAllocator(), nullable, [][]types.Value{{int64(1), nil, []types.Value{nil}}}), "column=list"},
		{"too many digits", recordOf(fields, good.Column(0), decimalArray(t, 100000), good.Column(2)), "column=amount"},
		{"too many digits, negative", recordOf(fields, good.Column(0), decimalArray(t, -100000), good.Column(2)), "column=amount"},
		{"missing column", project(good, []int{0, 1}), "columns=3"},
		{"wrong type", newRecord(arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, good.Schema().Field(1), good.Schema().Field(2)}, nil),
			[]arrow.Array{int64s(7), good.Column(1), good.Column(2)}), "column=id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alloc := checked(t)
			fs := mem.New(mem.Posix)
			out, err := fs.Create(ctx, testPath)
			if err != nil {
				t.Fatal(err)
			}
			w, err := New().NewWriter(out, fields, fileformat.WriteOptions{Mem: alloc})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(ctx, good); err != nil {
				t.Fatal(err)
			}
			err = w.Write(ctx, c.rec)
			if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want Invalid with %s", err, c.want)
			}
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
			if ok, _ := fileio.Exists(ctx, fs, testPath); ok {
				t.Error("an aborted file was left behind")
			}
			if err := w.Write(ctx, good); !errors.Is(err, tarnerr.Closed) {
				t.Errorf("Write after Abort: %v", err)
			}
		})
	}
}

func decimalArray(t *testing.T, unscaled int64) arrow.Array {
	rec := record(t, memory.NewGoAllocator(), []types.Field{field(0, "x", "DECIMAL(38,2)")}, [][]types.Value{{decimalValue(unscaled)}})
	data := rec.Column(0).Data()
	return array.MakeFromData(array.NewData(&arrow.Decimal128Type{Precision: 5, Scale: 2}, 1, data.Buffers(), nil, 0, 0))
}

func int64s(v int64) arrow.Array {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	b.Append(v)
	return b.NewArray()
}

func TestTypesThatCannotBeWritten(t *testing.T) {
	for _, typ := range []string{"VECTOR<FLOAT, 3>"} {
		_, err := New().NewWriter(nil, []types.Field{field(0, "v", typ)}, fileformat.WriteOptions{})
		if !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "VECTOR") {
			t.Errorf("%s: %v", typ, err)
		}
	}
	if _, err := New().NewWriter(nil, nil, fileformat.WriteOptions{}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("no columns: %v", err)
	}
	empty := []types.Field{{ID: 1, Name: "r", Type: types.Type{Root: types.Row}}}
	if _, err := New().NewWriter(nil, empty, fileformat.WriteOptions{}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("no members: %v", err)
	}
}

func TestOptions(t *testing.T) {
	fields := []types.Field{field(0, "s", "STRING"), field(1, "t", "STRING")}
	var rows [][]types.Value
	for i := range 1000 {
		rows = append(rows, []types.Value{fmt.Sprint("value number ", i%3), fmt.Sprint("value number ", i%3)})
	}
	rec := record(t, memory.NewGoAllocator(), fields, rows)
	codec := func(f *File) int32 { return f.meta.groups[0].columns[0].codec }
	for _, c := range []struct {
		opts  fileformat.WriteOptions
		check func(f *File) bool
	}{
		{fileformat.WriteOptions{}, func(f *File) bool {
			return codec(f) == codecZstd && f.meta.groups[0].columns[0].dictOffset > 0 && f.meta.createdBy == createdBy
		}},
		{fileformat.WriteOptions{Compression: "NONE"}, func(f *File) bool { return codec(f) == codecNone }},
		{fileformat.WriteOptions{Compression: "none", Options: map[string]string{"parquet.compression": "snappy"}}, func(f *File) bool { return codec(f) == codecSnappy }},
		{fileformat.WriteOptions{Options: map[string]string{"parquet.enable.dictionary": "false"}}, func(f *File) bool {
			return f.meta.groups[0].columns[0].dictOffset == 0 && f.meta.groups[0].columns[1].dictOffset == 0
		}},
		{fileformat.WriteOptions{Options: map[string]string{"parquet.enable.dictionary#t": "false"}}, func(f *File) bool {
			return f.meta.groups[0].columns[0].dictOffset > 0 && f.meta.groups[0].columns[1].dictOffset == 0
		}},
		{fileformat.WriteOptions{Options: map[string]string{"parquet.page.row.count.limit": "10"}}, func(f *File) bool {
			pages, err := f.offsetIndex(context.Background(), 0, f.leaves[0])
			return err == nil && len(pages) == 100
		}},
		{fileformat.WriteOptions{Options: map[string]string{"file.block-size": "1 kb", "parquet.page.row.count.limit": "10", "parquet.enable.dictionary": "false"}},
			func(f *File) bool { return len(f.meta.groups) > 3 }},
	} {
		fs, _ := write(t, fields, c.opts, rec)
		f := open(t, fs, nil)
		if !c.check(f) {
			t.Errorf("%+v: %+v", c.opts, f.meta.groups[0])
		}
		sameRows(t, rowsOf(t, f, fileformat.ReadRequest{Columns: fields}), textOf(fields, rec))
	}
	for key, value := range map[string]string{
		"parquet.page.size": "many", "parquet.block.size": "0", "file.block-size": "12 parsecs", "parquet.enable.dictionary": "perhaps",
		"parquet.compression": "squash", "parquet.compression.codec.zstd.level": "99",
	} {
		_, err := New().NewWriter(nil, fields, fileformat.WriteOptions{Options: map[string]string{key: value}})
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	if _, err := New().NewWriter(nil, fields, fileformat.WriteOptions{Compression: "lzo"}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("lzo: %v", err)
	}
}

// brokenDisk fails after some bytes.
type brokenDisk struct {
	left    int
	aborted bool
}

func (d *brokenDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, tarnerr.New(tarnerr.Unavailable, "writing file", "no space left on device")
	}
	return len(p), nil
}
func (d *brokenDisk) Close() error { return nil }
func (d *brokenDisk) Abort() error { d.aborted = true; return nil }

func TestStorageErrorsEndTheFile(t *testing.T) {
	ctx := context.Background()
	fields := everything(scalarTypes)
	for i, left := range []int{0, 10_000, 70_000, 200_000, 0, 10_000, 200_000} {
		alloc := checked(t)
		rec := record(t, alloc, fields, randomRows(3, fields, 3000))
		d := &brokenDisk{left: left}
		w, err := New().NewWriter(d, fields, fileformat.WriteOptions{Mem: alloc, Workers: 2, Hold: int64(i/4) << 30, Options: map[string]string{"parquet.block.size": "20000"}})
		if err != nil {
			t.Fatal(err)
		}
		if err = w.Write(ctx, rec); err == nil {
			_, err = w.Close(ctx)
		} else if again := w.Write(ctx, rec); again != err {
			t.Errorf("a broken writer went on: %v", again)
		}
		w.Abort()
		rec.Release()
		if tarnerr.KindOf(err) != tarnerr.Unavailable || !d.aborted {
			t.Errorf("after %d bytes: %v, aborted %v", left, err, d.aborted)
		}
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	fields := everything(scalarTypes)
	alloc := checked(t)
	rec := record(t, alloc, fields, randomRows(3, fields, 100))
	defer rec.Release()
	d := &brokenDisk{left: 1 << 20}
	w, err := New().NewWriter(d, fields, fileformat.WriteOptions{Mem: alloc})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, rec); err != nil {
		t.Fatal(err)
	}
	if w.Size() <= 0 {
		t.Error("Size says nothing of what is buffered")
	}
	cancel()
	if _, err := w.Close(ctx); !errors.Is(err, context.Canceled) || !d.aborted {
		t.Errorf("Close under an ended context: %v, aborted %v", err, d.aborted)
	}
}
