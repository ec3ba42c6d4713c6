package parquet

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/types"
)

const testPath = formattest.Path

var (
	checked   = formattest.Checked
	field     = formattest.Field
	eachBatch = formattest.EachBatch
	badInput  = formattest.BadInput
	lines     = formattest.Lines
	content   = formattest.Content
)

// record builds a batch from rows of values.
func record(t testing.TB, alloc memory.Allocator, fields []types.Field, rows [][]types.Value) arrow.RecordBatch {
	t.Helper()
	return formattest.Record(t, alloc, fields, rows...)
}

// write writes batches as a file in memory.
func write(t testing.TB, fields []types.Field, opts fileformat.WriteOptions, recs ...arrow.RecordBatch) (*mem.FS, fileformat.Summary) {
	t.Helper()
	return formattest.Write(t, New(), fields, opts, recs...)
}

func open(t testing.TB, fs fileio.FileIO, alloc memory.Allocator) *File {
	t.Helper()
	info, err := fs.Stat(context.Background(), testPath)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(context.Background(), fs, testPath, info.Size, alloc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openBytes opens a file given by its content.
func openBytes(data []byte, alloc memory.Allocator) (*File, error) {
	return Open(context.Background(), formattest.Store(data), testPath, int64(len(data)), alloc)
}

// rowsOf reads a file as text, one string per row.
func rowsOf(t testing.TB, f *File, req fileformat.ReadRequest) []string {
	t.Helper()
	r, err := f.Read(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	if err := eachBatch(r, func(rec arrow.RecordBatch) error {
		out = append(out, textOf(req.Columns, rec)...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func textOf(fields []types.Field, rec arrow.RecordBatch) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		var line []byte
		for c, f := range fields {
			line = append(line, '|')
			line = types.AppendValueText(line, f.Type, types.ValueAt(f.Type, rec.Column(c), i))
		}
		out[i] = string(line)
	}
	return out
}

func sameRows(t testing.TB, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d\ngot  %s\nwant %s", i, got[i], want[i])
		}
	}
}

// randomValue is some value of t; nulls come now and then where they may.
func randomValue(r *rand.Rand, t types.Type, depth int) types.Value {
	if t.Nullable && r.IntN(5) == 0 {
		return nil
	}
	few := r.IntN(2) == 0 // few distinct values, so that dictionaries come into play
	switch t.Root {
	case types.Boolean:
		return r.IntN(2) == 0
	case types.TinyInt:
		return int64(int8(r.Uint64()))
	case types.SmallInt:
		return int64(int16(r.Uint64()))
	case types.Int:
		if few {
			return int64(r.IntN(4))
		}
		return int64(int32(r.Uint64()))
	case types.BigInt:
		if few {
			return int64(r.IntN(4)) << 40
		}
		return int64(r.Uint64())
	case types.Float:
		return math.Float32frombits(r.Uint32() &^ (1 << 23))
	case types.Double:
		return math.Float64frombits(r.Uint64() &^ (1 << 52))
	case types.Decimal:
		n := decimal128.New(int64(r.Uint64()), r.Uint64())
		limit := decimal128.FromI64(1)
		for range t.Precision {
			limit = limit.Mul(decimal128.FromI64(10))
		}
		_, rest := n.Div(limit)
		return rest
	case types.Char, types.VarChar:
		if few {
			return [...]string{"", "a", "ünï漢😀", "a longer text that repeats"}[r.IntN(4)]
		}
		return fmt.Sprintf("%x", r.Uint64())
	case types.Binary, types.VarBinary, types.Blob:
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case types.Date:
		return int32(r.IntN(200_000) - 100_000)
	case types.Time:
		return int32(r.IntN(86_400_000))
	case types.Timestamp, types.TimestampLTZ:
		v := types.Instant{Millis: r.Int64N(1<<42) - 1<<41}
		switch {
		case t.Precision > 6:
			v.NanoOfMilli = int32(r.IntN(1_000_000))
		case t.Precision > 3:
			v.NanoOfMilli = int32(r.IntN(1000)) * 1000
		}
		return v
	case types.Array:
		out := []types.Value{}
		for range r.IntN(4) {
			out = append(out, randomValue(r, *t.Element, depth+1))
		}
		return out
	case types.Map, types.Multiset:
		key, value := t.Key, t.Element
		if t.Root == types.Multiset {
			key, value = t.Element, &types.Type{Root: types.Int}
		}
		out := []types.Entry{}
		seen := map[string]bool{}
		for range r.IntN(4) {
			k := randomValue(r, key.WithNull(false), depth+1)
			if id := types.FormatValue(*key, k); !seen[id] {
				seen[id] = true
				out = append(out, types.Entry{Key: k, Value: randomValue(r, *value, depth+1)})
			}
		}
		return out
	case types.Row:
		out := []types.Value{}
		for _, f := range t.Fields {
			out = append(out, randomValue(r, f.Type, depth+1))
		}
		return out
	case types.Variant:
		return types.VariantValue{Value: []byte{byte(r.Uint32()), 1}, Metadata: []byte{1, 0, 0}}
	}
	panic("no value for " + t.String())
}

func newRecord(sc *arrow.Schema, cols []arrow.Array) arrow.RecordBatch {
	n := int64(0)
	if len(cols) > 0 {
		n = int64(cols[0].Len())
	}
	return array.NewRecordBatch(sc, cols, n)
}

func decimalValue(unscaled int64) types.Value { return decimal128.FromI64(unscaled) }

func columnOf(t testing.TB) batch.Column {
	return batch.Column{Mem: checked(t), Width: 8, Allowance: new(batch.Allowance)}
}
