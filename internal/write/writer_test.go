package write

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func keyTable(options map[string]string) schema.Spec {
	s := schema.Spec{
		Fields:      []types.Field{field("k", types.BigInt, false), field("v", types.VarChar, true)},
		PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "2"},
	}
	for k, v := range options {
		s.Options[k] = v
	}
	return s
}

// Bad values are refused with column, row and value, and nothing of the batch is taken.
func TestBadValues(t *testing.T) {
	str := types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
	strNotNull := str.WithNull(false)
	dec := types.Type{Root: types.Decimal, Precision: 4, Scale: 2, Nullable: true}
	spec := schema.Spec{
		Fields: []types.Field{
			field("k", types.Double, false), {Name: "s", Type: str}, {Name: "d", Type: dec},
			{Name: "a", Type: types.Type{Root: types.Array, Element: &strNotNull, Nullable: true}},
			{Name: "r", Type: types.Type{Root: types.Row, Nullable: true, Fields: []types.Field{{Name: "m", Type: dec}}}},
			{Name: "mp", Type: types.Type{Root: types.Map, Key: &strNotNull, Element: &str, Nullable: true}},
		},
		PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"},
	}
	good := []types.Value{1.5, "x", decimal128.FromI64(9999), []types.Value{"y"}, []types.Value{decimal128.FromI64(-9999)}, []types.Entry{{Key: "z", Value: nil}}}
	nan := 0.0
	nan /= nan
	for _, c := range []struct {
		column string
		at     int
		value  types.Value
		words  []string
	}{
		{"k", 0, nan, []string{"NaN", "column=k", "row=1", "value=NaN"}},
		{"s", 1, "a\xffb", []string{"UTF-8", "column=s", "row=1"}},
		{"s", 1, "\xe6\xbc", []string{"UTF-8", "column=s", "row=1"}},
		{"d", 2, decimal128.FromI64(10000), []string{"digits", "column=d", "row=1", "value=100.00"}},
		{"d", 2, decimal128.FromI64(-10000), []string{"digits", "column=d", "value=-100.00"}},
		{"d", 2, decimal128.New(-1<<63, 0), []string{"digits", "column=d"}},
		{"a", 3, []types.Value{"y", nil}, []string{"null", "column=a", "row=1"}},
		{"a", 3, []types.Value{"\xff"}, []string{"UTF-8", "column=a"}},
		{"r", 4, []types.Value{decimal128.FromI64(123456)}, []string{"digits", "column=r"}},
		{"mp", 5, []types.Entry{{Key: "k", Value: "\xc0"}}, []string{"UTF-8", "column=mp"}},
	} {
		t.Run(c.column, func(t *testing.T) {
			f := newFixture(t, spec)
			defer f.alloc.AssertSize(t, 0)
			w := f.writer()
			defer w.Close()
			bad := append([]types.Value{}, good...)
			bad[c.at] = c.value
			err := f.write(w, nil, good, bad)
			if tarnerr.KindOf(err) != tarnerr.Invalid {
				t.Fatalf("%v", err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in %v", word, err)
				}
			}
			if w.buffer.rows() != 0 {
				t.Error("part of a refused batch was taken")
			}
			// The writer goes on.
			if err := f.write(w, nil, good); err != nil {
				t.Error(err)
			}
			if m, err := w.Prepare(context.Background()); err != nil || m[0].NewFiles[0].RowCount != 1 {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

// Valid text that is cut in the middle of a character by value borders is found.
func TestTextAcrossValues(t *testing.T) {
	f := newFixture(t, schema.Spec{Fields: []types.Field{field("s", types.VarChar, true)}})
	w := f.writer()
	defer w.Close()
	if err := f.write(w, nil, []types.Value{"\xe6\xbc"}, []types.Value{"\xa2"}); tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "row=0") {
		t.Errorf("%v", err)
	}
	if err := f.write(w, nil, []types.Value{"漢"}, []types.Value{""}, []types.Value{nil}, []types.Value{"ä"}); err != nil {
		t.Error(err)
	}
}

func TestBadBatches(t *testing.T) {
	f := newFixture(t, keyTable(nil))
	defer f.alloc.AssertSize(t, 0)
	w := f.writer()
	defer w.Close()
	long := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	for _, c := range []struct {
		name   string
		fields []arrow.Field
		words  string
	}{
		{"unknown column", []arrow.Field{long("k", arrow.PrimitiveTypes.Int64), long("x", arrow.BinaryTypes.String)}, "column=x"},
		{"a column twice", []arrow.Field{long("k", arrow.PrimitiveTypes.Int64), long("k", arrow.PrimitiveTypes.Int64)}, "twice"},
		{"missing key", []arrow.Field{long("v", arrow.BinaryTypes.String)}, "NOT NULL is missing"},
		{"another type", []arrow.Field{long("k", arrow.PrimitiveTypes.Int32)}, "want=int64 got=int32"},
		{"null key", []arrow.Field{long("k", arrow.PrimitiveTypes.Int64)}, "null in a column that is NOT NULL"},
		{"kinds of another type", []arrow.Field{long("k", arrow.PrimitiveTypes.Int64), long("_kind", arrow.BinaryTypes.String)}, ""},
	} {
		b := array.NewRecordBuilder(f.alloc, arrow.NewSchema(c.fields, nil))
		for i := range c.fields {
			b.Field(i).AppendNull()
		}
		rec := b.NewRecordBatch()
		b.Release()
		err := w.Write(context.Background(), rec)
		rec.Release()
		if tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A missing nullable column is null, columns come in any order.
	b := array.NewRecordBuilder(f.alloc, arrow.NewSchema([]arrow.Field{long("k", arrow.PrimitiveTypes.Int64)}, nil))
	b.Field(0).(*array.Int64Builder).Append(3)
	rec := b.NewRecordBatch()
	b.Release()
	defer rec.Release()
	if err := w.Write(context.Background(), rec); err != nil {
		t.Fatal(err)
	}
	m, err := w.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.describe(m); !strings.Contains(got, "3 null seq=0 +I") {
		t.Error(got)
	}
}

// What reads a batch like a Row's struct children of a slice must look at the slice.
func TestSlicedNestedBatch(t *testing.T) {
	str := types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
	f := newFixture(t, schema.Spec{Fields: []types.Field{
		field("k", types.Int, false),
		{Name: "r", Type: types.Type{Root: types.Row, Nullable: true, Fields: []types.Field{{Name: "m", Type: str}}}},
		{Name: "a", Type: types.Type{Root: types.Array, Nullable: true, Element: &str}},
	}})
	defer f.alloc.AssertSize(t, 0)
	rec := f.batchOf(nil,
		[]types.Value{int64(1), []types.Value{"a"}, []types.Value{"x"}},
		[]types.Value{int64(2), nil, []types.Value{"y", nil}},
		[]types.Value{int64(3), []types.Value{"c"}, nil},
		[]types.Value{int64(4), []types.Value{nil}, []types.Value{}},
	)
	defer rec.Release()
	part := rec.NewSlice(1, 4)
	defer part.Release()
	w := f.writer()
	defer w.Close()
	if err := w.Write(context.Background(), part); err != nil {
		t.Fatal(err)
	}
	m, err := w.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := f.describe(m)
	for _, line := range []string{"2 null", "3 ", "4 "} {
		if !strings.Contains(got, "\n  "+line) {
			t.Errorf("%q is not in %s", line, got)
		}
	}
	if strings.Contains(got, "\n  1 ") {
		t.Errorf("a row outside the slice came: %s", got)
	}
}

// A full buffer is flushed: each bucket gets several files of one commit.
func TestBufferLimit(t *testing.T) {
	f := newFixture(t, keyTable(map[string]string{"write-buffer-size": "64 kb"}))
	defer f.alloc.AssertSize(t, 0)
	var flushes int
	var in, out int64
	f.cfg.Listener = &event.Listener{FlushEnd: func(e event.FlushEnd) { flushes++; in += e.RowsIn; out += e.RowsOut }}
	w := f.writer()
	defer w.Close()
	const batches, rows = 40, 50
	for b := range batches {
		var values [][]types.Value
		for r := range rows {
			values = append(values, []types.Value{int64(r), fmt.Sprintf("value %d of batch %d", r, b)})
		}
		if err := f.write(w, nil, values...); err != nil {
			t.Fatal(err)
		}
		if w.buffer.bytes > 64<<10 {
			t.Fatalf("the buffer holds %d bytes", w.buffer.bytes)
		}
	}
	m, err := w.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(m) != 2 || len(m[0].NewFiles) < 2 || flushes < 4 || in != batches*rows || out >= in {
		t.Errorf("%d messages, %d files, %d flushes, %d rows in, %d out", len(m), len(m[0].NewFiles), flushes, in, out)
	}
	for _, msg := range m {
		last := int64(-1)
		for _, file := range msg.NewFiles {
			if file.MinSequence <= last {
				t.Errorf("sequence %d to %d after %d", file.MinSequence, file.MaxSequence, last)
			}
			last = file.MaxSequence
		}
	}
	if f.held.calls != 1 {
		t.Errorf("buckets were restored %d times", f.held.calls)
	}
}

// The budget bounds the buffer too; what does not fit at all is refused.
func TestBudget(t *testing.T) {
	f := newFixture(t, keyTable(nil))
	defer f.alloc.AssertSize(t, 0)
	b := budget.New(32 << 10)
	f.cfg.Pool = NewPool(b, 2)
	w := f.writer()
	var values [][]types.Value
	for r := range 2000 {
		values = append(values, []types.Value{int64(r), "some text"})
	}
	if err := f.write(w, nil, values...); err != nil {
		t.Fatal(err)
	}
	if b.Used() > b.Limit() {
		t.Errorf("%d of %d bytes", b.Used(), b.Limit())
	}
	m, err := w.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var rows int64
	for _, msg := range m {
		for _, file := range msg.NewFiles {
			rows += file.RowCount
		}
	}
	if rows != 2000 || b.Used() != 0 {
		t.Errorf("%d rows, %d bytes still reserved", rows, b.Used())
	}
	err = f.write(w, nil, []types.Value{int64(1), strings.Repeat("x", 64<<10)})
	if tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "budget") {
		t.Errorf("a row larger than the budget: %v", err)
	}
	w.Close()
	if b.Used() != 0 {
		t.Errorf("%d bytes still reserved", b.Used())
	}
}

// Small batches are joined, slices of large ones copied, so that neither pins
// memory nor makes a flush gather from thousands.
func TestBufferShape(t *testing.T) {
	f := newFixture(t, keyTable(nil))
	defer f.alloc.AssertSize(t, 0)
	w := f.writer()
	defer w.Close()
	for i := range 3 * joinBatches {
		if err := f.write(w, nil, []types.Value{int64(i), "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.buffer.chunks) + len(w.buffer.small); n > 4 {
		t.Errorf("%d batches are kept", n)
	}
	var values [][]types.Value
	for i := range 100_000 {
		values = append(values, []types.Value{int64(i), "some text that is long enough to weigh"})
	}
	rec := f.batchOf(nil, values...)
	part := rec.NewSlice(10, 20)
	before := w.buffer.bytes
	if err := w.Write(context.Background(), part); err != nil {
		t.Fatal(err)
	}
	part.Release()
	rec.Release()
	if grown := w.buffer.bytes - before; grown > 8<<10 {
		t.Errorf("ten rows count as %d bytes", grown)
	}
	if held := f.alloc.CurrentAlloc(); held > 1<<20 {
		t.Errorf("ten rows pin %d bytes", held)
	}
}

// The flush before a commit finishes the files of append tables, bucket by bucket,
// and what a file may hold back depends on whose memory it is.
func TestLastFlushFinishesFiles(t *testing.T) {
	f := newFixture(t, schema.Spec{Fields: keyTable(nil).Fields})
	defer f.alloc.AssertSize(t, 0)
	var ends []event.FlushEnd
	f.cfg.Listener = &event.Listener{FlushEnd: func(e event.FlushEnd) { ends = append(ends, e) }}
	w := f.writer()
	defer w.Close()
	if err := f.write(w, nil, []types.Value{int64(1), "a"}); err != nil {
		t.Fatal(err)
	}
	if err := w.flush(context.Background(), false, true); err != nil {
		t.Fatal(err)
	}
	if err := f.write(w, nil, []types.Value{int64(2), "b"}); err != nil {
		t.Fatal(err)
	}
	m, err := w.Prepare(context.Background())
	if err != nil || len(m) != 1 || len(m[0].NewFiles) != 1 || m[0].NewFiles[0].RowCount != 2 {
		t.Fatalf("%v, %v", m, err)
	}
	if len(ends) != 2 || ends[0].Files != 0 || ends[1].Files != 1 || ends[1].Bytes != m[0].NewFiles[0].FileSize {
		t.Errorf("flushes: %+v", ends)
	}
	for _, c := range []struct {
		keyed, last bool
		buckets     int
		want        int64
	}{
		{true, false, 1, holdGathered}, {true, true, 3, holdGathered}, {false, false, 1, 0}, {false, true, 1, holdBuffered}, {false, true, 2, holdGathered},
	} {
		if got := (&Writer{keyed: c.keyed}).hold(c.buckets, c.last); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestAbortRemovesEverything(t *testing.T) {
	for _, spec := range []schema.Spec{keyTable(nil), {Fields: keyTable(nil).Fields}} {
		f := newFixture(t, spec)
		w := f.writer()
		ctx := context.Background()
		for range 2 {
			if err := f.write(w, nil, []types.Value{int64(1), "a"}, []types.Value{int64(2), "b"}); err != nil {
				t.Fatal(err)
			}
			if err := w.flush(ctx, false, true); err != nil {
				t.Fatal(err)
			}
		}
		if len(f.fs.Paths()) == 0 {
			t.Fatal("nothing was flushed")
		}
		if err := w.Abort(ctx); err != nil {
			t.Fatal(err)
		}
		if left := f.fs.Paths(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		// It can go on, and Close leaves what Prepare handed over.
		if err := f.write(w, nil, []types.Value{int64(3), "c"}); err != nil {
			t.Fatal(err)
		}
		m, err := w.Prepare(ctx)
		if err != nil || len(m) != 1 {
			t.Fatalf("%v, %v", m, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if len(f.fs.Paths()) != 1 {
			t.Errorf("%v", f.fs.Paths())
		}
		if err := f.write(w, nil, []types.Value{int64(4), "d"}); tarnerr.KindOf(err) != tarnerr.Closed {
			t.Errorf("writing to a closed writer: %v", err)
		}
		f.alloc.AssertSize(t, 0)
	}
}

// A failed flush has lost rows: the writer says so until it is given up.
func TestFailedFlush(t *testing.T) {
	f := newFixture(t, keyTable(nil))
	defer f.alloc.AssertSize(t, 0)
	f.cfg.FileIO = faultio.New(f.fs, faultio.FailWhere(func(c faultio.Call) bool { return c.Method == "create" }, faultio.Before, 0))
	w := f.writer()
	ctx := context.Background()
	if err := f.write(w, nil, []types.Value{int64(1), "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prepare(ctx); tarnerr.KindOf(err) != tarnerr.Unavailable {
		t.Fatalf("%v", err)
	}
	if err := f.write(w, nil, []types.Value{int64(2), "b"}); tarnerr.KindOf(err) != tarnerr.Unavailable {
		t.Errorf("writing after a failed flush: %v", err)
	}
	if _, err := w.Prepare(ctx); err == nil {
		t.Error("a writer that lost rows prepared a commit")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if left := f.fs.Paths(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnsupportedBuckets(t *testing.T) {
	f := newFixture(t, keyTable(nil))
	f.cfg.Options.Bucket = -1
	if _, err := New(f.cfg); tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("%v", err)
	}
}

var _ memory.Allocator = (*memory.CheckedAllocator)(nil)
