//go:build cgo && !tarn_nosql

package tarnsql

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// decoder reads vectors of one DuckDB type into the Arrow array of a Paimon type.
type decoder struct {
	out      types.Type
	children []*decoder
	length   int // of ARRAY
	// decode appends rows of vec; nil when no Paimon type carries the values.
	decode func(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error
}

// newDecoder maps DuckDB's type. Unsigned integers widen; HUGEINT becomes
// DECIMAL(38, 0), whose range is checked.
func newDecoder(t mapping.LogicalType) *decoder {
	d := &decoder{}
	null := func(t types.Type) types.Type { return t.WithNull(true) }
	flat := func(r types.Root) types.Type { return types.Type{Root: r, Nullable: true} }
	switch mapping.GetTypeId(t) {
	case mapping.TypeBoolean:
		d.out, d.decode = flat(types.Boolean), decodeBooleans
	case mapping.TypeTinyInt:
		d.out, d.decode = flat(types.TinyInt), fixed(func(b *array.Int8Builder, v []int8, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeSmallInt:
		d.out, d.decode = flat(types.SmallInt), fixed(func(b *array.Int16Builder, v []int16, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeInteger:
		d.out, d.decode = flat(types.Int), fixed(func(b *array.Int32Builder, v []int32, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeBigInt:
		d.out, d.decode = flat(types.BigInt), fixed(func(b *array.Int64Builder, v []int64, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeUTinyInt:
		d.out, d.decode = flat(types.SmallInt), mapped(func(b *array.Int16Builder, v uint8) error { b.Append(int16(v)); return nil })
	case mapping.TypeUSmallInt:
		d.out, d.decode = flat(types.Int), mapped(func(b *array.Int32Builder, v uint16) error { b.Append(int32(v)); return nil })
	case mapping.TypeUInteger:
		d.out, d.decode = flat(types.BigInt), mapped(func(b *array.Int64Builder, v uint32) error { b.Append(int64(v)); return nil })
	case mapping.TypeUBigInt:
		d.out = null(types.Type{Root: types.Decimal, Precision: 20})
		d.decode = mapped(func(b *array.Decimal128Builder, v uint64) error { b.Append(decimal128.New(0, v)); return nil })
	case mapping.TypeHugeInt:
		d.out, d.decode = null(types.Type{Root: types.Decimal, Precision: 38}), mapped(appendHuge)
	case mapping.TypeFloat:
		d.out, d.decode = flat(types.Float), fixed(func(b *array.Float32Builder, v []float32, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeDouble:
		d.out, d.decode = flat(types.Double), fixed(func(b *array.Float64Builder, v []float64, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeDecimal:
		d.out = null(types.Type{Root: types.Decimal, Precision: int(mapping.DecimalWidth(t)), Scale: int(mapping.DecimalScale(t))})
		d.decode = decimals(mapping.DecimalInternalType(t))
	case mapping.TypeVarchar:
		d.out, d.decode = null(types.Type{Root: types.VarChar, Length: types.MaxLength}), decodeText
	case mapping.TypeBlob:
		d.out, d.decode = null(types.Type{Root: types.VarBinary, Length: types.MaxLength}), decodeBlob
	case mapping.TypeDate:
		d.out, d.decode = flat(types.Date), fixed(func(b *array.Date32Builder, v []arrow.Date32, ok []bool) { b.AppendValues(v, ok) })
	case mapping.TypeTime:
		d.out, d.decode = null(types.Type{Root: types.Time, Precision: 3}), mapped(appendTime)
	case mapping.TypeTimestampS:
		d.out = null(types.Type{Root: types.Timestamp})
		d.decode = mapped(func(b *array.TimestampBuilder, v int64) error { b.Append(arrow.Timestamp(v * 1000)); return nil })
	case mapping.TypeTimestampMS, mapping.TypeTimestamp, mapping.TypeTimestampNS:
		precision := map[mapping.Type]int{mapping.TypeTimestampMS: 3, mapping.TypeTimestamp: 6, mapping.TypeTimestampNS: 9}
		d.out, d.decode = null(types.Type{Root: types.Timestamp, Precision: precision[mapping.GetTypeId(t)]}), decodeTimestamps
	case mapping.TypeTimestampTZ:
		d.out, d.decode = null(types.Type{Root: types.TimestampLTZ, Precision: 6}), decodeTimestamps
	case mapping.TypeList, mapping.TypeArray, mapping.TypeMap, mapping.TypeStruct:
		d.nested(t)
	}
	if d.decode == nil {
		d.out = null(types.Type{Root: types.VarChar, Length: types.MaxLength})
	}
	return d
}

// target makes the values those of t, whose DuckDB type is the vector's.
func (d *decoder) target(t types.Type) {
	d.out = t
	switch t.Root {
	case types.Date:
		d.decode = finite[int32](math.MaxInt32, d.decode)
	case types.Timestamp:
		d.decode = finite[int64](math.MaxInt64, d.decode)
	case types.TimestampLTZ:
		d.decode = finite[int64](math.MaxInt64, zoned(types.TimeUnit(t.Precision)))
	case types.Array, types.Vector:
		d.children[0].target(*t.Element)
	case types.Map, types.Multiset:
		key, value := entryTypes(t)
		d.children[0].target(key)
		d.children[1].target(value)
	case types.Row:
		for i, f := range t.Fields {
			d.children[i].target(f.Type)
		}
	}
}

type decode = func(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error

// finite refuses the values that stand for infinity in DuckDB, endless and its
// negative: to all other readers of the table they would be days like others.
func finite[T int32 | int64](endless T, then decode) decode {
	return func(d *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
		ok := valid(vec, from, n)
		for i, v := range vectorData[T](vec, from+n)[from:] {
			if (v == endless || v == -endless) && (ok == nil || ok[i]) {
				return tarnerr.New(tarnerr.Invalid, "reading result", "infinity, which no table holds", "type", d.out).
					WithHint("Write NULL, or a far day that means it, such as 9999-12-31.")
			}
		}
		return then(d, b, vec, from, n)
	}
}

// zoned decodes TIMESTAMPTZ, which has microseconds, into another unit.
func zoned(unit arrow.TimeUnit) func(*decoder, array.Builder, mapping.Vector, int, int) error {
	switch unit {
	case arrow.Millisecond:
		return mapped(func(b *array.TimestampBuilder, v int64) error {
			ms := v / 1000
			if v%1000 < 0 {
				ms--
			}
			b.Append(arrow.Timestamp(ms))
			return nil
		})
	case arrow.Nanosecond:
		return mapped(func(b *array.TimestampBuilder, v int64) error {
			if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
				return tarnerr.New(tarnerr.Invalid, "reading result", "a timestamp outside of what 64 bits of nanoseconds hold, 1677 to 2262", "microseconds", v)
			}
			b.Append(arrow.Timestamp(v * 1000))
			return nil
		})
	}
	return decodeTimestamps
}

func (d *decoder) append(b array.Builder, vec mapping.Vector, from, n int) error {
	if n == 0 {
		return nil
	}
	return d.decode(d, b, vec, from, n)
}

// valid tells which rows are not null; nil when all are.
func valid(vec mapping.Vector, from, n int) []bool {
	mask := mapping.VectorGetValidity(vec)
	if mask == nil {
		return nil
	}
	out := make([]bool, n)
	all := true
	for i := range out {
		row := from + i
		word := *(*uint64)(unsafe.Add(mask, row/64*8))
		out[i] = word>>(row%64)&1 == 1
		all = all && out[i]
	}
	if all {
		return nil
	}
	return out
}

// fixed decodes values that both sides keep alike.
func fixed[B array.Builder, T any](add func(b B, values []T, valid []bool)) func(*decoder, array.Builder, mapping.Vector, int, int) error {
	return func(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
		add(b.(B), vectorData[T](vec, from+n)[from:], valid(vec, from, n))
		return nil
	}
}

// decodeBooleans looks at bytes: where a row is null DuckDB may have left one
// there that is no bool.
func decodeBooleans(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	out, ok := b.(*array.BooleanBuilder), valid(vec, from, n)
	values := make([]bool, n)
	for i, v := range vectorData[uint8](vec, from+n)[from:] {
		values[i] = v != 0 && (ok == nil || ok[i])
	}
	out.AppendValues(values, ok)
	return nil
}

// mapped decodes value by value.
func mapped[B array.Builder, T any](add func(b B, v T) error) func(*decoder, array.Builder, mapping.Vector, int, int) error {
	return func(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
		ok := valid(vec, from, n)
		for i, v := range vectorData[T](vec, from+n)[from:] {
			if ok != nil && !ok[i] {
				b.AppendNull()
				continue
			}
			if err := add(b.(B), v); err != nil {
				return err
			}
		}
		return nil
	}
}

func decimals(kept mapping.Type) func(*decoder, array.Builder, mapping.Vector, int, int) error {
	switch kept {
	case mapping.TypeSmallInt:
		return mapped(func(b *array.Decimal128Builder, v int16) error { b.Append(decimal128.FromI64(int64(v))); return nil })
	case mapping.TypeInteger:
		return mapped(func(b *array.Decimal128Builder, v int32) error { b.Append(decimal128.FromI64(int64(v))); return nil })
	case mapping.TypeBigInt:
		return mapped(func(b *array.Decimal128Builder, v int64) error { b.Append(decimal128.FromI64(v)); return nil })
	}
	return fixed(func(b *array.Decimal128Builder, v []decimal128.Num, ok []bool) { b.AppendValues(v, ok) })
}

var hugeLimit = decimal128.GetScaleMultiplier(38)

func appendHuge(b *array.Decimal128Builder, v decimal128.Num) error {
	if !v.Less(hugeLimit) || !v.Greater(hugeLimit.Negate()) {
		return tarnerr.New(tarnerr.Unsupported, "reading result", "a HUGEINT of more than 38 digits").
			WithHint("CAST the column to DOUBLE or VARCHAR.")
	}
	b.Append(v)
	return nil
}

func appendTime(b *array.Time32Builder, v int64) error {
	if v%1000 != 0 {
		return tarnerr.New(tarnerr.Unsupported, "reading result", "a TIME finer than milliseconds", "microseconds", v).
			WithHint("CAST the column to VARCHAR.")
	}
	b.Append(arrow.Time32(v / 1000))
	return nil
}

func decodeTimestamps(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	b.(*array.TimestampBuilder).AppendValues(vectorData[arrow.Timestamp](vec, from+n)[from:], valid(vec, from, n))
	return nil
}

func decodeText(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	text := b.(*array.StringBuilder)
	data, ok := mapping.VectorGetData(vec), valid(vec, from, n)
	for i := range n {
		if ok != nil && !ok[i] {
			text.AppendNull()
		} else {
			text.Append(textAt(data, from+i))
		}
	}
	return nil
}

func decodeBlob(_ *decoder, b array.Builder, vec mapping.Vector, from, n int) error {
	blob := b.(*array.BinaryBuilder)
	data, ok := mapping.VectorGetData(vec), valid(vec, from, n)
	for i := range n {
		if ok != nil && !ok[i] {
			blob.AppendNull()
		} else {
			blob.Append(unsafe.Slice(bytesAt(data, from+i)))
		}
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }

func decimalName(precision, scale int) string {
	return "DECIMAL(" + itoa(precision) + ", " + itoa(scale) + ")"
}
