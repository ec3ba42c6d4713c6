package avro

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// source is a column, member, element, key or value to be written: where its
// values come from, batch by batch.
type source struct {
	typ   types.Type
	path  string
	union bool // null or the value: Java makes it of every type that is nullable
	op    op
	kids  []*source

	arr     arrow.Array
	nulls   bool
	ints8   []int8
	ints16  []int16
	ints32  []int32
	ints64  []int64
	floats  []float32
	doubles []float64
	decs    []decimal128.Num
	bools   *array.Boolean
	offsets []int32 // of texts, from the array's first value on
	texts   []byte
	bounds  func(i int) (from, to int64) // of lists and maps
}

func newSource(t types.Type, path string) *source {
	s := &source{typ: t, path: path, union: t.Nullable}
	kid := func(t types.Type, name string) { s.kids = append(s.kids, newSource(t, path+"."+name)) }
	switch t.Root {
	case types.Boolean:
		s.op = opBool
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Date, types.Time:
		s.op = opInt
	case types.Float:
		s.op = opFloat
	case types.Double:
		s.op = opDouble
	case types.Decimal:
		s.op = opDecimal
	case types.Timestamp, types.TimestampLTZ:
		s.op = opStamp
	case types.Array:
		s.op = opList
		kid(*t.Element, "element")
	case types.Vector:
		s.op = opVector
		kid(*t.Element, "element")
	case types.Map, types.Multiset:
		key, value := t.Key, *t.Element
		if t.Root == types.Multiset {
			key, value = t.Element, types.Type{Root: types.Int, Nullable: true}
		}
		s.op = opPairs
		if key.IsString() {
			s.op, key = opMap, notNull(key)
		}
		kid(*key, "key")
		kid(value, "value")
	case types.Row:
		s.op = opRow
		for _, m := range t.Fields {
			kid(m.Type, m.Name)
		}
	default:
		s.op = opText
	}
	return s
}

func notNull(t *types.Type) *types.Type {
	n := t.WithNull(false)
	return &n
}

// bind takes the values of an array of the type's layout.
func (s *source) bind(a arrow.Array) {
	s.arr, s.nulls = a, a.NullN() > 0
	switch a := a.(type) {
	case *array.Boolean:
		s.bools = a
	case *array.Int8:
		s.ints8 = a.Int8Values()
	case *array.Int16:
		s.ints16 = a.Int16Values()
	case *array.Int32:
		s.ints32 = a.Int32Values()
	case *array.Int64:
		s.ints64 = a.Int64Values()
	case *array.Float32:
		s.floats = a.Float32Values()
	case *array.Float64:
		s.doubles = a.Float64Values()
	case *array.Decimal128:
		s.decs = a.Values()
	case *array.String:
		s.offsets, s.texts = a.ValueOffsets(), textBytes(a.Data())
	case *array.Binary:
		s.offsets, s.texts = a.ValueOffsets(), textBytes(a.Data())
	case *array.Date32:
		s.ints32 = arrow.Int32Traits.CastFromBytes(arrow.Date32Traits.CastToBytes(a.Date32Values()))
	case *array.Time32:
		s.ints32 = arrow.Int32Traits.CastFromBytes(arrow.Time32Traits.CastToBytes(a.Time32Values()))
	case *array.Timestamp:
		s.ints64 = arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues()))
	case *array.List:
		s.bounds = a.ValueOffsets
		s.kids[0].bind(a.ListValues())
	case *array.FixedSizeList:
		s.bounds = a.ValueOffsets
		s.kids[0].bind(a.ListValues())
	case *array.Map:
		s.bounds = a.ValueOffsets
		s.kids[0].bind(a.Keys())
		s.kids[1].bind(a.Items())
	case *array.Struct:
		for i, k := range s.kids {
			k.bind(a.Field(i))
		}
	}
}

// textBytes is the buffer that the offsets of an array count in.
func textBytes(d arrow.ArrayData) []byte {
	if b := d.Buffers()[2]; b != nil {
		return b.Bytes()
	}
	return nil
}

// append writes value i.
func (s *source) append(dst []byte, i int) ([]byte, error) {
	if s.nulls && s.arr.IsNull(i) {
		if !s.union {
			return nil, tarnerr.New(tarnerr.Invalid, "writing Avro file", "null where the column allows none", "column", s.path)
		}
		return append(dst, 0), nil
	}
	if s.union {
		dst = append(dst, 2) // branch 1
	}
	switch s.op {
	case opInt:
		return ocf.AppendLong(dst, s.integer(i)), nil
	case opText:
		b := s.texts[s.offsets[i]:s.offsets[i+1]]
		return ocf.AppendText(dst, b), nil
	case opDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.doubles[i])), nil
	case opFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(s.floats[i])), nil
	case opStamp:
		return ocf.AppendLong(dst, s.ints64[i]), nil
	case opBool:
		if s.bools.Value(i) {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case opDecimal:
		return appendDecimal(dst, s.decs[i]), nil
	}
	return s.appendNested(dst, i)
}

func (s *source) integer(i int) int64 {
	switch s.typ.Root {
	case types.TinyInt:
		return int64(s.ints8[i])
	case types.SmallInt:
		return int64(s.ints16[i])
	case types.BigInt:
		return s.ints64[i]
	}
	return int64(s.ints32[i])
}

// appendNested writes a row, or the items of a list or a map as one block.
func (s *source) appendNested(dst []byte, i int) (_ []byte, err error) {
	if s.op == opRow {
		for _, k := range s.kids {
			if dst, err = k.append(dst, i); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	from, to := s.bounds(i)
	if from < to {
		dst = ocf.AppendLong(dst, to-from)
	}
	for ; from < to; from++ {
		for _, k := range s.kids {
			if dst, err = k.append(dst, int(from)); err != nil {
				return nil, err
			}
		}
	}
	return append(dst, 0), nil
}

// appendDecimal writes the fewest bytes of two's complement that hold the number,
// most significant first.
func appendDecimal(dst []byte, v decimal128.Num) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(b[8:], v.LowBits())
	from, sign := 0, byte(v.HighBits()>>63)
	for from < 15 && b[from] == sign && (b[from+1]^sign)&0x80 == 0 {
		from++
	}
	return append(append(dst, byte(16-from)<<1), b[from:]...)
}
