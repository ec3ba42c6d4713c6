//go:build cgo && !tarn_nosql

package tarnsql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// DuckDB leaves any byte where a BOOLEAN is null; the rows beside it keep theirs.
func TestBooleansBesideNulls(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	typ := mapping.CreateLogicalType(mapping.TypeBoolean)
	defer mapping.DestroyLogicalType(&typ)
	chunk := mapping.CreateDataChunk([]mapping.LogicalType{typ})
	defer mapping.DestroyDataChunk(&chunk)
	const n = 94 // not a multiple of what is packed at once
	vec := mapping.DataChunkGetVector(chunk, 0)
	mapping.VectorEnsureValidityWritable(vec)
	bytes := vectorData[uint8](vec, n)
	for i := range bytes {
		bytes[i] = uint8(i / 2 % 2)
		if i%3 == 1 {
			bytes[i] = uint8(i*37 + 2)
			mapping.ValiditySetRowInvalid(mapping.VectorGetValidity(vec), mapping.IdxT(i))
		}
	}
	b := array.NewBuilder(mem, arrow.FixedWidthTypes.Boolean)
	defer b.Release()
	if err := newDecoder(typ).append(b, vec, 0, n); err != nil {
		t.Fatal(err)
	}
	out := b.NewArray().(*array.Boolean)
	defer out.Release()
	for i := range n {
		if null := i%3 == 1; out.IsNull(i) != null || !null && out.Value(i) != (i/2%2 == 1) {
			t.Errorf("row %d: %v", i, out.ValueStr(i))
		}
	}
}
