package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/tarnerr"
)

// columnTypes is every shape of column a table can have.
var columnTypes = []arrow.DataType{
	arrow.Null,
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal128Type{Precision: 30, Scale: 5},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString,
	&arrow.FixedSizeBinaryType{ByteWidth: 3},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Time32ms,
	arrow.ListOf(arrow.BinaryTypes.String),
	arrow.LargeListOf(arrow.PrimitiveTypes.Int16),
	arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
	arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32),
	arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})), Nullable: true},
	),
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
}

func allColumns() *arrow.Schema {
	fields := make([]arrow.Field, len(columnTypes))
	for i, t := range columnTypes {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: t, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// appendValue appends one value that depends on seed, null for some.
func appendValue(b array.Builder, seed uint64) {
	if seed%7 == 3 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendValue(b.FieldBuilder(i), seed+uint64(i)+1)
		}
	case *array.ListBuilder:
		b.Append(true)
		for i := range seed % 4 {
			appendValue(b.ValueBuilder(), seed/3+i)
		}
	case *array.LargeListBuilder:
		b.Append(true)
		for i := range seed % 4 {
			appendValue(b.ValueBuilder(), seed/3+i)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for i := range uint64(2) {
			appendValue(b.ValueBuilder(), seed+i)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range seed % 3 {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint("k", i))
			appendValue(b.ItemBuilder(), seed/5+i)
		}
	case *array.BooleanBuilder:
		b.Append(seed&1 == 1)
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(fmt.Sprint("d", seed%5)); err != nil {
			panic(err)
		}
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte{byte(seed), byte(seed >> 8), 7})
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("%*d", int(seed%9), seed))
	case *array.LargeStringBuilder:
		b.Append(fmt.Sprintf("%*d", int(seed%9), seed))
	case *array.BinaryBuilder:
		b.Append([]byte(fmt.Sprint(seed))[:seed%3%uint64(len(fmt.Sprint(seed)))])
	case *array.Date32Builder:
		b.Append(arrow.Date32(seed))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(seed))
	case *array.Time32Builder:
		b.Append(arrow.Time32(seed))
	default:
		if err := b.AppendValueFromString(fmt.Sprint(seed % 100)); err != nil {
			panic(err)
		}
	}
}

func makeBatch(mem memory.Allocator, schema *arrow.Schema, rows int, seed uint64) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for r := range rows {
		for c, f := range b.Fields() {
			appendValue(f, seed+uint64(r)*31+uint64(c))
		}
	}
	return b.NewRecordBatch()
}

// TestGatherEqualsConcatenatedSlices checks each way of gathering against
// concatenated one-row slices, over sliced sources and any order of rows.
func TestGatherEqualsConcatenatedSlices(t *testing.T) {
	schema := allColumns()
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		var sources []arrow.RecordBatch
		for i := range rapid.IntRange(1, 4).Draw(t, "sources") {
			rows := rapid.IntRange(1, 20).Draw(t, "rows")
			full := makeBatch(mem, schema, rows, uint64(i)*977+rapid.Uint64Range(0, 500).Draw(t, "seed"))
			from := rapid.IntRange(0, rows-1).Draw(t, "from")
			to := rapid.IntRange(from+1, rows).Draw(t, "to")
			part := Slice(full, int64(from), int64(to))
			full.Release()
			defer part.Release()
			sources = append(sources, part)
		}
		var refs []Ref
		for range rapid.IntRange(0, 8).Draw(t, "runs") {
			s := rapid.IntRange(0, len(sources)-1).Draw(t, "source")
			from := rapid.IntRange(0, int(sources[s].NumRows())-1).Draw(t, "row")
			to := rapid.IntRange(from+1, int(sources[s].NumRows())).Draw(t, "end")
			refs = AppendRange(refs, s, from, to)
		}
		got, err := Gather(mem, schema, sources, nil, refs)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		for c, f := range schema.Fields() {
			data := make([]arrow.ArrayData, len(sources))
			for i, s := range sources {
				data[i] = s.Column(c).Data()
			}
			out, err := gatherSlices(mem, f.Type, data, refs)
			if err != nil {
				t.Fatal(err)
			}
			want := array.MakeFromData(out)
			out.Release()
			if !array.Equal(want, got.Column(c)) {
				t.Errorf("column of %s:\n got %v\nwant %v", f.Type, got.Column(c), want)
			}
			if want.NullN() != got.Column(c).NullN() {
				t.Errorf("column of %s: %d nulls, want %d", f.Type, got.Column(c).NullN(), want.NullN())
			}
			want.Release()
		}
	})
}

func TestGatherSelectsColumnsAndSkipsUnusedSources(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	schema := allColumns()
	src := makeBatch(mem, schema, 5, 1)
	defer src.Release()
	out := arrow.NewSchema([]arrow.Field{schema.Field(9), schema.Field(5)}, nil)
	got, err := Gather(mem, out, []arrow.RecordBatch{nil, src}, []int{9, 5}, []Ref{NewRef(1, 4), NewRef(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.Column(1).(*array.Int64).Value(0) != src.Column(5).(*array.Int64).Value(4) {
		t.Errorf("row 0 is not row 4 of the source: %v", got)
	}
	if _, err := Gather(mem, out, []arrow.RecordBatch{src}, []int{1}, nil); !errors.Is(err, tarnerr.Internal) {
		t.Errorf("a column list that does not fit gave %v", err)
	}
	if _, err := Gather(mem, out, []arrow.RecordBatch{src}, []int{1, 2}, nil); !errors.Is(err, tarnerr.Internal) {
		t.Errorf("a column of another type gave %v", err)
	}
}

// Rows that are known to have no null are what they are when nulls are looked for.
func TestGatherValid(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	src := makeBatch(mem, allColumns(), 40, 3)
	defer src.Release()
	for i, field := range allColumns().Fields() {
		whole := src.Column(i)
		part := array.NewSlice(whole, 1, 40)
		var refs []Ref
		for r := 38; r >= 0; r-- {
			if part.IsValid(r) {
				refs = append(refs, NewRef(1, r))
			}
		}
		sources := []arrow.Array{nil, part}
		want, err := GatherColumn(mem, field.Type, sources, refs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := GatherValid(mem, field.Type, sources, refs)
		if err != nil {
			t.Fatal(err)
		}
		if !array.Equal(got, want) || got.NullN() != want.NullN() {
			t.Errorf("column of %s is %v, want %v", field.Type, got, want)
		}
		got.Release()
		want.Release()
		part.Release()
	}
}

// A dictionary stays one.
func TestGatherValidOfADictionary(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := array.NewDictionaryBuilder(mem, dt).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	for _, s := range []string{"a", "b"} {
		if err := b.AppendString(s); err != nil {
			t.Fatal(err)
		}
		b.AppendNull()
	}
	src := b.NewArray()
	defer src.Release()
	got, err := GatherValid(mem, dt, []arrow.Array{src}, []Ref{NewRef(0, 2), NewRef(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.ValueStr(0) != "b" || got.ValueStr(1) != "a" {
		t.Errorf("%v", got)
	}
}

func TestFilterCopiesOnlyWhenRowsLieApart(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rec := makeBatch(mem, schema, 6, 0)
	defer rec.Release()
	for _, c := range []struct {
		keep   string
		copied bool
		rows   []int
	}{
		{"111111", false, []int{0, 1, 2, 3, 4, 5}},
		{"011100", false, []int{1, 2, 3}},
		{"101001", true, []int{0, 2, 5}},
		{"000000", false, nil},
	} {
		keep := make([]bool, 6)
		for i := range keep {
			keep[i] = c.keep[i] == '1'
		}
		before := mem.CurrentAlloc()
		got, err := Filter(mem, rec, keep)
		if err != nil {
			t.Fatal(err)
		}
		if (mem.CurrentAlloc() != before) != c.copied {
			t.Errorf("%s: copied is %v", c.keep, !c.copied)
		}
		if got == nil {
			if c.rows != nil {
				t.Errorf("%s: no rows", c.keep)
			}
			continue
		}
		for i, r := range c.rows {
			if got.Column(0).(*array.Int64).Value(i) != rec.Column(0).(*array.Int64).Value(r) {
				t.Errorf("%s: row %d is wrong: %v", c.keep, i, got)
			}
		}
		if int(got.NumRows()) != len(c.rows) {
			t.Errorf("%s: %d rows", c.keep, got.NumRows())
		}
		got.Release()
	}
}

func TestConcat(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	schema := allColumns()
	a, b := makeBatch(mem, schema, 3, 5), makeBatch(mem, schema, 4, 50)
	defer a.Release()
	defer b.Release()
	for _, recs := range [][]arrow.RecordBatch{{}, {a}, {a, b, a}} {
		got, err := Concat(mem, schema, recs)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for _, r := range recs {
			part := got.NewSlice(at, at+r.NumRows())
			if !array.RecordEqual(part, r) {
				t.Errorf("rows from %d on differ", at)
			}
			part.Release()
			at += r.NumRows()
		}
		if at != got.NumRows() {
			t.Errorf("%d rows, want %d", got.NumRows(), at)
		}
		got.Release()
	}
}

func TestReaders(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	ctx := context.Background()
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rec := makeBatch(mem, schema, 3, 9)
	empty := makeBatch(mem, schema, 0, 0)
	defer rec.Release()
	defer empty.Release()
	open := func(context.Context) (Reader, error) { return Of(schema, empty, rec, empty, rec), nil }
	broken := errors.New("broken")

	r := Chain(schema, open, open)
	rows := int64(0)
	for {
		got, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.NumRows() == 0 {
			t.Error("empty batch")
		}
		rows += got.NumRows()
	}
	if rows != 12 {
		t.Errorf("%d rows, want 12", rows)
	}
	r.Close()

	r = Chain(schema, open, func(context.Context) (Reader, error) { return nil, broken })
	for range 2 {
		if _, err := r.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(ctx); !errors.Is(err, broken) {
		t.Errorf("error of open is %v", err)
	}
	r.Close()

	r = Chain(schema, open)
	if _, err := r.Next(ctx); err != nil {
		t.Fatal(err)
	}
	r.Close() // in the middle
	if err := r.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := r.Next(ctx); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("next after close: %v", err)
	}
}

// TestGatherAllocations guards what gathering costs: buffers per column, nothing per row.
func TestGatherAllocations(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	src := makeBatch(memory.DefaultAllocator, schema, 4096, 3)
	defer src.Release()
	var refs []Ref
	for i := range 4096 {
		refs = append(refs, NewRef(0, (i*37)%4096))
	}
	cost := func(refs []Ref) float64 {
		return testing.AllocsPerRun(20, func() {
			out, err := Gather(memory.DefaultAllocator, schema, []arrow.RecordBatch{src}, nil, refs)
			if err != nil {
				t.Fatal(err)
			}
			out.Release()
		})
	}
	few, many := cost(refs[:16]), cost(refs)
	if many > few {
		t.Errorf("%v allocations for 4096 rows, %v for 16: gathering allocates per row", many, few)
	}
	if many > 40 {
		t.Errorf("%v allocations for two columns", many)
	}
}

func BenchmarkGather(b *testing.B) {
	for _, c := range []struct {
		name string
		dt   arrow.DataType
	}{
		{"int64", arrow.PrimitiveTypes.Int64}, {"string", arrow.BinaryTypes.String}, {"bool", arrow.FixedWidthTypes.Boolean},
		{"decimal", &arrow.Decimal128Type{Precision: 30, Scale: 5}}, {"list", arrow.ListOf(arrow.PrimitiveTypes.Int64)},
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: c.dt, Nullable: true}}, nil)
		const rows = 8192
		sources := []arrow.RecordBatch{makeBatch(memory.DefaultAllocator, schema, rows, 1), makeBatch(memory.DefaultAllocator, schema, rows, 2)}
		var apart, together []Ref
		for i := range rows {
			apart = append(apart, NewRef(i&1, i))
			together = append(together, NewRef(i>>6&1, i))
		}
		for name, refs := range map[string][]Ref{"alternating": apart, "runs64": together} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out, err := Gather(memory.DefaultAllocator, schema, sources, nil, refs)
					if err != nil {
						b.Fatal(err)
					}
					out.Release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
		for _, s := range sources {
			s.Release()
		}
	}
}
