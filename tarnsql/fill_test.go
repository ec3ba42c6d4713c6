//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// oneBatch is a table, and its own reader, of one batch.
type oneBatch struct {
	table.Table
	rec  arrow.RecordBatch
	read bool
}

func (b *oneBatch) Name() table.Identifier { return table.Identifier{Database: "d", Table: "t"} }

func (b *oneBatch) Scan(context.Context, table.Scan) (table.Reader, error) { return oneRead{b}, nil }

type oneRead struct{ b *oneBatch }

func (r oneRead) Schema() *arrow.Schema { return r.b.rec.Schema() }
func (r oneRead) Close() error          { return nil }

func (r oneRead) Next(context.Context) (arrow.RecordBatch, error) {
	if r.b.read {
		return nil, io.EOF
	}
	r.b.read = true
	return r.b.rec, nil
}

// through passes values of one type, in an array that does not begin at its
// first element, to DuckDB and back.
func through(t *testing.T, e *engine, typ types.Type, values []types.Value) ([]types.Value, error) {
	t.Helper()
	field := types.Field{Name: "x", Type: typ}
	s, err := types.ArrowSchema([]types.Field{field})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(e.mem, s)
	defer b.Release()
	for _, v := range append([]types.Value{nil, values[0], nil}, values...) {
		if err := types.AppendValue(b.Field(0), typ, v); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.NewRecordBatch()
	defer whole.Release()
	rec := whole.NewSlice(3, whole.NumRows())
	defer rec.Release()
	st, cancel := e.newStatement(context.Background())
	id := st.add(&scan{table: &oneBatch{rec: rec}, fields: []types.Field{field}, system: true, rows: rec.NumRows()})
	sql := "SELECT * FROM tarn_scan(" + itoa(int(id)) + ")"
	q, err := st.prepare(original(sql, sql, 0), cancel)
	if err != nil {
		return nil, err
	}
	rows, err := q.start()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []types.Value
	for {
		got, err := rows.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range int(got.NumRows()) {
			out = append(out, types.ValueAt(rows.Fields()[0].Type, got.Column(0), i))
		}
	}
}

func TestTypesThatFewTablesHave(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	e, err := openEngine(Options{TempDir: t.TempDir(), Allocator: mem, Threads: 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	list := func(vs ...types.Value) types.Value { return vs }
	many := make([]types.Value, 5000)
	for i := range many {
		many[i] = list(int64(i), nil)
		if i%7 == 0 {
			many[i] = nil
		}
	}
	for _, c := range []struct {
		typ    string
		values []types.Value
	}{
		{"VECTOR<FLOAT, 3>", []types.Value{list(float32(1), float32(2), nil), nil, list(float32(4), float32(5), float32(6))}},
		{"VECTOR<BIGINT, 2>", many},
		{"ARRAY<VECTOR<INT, 2>>", []types.Value{list(list(int64(1), int64(2)), nil), nil, []types.Value{}, list(list(nil, int64(3)))}},
		{"GEOMETRY", []types.Value{[]byte{1, 2}, nil, []byte("longer than twelve bytes")}},
		{"BLOB", []types.Value{[]byte{}, nil, []byte{0xff}}},
		{"DECIMAL(4, 2)", []types.Value{nil}},
		{"BOOLEAN", []types.Value{true, nil, false, true}},
	} {
		got, err := through(t, e, types.MustParse(c.typ), c.values)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		if d := cmp.Diff(c.values, got); d != "" {
			t.Errorf("%s: %s", c.typ, d)
		}
	}
	variant := []types.Value{types.VariantValue{Value: []byte{12, 5}, Metadata: []byte{1, 0, 0}}, nil}
	got, err := through(t, e, types.MustParse("VARIANT"), variant)
	if d := cmp.Diff([]types.Value{list([]byte{12, 5}, []byte{1, 0, 0}), nil}, got); err != nil || d != "" {
		t.Errorf("VARIANT: %v %s", err, d)
	}
	// DuckDB's zoned timestamps have microseconds, and nothing is cut off.
	_, err = through(t, e, types.MustParse("TIMESTAMP_LTZ(9)"), []types.Value{types.Instant{Millis: 1, NanoOfMilli: 1}})
	if tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("a nanosecond: %v", err)
	}
	_, err = through(t, e, types.MustParse("TIMESTAMP_LTZ(3)"), []types.Value{types.Instant{Millis: 1 << 62}})
	if tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("an instant of too far: %v", err)
	}
}
