package binaryrow

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// anyRow has every type that decoding treats in its own way.
var anyRow = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(3)", "STRING", "BYTES", "DECIMAL(10,2)", "DECIMAL(38,2)",
	"TIMESTAMP(3)", "TIMESTAMP(9)", "ARRAY<STRING>", "MAP<STRING, INT>", "MULTISET<INT>", "ROW<a STRING, b ARRAY<DECIMAL(38,2)>>", "VARIANT",
}

func anyValues() []types.Value {
	return list(true, int64(1), int64(2), int64(3), int64(4), float32(5), 6.0, int32(7), int32(8), "nine and nine", []byte("ten"), dec("11"), dec("-12"),
		types.Instant{Millis: 13}, types.Instant{Millis: 14, NanoOfMilli: 15}, list("a long element", nil, "b"),
		[]types.Entry{{Key: "key", Value: int64(1)}, {Key: "another key", Value: nil}}, []types.Entry{{Key: int64(5), Value: int64(2)}},
		list("member of the row", list(dec("1"), nil)), types.VariantValue{Value: []byte{1, 2}, Metadata: []byte{3}})
}

// Cut anywhere, a row is Corrupt or, where only padding is gone, the same.
func TestCutRows(t *testing.T) {
	ts := typesOf(anyRow...)
	row, err := Encode(ts, anyValues())
	if err != nil {
		t.Fatal(err)
	}
	for n := range row {
		got, err := Decode(row[:n], ts)
		if err == nil {
			if diff := cmp.Diff(anyValues(), got, decimals); diff == "" && n > len(row)-8 {
				continue
			}
			t.Fatalf("cut at %d of %d: no error", n, len(row))
		}
		if tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Fatalf("cut at %d: %v, want Corrupt", n, err)
		}
	}
}

func TestRowsThatAreNone(t *testing.T) {
	text := typesOf("STRING")
	slot := func(v uint64, more int) Row {
		r := append(make([]byte, 12), binary.LittleEndian.AppendUint64(nil, v)...)
		r[3] = 1
		return append(r, make([]byte, more)...)
	}
	for name, row := range map[string]Row{
		"nil":                nil,
		"arity alone":        {0, 0, 0, 1},
		"negative arity":     append(Row{0xff, 0xff, 0xff, 0xff}, make([]byte, 64)...),
		"huge arity":         append(Row{0x7f, 0xff, 0xff, 0xff}, make([]byte, 64)...),
		"inline of 8":        slot(0x88<<56, 0),
		"offset beyond":      slot(1<<40|1, 16),
		"length beyond":      slot(16<<32|0x7fffffff, 16),
		"other arity":        Empty,
		"offset and a bit":   slot(16<<32|9, 8),
		"largest everything": slot(1<<63-1, 8),
	} {
		if v, err := Decode(row, text); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%s: %v %v, want Corrupt", name, v, err)
		}
		if v, err := row.Value(0, text[0]); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%s: field 0 %v %v, want Corrupt", name, v, err)
		}
	}
	// A hostile array whose elements all share one long text does not become many of them.
	n := 1000
	arr := binary.LittleEndian.AppendUint32(nil, uint32(n))
	arr = append(arr, make([]byte, arrayHeader(n)-4)...)
	at := arrayHeader(n) + 8*n
	for range n {
		arr = binary.LittleEndian.AppendUint64(arr, uint64(at)<<32|1<<20)
	}
	arr = append(arr, make([]byte, 1<<20)...)
	if _, err := decodeArray(arr, text[0]); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("array of overlapping texts: %v", err)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		ty string
		v  types.Value
	}{
		{"TINYINT", int64(128)}, {"SMALLINT", int64(-32769)}, {"INT", int64(1 << 31)}, {"INT", int32(1)}, {"STRING", []byte("x")}, {"BYTES", "x"},
		{"DECIMAL(10,0)", dec("99999999999999999999")}, {"TIMESTAMP(9)", types.Instant{NanoOfMilli: 1e6}}, {"DATE", int64(1)}, {"BOOLEAN", int64(1)},
		{"ARRAY<INT>", "x"}, {"ARRAY<INT>", list("x")}, {"MAP<INT,INT>", list()}, {"ROW<a INT>", list()}, {"VARIANT", "x"}, {"FLOAT", 1.0}, {"DOUBLE", float32(1)},
	} {
		if row, err := Encode(typesOf(c.ty), list(c.v)); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%s %v: %x %v, want Invalid", c.ty, c.v, row, err)
		}
	}
	if _, err := Encode(typesOf("INT"), nil); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("fewer values than types: %v, want Invalid", err)
	}
}

// Equal rows are equal bytes whatever was in the buffer before.
func TestScratchIsCleared(t *testing.T) {
	dirty := []byte(strings.Repeat("\xff", 400))
	ts := typesOf("INT", "STRING", "DECIMAL(38,0)")
	vs := list(nil, "abc", nil)
	want, err := Encode(ts, vs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendValues(dirty[:3], ts, vs)
	if err != nil || string(got[3:]) != string(want) {
		t.Errorf("%x %v, want %x", got[3:], err, want)
	}
}

func FuzzDecode(f *testing.F) {
	ts := typesOf(anyRow...)
	row, err := Encode(ts, anyValues())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(row))
	nulls, err := Encode(ts, make([]types.Value, len(ts)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nulls))
	f.Add([]byte(Empty))
	f.Fuzz(func(t *testing.T, data []byte) {
		vs, err := Decode(data, ts)
		if err != nil {
			return
		}
		// What was read can be written, and is then read the same.
		again, err := Encode(ts, vs)
		if err != nil {
			t.Fatalf("encoding what was decoded: %v", err)
		}
		back, err := Decode(again, ts)
		if err != nil {
			t.Fatalf("decoding our own row: %v", err)
		}
		if diff := cmp.Diff(vs, back, equalNaNs, decimals); diff != "" {
			t.Fatal(diff)
		}
		for i, ty := range ts {
			if v, err := Row(data).Value(i, ty); err != nil {
				t.Fatalf("field %d: %v of %v", i, err, v)
			}
		}
	})
}
