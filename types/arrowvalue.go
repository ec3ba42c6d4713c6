package types

import (
	"bytes"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
)

// ValueAt is element i of arr, an array of t's Arrow type, as a [Value]; nil
// when it is null, out of range, or arr is of another Arrow type. Strings and
// bytes are copied, so the value outlives arr.
func ValueAt(t Type, arr arrow.Array, i int) Value {
	if arr == nil || i < 0 || i >= arr.Len() || arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Decimal128:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return bytes.Clone(a.Value(i))
	case *array.Date32:
		return int32(a.Value(i))
	case *array.Time32:
		return int32(a.Value(i))
	case *array.Timestamp:
		return instantOf(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit)
	case *array.Map:
		return entriesAt(t, a, i)
	case *array.List:
		from, to := a.ValueOffsets(i)
		return valuesOf(t.Element.orInvalid(), a.ListValues(), from, to)
	case *array.FixedSizeList:
		from, to := a.ValueOffsets(i)
		return valuesOf(t.Element.orInvalid(), a.ListValues(), from, to)
	case *array.Struct:
		return structAt(t, a, i)
	}
	return nil
}

func valuesOf(t Type, arr arrow.Array, from, to int64) []Value {
	out := make([]Value, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, ValueAt(t, arr, int(i)))
	}
	return out
}

func entriesAt(t Type, a *array.Map, i int) Value {
	key, value := t.Key.orInvalid(), t.Element.orInvalid()
	if t.Root == Multiset {
		key, value = value, Type{Root: Int}
	}
	from, to := a.ValueOffsets(i)
	out := make([]Entry, 0, to-from)
	for j := from; j < to; j++ {
		out = append(out, Entry{ValueAt(key, a.Keys(), int(j)), ValueAt(value, a.Items(), int(j))})
	}
	return out
}

func structAt(t Type, a *array.Struct, i int) Value {
	if t.Root == Variant {
		if a.NumField() < 2 {
			return nil
		}
		v, _ := ValueAt(Type{Root: Blob}, a.Field(0), i).([]byte)
		m, _ := ValueAt(Type{Root: Blob}, a.Field(1), i).([]byte)
		return VariantValue{v, m}
	}
	out := make([]Value, a.NumField())
	for j := range out {
		var member Type
		if j < len(t.Fields) {
			member = t.Fields[j].Type
		}
		out[j] = ValueAt(member, a.Field(j), i)
	}
	return out
}

func instantOf(v int64, unit arrow.TimeUnit) Instant {
	perMilli := int64(1)
	switch unit {
	case arrow.Second:
		return Instant{Millis: v * 1000}
	case arrow.Microsecond:
		perMilli = 1_000
	case arrow.Nanosecond:
		perMilli = 1_000_000
	}
	ms := floorDiv(v, perMilli)
	return Instant{Millis: ms, NanoOfMilli: int32((v - ms*perMilli) * (1_000_000 / perMilli))}
}

// InstantToUnit is v as an Arrow timestamp of the unit; false when it does not
// fit 64 bits, as nanoseconds outside 1677-09-21 … 2262-04-11 do not. Digits
// finer than the unit are cut off towards the past.
func InstantToUnit(v Instant, unit arrow.TimeUnit) (int64, bool) {
	perMilli := int64(1_000_000)
	switch unit {
	case arrow.Second:
		return floorDiv(v.Millis, 1000), true
	case arrow.Millisecond:
		return v.Millis, true
	case arrow.Microsecond:
		perMilli = 1_000
	}
	sub := int64(v.NanoOfMilli) / (1_000_000 / perMilli)
	if v.Millis > math.MaxInt64/perMilli || v.Millis < math.MinInt64/perMilli-1 {
		return 0, false
	}
	if v.Millis < math.MinInt64/perMilli {
		// The last, partly representable millisecond: count from its end.
		n := (v.Millis+1)*perMilli - (perMilli - sub)
		return n, n < 0
	}
	n := v.Millis * perMilli
	if n > math.MaxInt64-sub {
		return 0, false
	}
	return n + sub, true
}

// AppendValue appends v, nil for null, to a builder of t's Arrow type. It
// refuses a value that is not of t's Go form and a timestamp the Arrow type
// cannot hold, and then appends nothing to b itself; members of nested values
// already appended stay, so the builder must be given up after an error.
func AppendValue(b array.Builder, t Type, v Value) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	ok := false
	switch b := b.(type) {
	case *array.BooleanBuilder:
		ok = appendAs(b.Append, v)
	case *array.Int8Builder:
		ok = appendInt(b.Append, v)
	case *array.Int16Builder:
		ok = appendInt(b.Append, v)
	case *array.Int32Builder:
		ok = appendInt(b.Append, v)
	case *array.Int64Builder:
		ok = appendInt(b.Append, v)
	case *array.Float32Builder:
		ok = appendAs(b.Append, v)
	case *array.Float64Builder:
		ok = appendAs(b.Append, v)
	case *array.Decimal128Builder:
		ok = appendAs[decimal128.Num](b.Append, v)
	case *array.StringBuilder:
		ok = appendAs(b.Append, v)
	case *array.BinaryBuilder:
		ok = appendAs(b.Append, v)
	case *array.Date32Builder:
		ok = appendAs(func(d int32) { b.Append(arrow.Date32(d)) }, v)
	case *array.Time32Builder:
		ok = appendAs(func(d int32) { b.Append(arrow.Time32(d)) }, v)
	case *array.TimestampBuilder:
		return appendInstantTo(b, t, v)
	case *array.MapBuilder:
		return appendMapTo(b, t, v)
	case *array.ListBuilder:
		return appendListTo(b, b.ValueBuilder(), t, v)
	case *array.FixedSizeListBuilder:
		if vs, isList := v.([]Value); isList && len(vs) != t.Length {
			return tarnerr.New(tarnerr.Invalid, "appending value", "wrong number of elements for the VECTOR",
				"type", t, "elements", len(vs))
		}
		return appendListTo(b, b.ValueBuilder(), t, v)
	case *array.StructBuilder:
		return appendStructTo(b, t, v)
	}
	if !ok {
		return badValue(b, t, v)
	}
	return nil
}

func badValue(b array.Builder, t Type, v Value) error {
	return tarnerr.New(tarnerr.Invalid, "appending value", "the value is not of the column's type",
		"type", t, "go", goType(v), "arrow", b.Type())
}

func goType(v Value) string {
	switch v.(type) {
	case bool:
		return "bool"
	case int64:
		return "int64"
	case int32:
		return "int32"
	case float32:
		return "float32"
	case float64:
		return "float64"
	case string:
		return "string"
	case []byte:
		return "bytes"
	case decimal128.Num:
		return "decimal"
	case Instant:
		return "instant"
	}
	return "other"
}

func appendAs[T any](add func(T), v Value) bool {
	x, ok := v.(T)
	if ok {
		add(x)
	}
	return ok
}

func appendInt[T int8 | int16 | int32 | int64](add func(T), v Value) bool {
	x, ok := v.(int64)
	if !ok || int64(T(x)) != x {
		return false
	}
	add(T(x))
	return true
}

func appendInstantTo(b *array.TimestampBuilder, t Type, v Value) error {
	x, ok := v.(Instant)
	if !ok {
		return badValue(b, t, v)
	}
	n, ok := InstantToUnit(x, b.Type().(*arrow.TimestampType).Unit)
	if !ok {
		return tarnerr.New(tarnerr.Invalid, "appending value", "the timestamp lies outside 1677-09-21 to 2262-04-11, "+
			"which nanoseconds in 64 bits can hold", "type", t, "value", FormatValue(t, x)).
			WithHint("Use TIMESTAMP(6) for instants that far away.")
	}
	b.Append(arrow.Timestamp(n))
	return nil
}

// listLike is what list builders have in common.
type listLike interface {
	array.Builder
	Append(bool)
}

func appendListTo(b listLike, values array.Builder, t Type, v Value) error {
	vs, ok := v.([]Value)
	if !ok {
		return badValue(b, t, v)
	}
	b.Append(true)
	for _, x := range vs {
		if err := AppendValue(values, t.Element.orInvalid(), x); err != nil {
			return err
		}
	}
	return nil
}

func appendMapTo(b *array.MapBuilder, t Type, v Value) error {
	es, ok := v.([]Entry)
	if !ok {
		return badValue(b, t, v)
	}
	key, value := t.Key.orInvalid(), t.Element.orInvalid()
	if t.Root == Multiset {
		key, value = value, Type{Root: Int}
	}
	b.Append(true)
	for _, e := range es {
		if e.Key == nil {
			return tarnerr.New(tarnerr.Invalid, "appending value", "a map's key must not be null", "type", t)
		}
		if err := AppendValue(b.KeyBuilder(), key, e.Key); err != nil {
			return err
		}
		if err := AppendValue(b.ItemBuilder(), value, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func appendStructTo(b *array.StructBuilder, t Type, v Value) error {
	members := t.Fields
	var vs []Value
	switch x := v.(type) {
	case VariantValue:
		blob := Field{Type: Type{Root: Blob}}
		members, vs = []Field{blob, blob}, []Value{x.Value, x.Metadata}
	case []Value:
		vs = x
	}
	if vs == nil || len(vs) != b.NumField() || len(members) != len(vs) {
		return badValue(b, t, v)
	}
	b.Append(true)
	for i, x := range vs {
		if err := AppendValue(b.FieldBuilder(i), members[i].Type, x); err != nil {
			return tarnerr.Trace("appending member", err, "member", members[i].Name)
		}
	}
	return nil
}
