package aggregate

import (
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/types"
)

// lists are sources of an ARRAY or MAP column. A reference into kids names an element
// or an entry.
type lists struct {
	nulls   nulls
	offsets [][]int32
	kids    []arrow.Array
}

func listsOf(sources []arrow.Array) *lists {
	l := &lists{nulls: nullsOf(sources), offsets: make([][]int32, len(sources)), kids: make([]arrow.Array, len(sources))}
	for i, s := range sources {
		if s == nil {
			continue
		}
		l.kids[i] = s.(array.ListLike).ListValues()
		if s.Len() > 0 {
			l.offsets[i] = offsetsOf(s.Data())
		}
	}
	return l
}

// appendRow appends the elements of a row, which is not null.
func (l *lists) appendRow(dst []batch.Ref, r batch.Ref) []batch.Ref {
	off, row := l.offsets[r.Source()], r.Row()
	return batch.AppendRange(dst, r.Source(), int(off[row]), int(off[row+1]))
}

// members are child i of the kids, which are structs.
func (l *lists) members(i int) []arrow.Array {
	out := make([]arrow.Array, len(l.kids))
	for s, k := range l.kids {
		if k != nil {
			out[s] = k.(*array.Struct).Field(i)
		}
	}
	return out
}

// coder gives values a form in bytes that is the same for equal values: their binary row.
type coder struct {
	encoders []*binaryrow.Encoder
	batches  []arrow.RecordBatch
	scratch  []byte
}

// newCoder makes the coder of rows of fields, column[i][s] being field i in source s.
func newCoder(fields []types.Field, columns [][]arrow.Array) (*coder, error) {
	c := &coder{}
	if len(columns) == 0 {
		return c, nil
	}
	all := make([]int, len(fields))
	for i := range all {
		all[i] = i
	}
	c.encoders = make([]*binaryrow.Encoder, len(columns[0]))
	c.batches = make([]arrow.RecordBatch, len(columns[0]))
	for s := range c.encoders {
		if columns[0][s] == nil {
			continue
		}
		cols, schema := make([]arrow.Array, len(fields)), make([]arrow.Field, len(fields))
		for i := range fields {
			cols[i] = columns[i][s]
			schema[i] = arrow.Field{Name: fields[i].Name, Type: cols[i].DataType(), Nullable: true}
		}
		c.batches[s] = array.NewRecordBatch(arrow.NewSchema(schema, nil), cols, int64(cols[0].Len()))
		c.encoders[s] = binaryrow.NewEncoder(fields)
		if err := c.encoders[s].Bind(c.batches[s], all); err != nil {
			c.release()
			return nil, err
		}
	}
	return c, nil
}

// row is the form of a row, valid until the next call.
func (c *coder) row(r batch.Ref) binaryrow.Row {
	c.scratch = c.encoders[r.Source()].AppendRow(c.scratch[:0], r.Row())
	return c.scratch
}

func (c *coder) release() {
	for _, b := range c.batches {
		if b != nil {
			b.Release()
		}
	}
}

// byIdentity reports types whose values Java compares by identity where they are
// elements or keys, so that no two are equal: byte arrays.
func byIdentity(t types.Type) bool { return t.IsBytes() }

// hashes gives the hash codes Java has for values of a type; nil where these are not
// known and values stay in the order in which they came.
func hashes(t types.Type, arrays []arrow.Array) func(batch.Ref) int32 {
	n := nullsOf(arrays)
	var hash func(batch.Ref) int32
	switch t.Root {
	case types.Boolean:
		hash = func(r batch.Ref) int32 {
			if arrays[r.Source()].(*array.Boolean).Value(r.Row()) {
				return 1231
			}
			return 1237
		}
	case types.TinyInt:
		hash = hashed(arrays, func(v int8) int32 { return int32(v) })
	case types.SmallInt:
		hash = hashed(arrays, func(v int16) int32 { return int32(v) })
	case types.Int:
		hash = hashed(arrays, func(v int32) int32 { return v })
	case types.Date:
		hash = hashed(arrays, func(v arrow.Date32) int32 { return int32(v) })
	case types.Time:
		hash = hashed(arrays, func(v arrow.Time32) int32 { return int32(v) })
	case types.BigInt:
		hash = hashed(arrays, hashLong)
	case types.Float:
		hash = hashed(arrays, func(v float32) int32 {
			if v != v {
				return 0x7fc00000
			}
			return int32(math.Float32bits(v))
		})
	case types.Double:
		hash = hashed(arrays, func(v float64) int32 {
			if v != v {
				return 0x7ff80000
			}
			return hashLong(int64(math.Float64bits(v)))
		})
	case types.Decimal:
		hash = hashed(arrays, func(v decimal128.Num) int32 { return hashDecimal(v, t.Scale) })
	case types.Timestamp, types.TimestampLTZ:
		perMilli := [...]int64{1, 1e3, 1e6}[unitOf(t)]
		hash = hashed(arrays, func(v arrow.Timestamp) int32 {
			millis, rest := int64(v)/perMilli, int64(v)%perMilli
			if rest < 0 {
				millis, rest = millis-1, rest+perMilli
			}
			return 31*(int32(millis)^int32(millis>>32)) + int32(rest*1e6/perMilli)
		})
	case types.Char, types.VarChar:
		v := bytesOf(arrays)
		hash = func(r batch.Ref) int32 { return hashText(v.at(r)) }
	default:
		return nil
	}
	return func(r batch.Ref) int32 {
		if n.at(r) {
			return 0
		}
		return hash(r)
	}
}

// unitOf is 0 for milliseconds, 1 for micros, 2 for nanos.
func unitOf(t types.Type) int { return int(types.TimeUnit(t.Precision) - arrow.Millisecond) }

func hashed[T arrow.FixedWidthType](arrays []arrow.Array, hash func(T) int32) func(batch.Ref) int32 {
	v := valuesOf[T](arrays)
	return func(r batch.Ref) int32 { return hash(v[r>>32][uint32(r)]) }
}

func hashLong(v int64) int32 { return int32(v ^ int64(uint64(v)>>32)) }

// hashDecimal is BigDecimal.hashCode.
func hashDecimal(v decimal128.Num, scale int) int32 {
	magnitude, sign := v, int32(1)
	if v.HighBits() < 0 {
		magnitude, sign = v.Negate(), -1
	}
	hi, lo := uint64(magnitude.HighBits()), magnitude.LowBits()
	h := int32(0)
	for _, word := range []uint32{uint32(hi >> 32), uint32(hi), uint32(lo >> 32), uint32(lo)} {
		h = 31*h + int32(word)
	}
	return 31*(h*sign) + int32(scale)
}

// hashText is BinaryString.hashCode: Murmur3 of whole words, then of single signed bytes.
func hashText(b []byte) int32 {
	h := uint32(42)
	mix := func(k uint32) {
		k = bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
		h = bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
	}
	n := len(b)
	for ; len(b) >= 4; b = b[4:] {
		mix(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	}
	for _, c := range b {
		mix(uint32(int8(c)))
	}
	h ^= uint32(n)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}

// javaOrder brings items into the order in which a java.util.HashMap that once held
// peak of them yields them, given the items in the order of their insertion. Bins of
// more than eight in large tables, which Java turns into trees, are left as they are.
func javaOrder[T any](items []T, peak int, hash func(T) int32) {
	sortBins(items, tableSize(items, peak, hash), hash)
}

// spread is the hash as a HashMap uses it.
func spread(hash int32) uint32 { return uint32(hash) ^ uint32(hash)>>16 }

func sortBins[T any](items []T, size uint32, hash func(T) int32) {
	slices.SortStableFunc(items, func(a, b T) int {
		return int(spread(hash(a))&(size-1)) - int(spread(hash(b))&(size-1))
	})
}

// tableSize is how long the table becomes that items are put in.
func tableSize[T any](items []T, peak int, hash func(T) int32) uint32 {
	size, in := uint32(16), [64]uint8{}
	for i := range max(len(items), peak) {
		if i < len(items) && size < 64 {
			// A ninth item in a bin makes a small table grow.
			bin := spread(hash(items[i])) & (size - 1)
			if in[bin]++; in[bin] > 8 {
				size *= 2
				clear(in[:])
				for _, v := range items[:i+1] {
					in[spread(hash(v))&(size-1)]++
				}
			}
		}
		if uint32(i+1) > size/4*3 {
			size *= 2
			if size <= 64 {
				clear(in[:])
				for _, v := range items[:min(i+1, len(items))] {
					in[spread(hash(v))&(size-1)]++
				}
			}
		}
	}
	return size
}
