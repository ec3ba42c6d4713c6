package write

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func offsetBuffer(offsets ...int32) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))
}

// texts is an array of text or bytes with the offsets given in "abcdef".
func texts(t arrow.DataType, offsets ...int32) arrow.ArrayData {
	data := memory.NewBufferBytes([]byte("abcdef"))
	return array.NewData(t, len(offsets)-1, []*memory.Buffer{nil, offsetBuffer(offsets...), data}, nil, 0, 0)
}

func lists(t arrow.DataType, values arrow.ArrayData, offsets ...int32) arrow.ArrayData {
	return array.NewData(t, len(offsets)-1, []*memory.Buffer{nil, offsetBuffer(offsets...)}, []arrow.ArrayData{values}, 0, 0)
}

// Arrays that lead outside of their data are refused, nothing of the batch is taken,
// and the writer goes on; parts of such arrays that are in order are taken.
func TestMalformedArrays(t *testing.T) {
	text, bin := arrow.BinaryTypes.String, arrow.BinaryTypes.Binary
	numbers := arrow.PrimitiveTypes.Int64
	textList, mapType := arrow.ListOf(text), arrow.MapOf(text, text)
	row := arrow.StructOf(arrow.Field{Name: "m", Type: text, Nullable: true})
	pairs := func(keys, values arrow.ArrayData) arrow.ArrayData {
		return array.NewData(mapType.Elem(), keys.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{keys, values}, 0, 0)
	}
	bytesOf := func(n int) *memory.Buffer { return memory.NewBufferBytes(make([]byte, n)) }
	good := texts(text, 0, 1, 2, 3)
	for _, c := range []struct {
		name, typ string
		data      arrow.ArrayData
		from, to  int64 // rows that are written
		taken     bool
	}{
		{"text, good", "STRING", texts(text, 0, 2, 6), 0, 2, true},
		{"text, offset behind the data", "STRING", texts(text, 0, 100, 6), 0, 2, false},
		{"text, offset far before the data", "STRING", texts(text, 0, -5, 6), 0, 2, false},
		{"text, offsets that go back", "STRING", texts(text, 0, 4, 2, 6), 0, 3, false},
		{"text, first offset negative", "STRING", texts(text, -1, 2, 6), 0, 2, false},
		{"text, good part of bad", "STRING", texts(text, 0, 2, 4, 100, 6), 0, 2, true},
		{"text, bad part", "STRING", texts(text, 0, 2, 4, 100, 6), 2, 4, false},
		{"bytes, offset behind the data", "BYTES", texts(bin, 0, 100, 6), 0, 2, false},
		{"bytes, offsets that go back", "BYTES", texts(bin, 0, 4, 2, 6), 0, 3, false},
		{"list, good", "ARRAY<STRING>", lists(textList, good, 0, 1, 3), 0, 2, true},
		{"list, offset behind the elements", "ARRAY<STRING>", lists(textList, good, 0, 9, 3), 0, 2, false},
		{"list, last offset behind the elements", "ARRAY<STRING>", lists(textList, good, 0, 1, 9), 0, 2, false},
		{"list, offset negative", "ARRAY<STRING>", lists(textList, good, -3, 1, 3), 0, 2, false},
		{"list, bad text in it", "ARRAY<STRING>", lists(textList, texts(text, 0, 100, 6), 0, 1, 2), 0, 2, false},
		{"list, too few offsets", "ARRAY<STRING>", array.NewData(textList, 5, []*memory.Buffer{nil, offsetBuffer(0, 1)}, []arrow.ArrayData{good}, 0, 0), 0, 5, false},
		{"map, good", "MAP<STRING, STRING>", lists(mapType, pairs(good, good), 0, 1, 3), 0, 2, true},
		{"map, offset behind the pairs", "MAP<STRING, STRING>", lists(mapType, pairs(good, good), 0, 9, 3), 0, 2, false},
		{"map, bad text in it", "MAP<STRING, STRING>", lists(mapType, pairs(good, texts(text, 0, 4, 2, 6)), 0, 1, 3), 0, 2, false},
		{"row, bad text in it", "ROW<m STRING>", array.NewData(row, 2, []*memory.Buffer{nil}, []arrow.ArrayData{texts(text, 0, 100, 6)}, 0, 0), 0, 2, false},
		{"row, member too short", "ROW<m STRING>", array.NewData(row, 9, []*memory.Buffer{nil}, []arrow.ArrayData{good}, 0, 0), 0, 9, false},
		{"numbers that are not there", "BIGINT", array.NewData(numbers, 3, []*memory.Buffer{nil, nil}, nil, 0, 0), 0, 3, false},
		{"booleans that are not there", "BOOLEAN", array.NewData(arrow.FixedWidthTypes.Boolean, 3, []*memory.Buffer{nil, nil}, nil, 0, 0), 0, 3, false},
		{"marks of nulls too few", "BIGINT", array.NewData(numbers, 30, []*memory.Buffer{bytesOf(1), bytesOf(240)}, nil, array.UnknownNullCount, 0), 0, 30, false},
		{"more values than rows", "BIGINT", array.NewData(numbers, 3, []*memory.Buffer{nil, bytesOf(24)}, nil, 0, 0), 0, -2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			typ, err := types.Parse(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, schema.Spec{Fields: []types.Field{{Name: "c", Type: typ}}})
			defer f.alloc.AssertSize(t, 0)
			w := f.writer()
			defer w.Close()
			rows := c.to - c.from
			if rows < 0 {
				rows = -rows
			}
			col := array.MakeFromData(c.data)
			if rows < int64(col.Len()) && c.to > 0 {
				col = array.NewSlice(col, c.from, c.to)
			}
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: col.DataType(), Nullable: true}}, nil), []arrow.Array{col}, rows)
			err = w.Write(context.Background(), rec)
			want := int64(1)
			switch {
			case c.taken && err != nil:
				t.Fatal(err)
			case c.taken:
				want += rows
			case tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "column=c"):
				t.Fatal(err)
			}
			if err := f.write(w, nil, []types.Value{nil}); err != nil {
				t.Fatal(err)
			}
			if m, err := w.Prepare(context.Background()); err != nil || m[0].NewFiles[0].RowCount != want {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

// So are vectors, which no Parquet file holds.
func TestMalformedVector(t *testing.T) {
	dt := arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
	floats := memory.NewBufferBytes(make([]byte, 16))
	elements := array.NewData(arrow.PrimitiveTypes.Float32, 4, []*memory.Buffer{nil, floats}, nil, 0, 0)
	for rows, sound := range map[int]bool{2: true, 3: false} {
		col := array.MakeFromData(array.NewData(dt, rows, []*memory.Buffer{nil}, []arrow.ArrayData{elements}, 0, 0))
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt}}, nil), []arrow.Array{col}, int64(rows))
		if err := checkArrays(rec); (err == nil) != sound {
			t.Errorf("%d vectors of 2 in 4 elements: %v", rows, err)
		}
	}
}
