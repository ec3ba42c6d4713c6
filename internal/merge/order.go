package merge

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Column is a column of a batch that rows are ordered by.
type Column struct {
	Index int // in the batch
	Type  types.Type
}

// Order is the ascending order of rows by some columns, nulls first, values as
// [types.CompareInMerge] has it. Immutable and safe for concurrent use.
type Order struct {
	cols  []Column
	exact bool // the prefix tells any two rows apart that differ
}

// NewOrder makes the order of the columns given. Unsupported for types that
// have no order.
func NewOrder(cols []Column) (*Order, error) {
	o := &Order{cols: cols, exact: true}
	left := 64
	for i, c := range cols {
		w, whole := width(c.Type)
		if w == 0 {
			return nil, tarnerr.New(tarnerr.Unsupported, "ordering rows", "keys of this type", "type", c.Type)
		}
		if c.Type.Nullable {
			w++
		}
		if left -= w; left < 0 || !whole || last(c.Type) && i < len(cols)-1 {
			o.exact = false
			break
		}
	}
	return o, nil
}

// Exact reports that equal prefixes mean equal rows.
func (o *Order) Exact() bool { return o.exact }

// floats reports that a run may have a key twice, once with each zero, see last.
func (o *Order) floats() bool {
	return slices.ContainsFunc(o.cols, func(c Column) bool { return last(c.Type) })
}

// width is the number of bits of a value's normalised form, 0 for types without
// order; whole says that it holds all of the value.
func width(t types.Type) (bits int, whole bool) {
	switch t.Root {
	case types.Boolean:
		return 1, true
	case types.TinyInt:
		return 8, true
	case types.SmallInt:
		return 16, true
	case types.Int, types.Date, types.Time, types.Float:
		return 32, true
	case types.BigInt, types.Double, types.Timestamp, types.TimestampLTZ:
		return 64, true
	case types.Decimal:
		return 64, t.Compact()
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		return 64, false
	}
	return 0, false
}

// last says that no column behind one of this type goes into the prefix. Java
// 1.4.2 sorts its write buffer with −0.0 before 0.0 but merges them as equal, so
// in a file of its (−0.0, 2) may precede (0.0, 1): a prefix of both columns would
// call that file out of order.
func last(t types.Type) bool { return t.Root == types.Float || t.Root == types.Double }

// keys are the ordering columns of one batch with the prefix of each row: a
// number whose order never contradicts the order of the rows.
type keys struct {
	cols   []column
	prefix []uint64
}

// load points k at the rows of a batch. The batch must outlive the use of k.
func (k *keys) load(o *Order, rec arrow.RecordBatch) error {
	if k.cols == nil {
		k.cols = make([]column, len(o.cols))
	}
	n := int(rec.NumRows())
	if cap(k.prefix) < n {
		k.prefix = make([]uint64, n)
	}
	k.prefix = k.prefix[:n]
	clear(k.prefix)
	left := 64
	for i, c := range o.cols {
		col := &k.cols[i]
		if err := col.load(rec.Column(c.Index)); err != nil {
			return err
		}
		if c.Type.Nullable && left > 0 {
			left--
			for r := range k.prefix {
				if !col.isNull(r) {
					k.prefix[r] |= 1 << left
				}
			}
		}
		w, whole := width(c.Type)
		if left > 0 {
			if shift := left - w; shift >= 0 {
				col.pack(k.prefix, uint(shift), 0)
			} else {
				col.pack(k.prefix, 0, uint(-shift))
			}
		}
		if left -= w; !whole || last(c.Type) {
			left = 0
		}
	}
	return nil
}

// pack adds the normalised values, shifted to the left or to the right.
func (c *column) pack(dst []uint64, up, down uint) {
	switch {
	case c.i64 != nil:
		for i, v := range c.i64 {
			dst[i] |= (uint64(v) ^ 1<<63) >> down << up
		}
	case c.i32 != nil:
		for i, v := range c.i32 {
			dst[i] |= uint64(uint32(v)^1<<31) >> down << up
		}
	case c.off != nil:
		for i := range dst {
			dst[i] |= head(c.data[c.off[i]:c.off[i+1]]) >> down << up
		}
	case c.dec != nil:
		for i, v := range c.dec {
			dst[i] |= (uint64(clamp(v.HighBits(), v.LowBits())) ^ 1<<63) >> down << up
		}
	case c.i8 != nil:
		for i, v := range c.i8 {
			dst[i] |= uint64(uint8(v)^1<<7) >> down << up
		}
	case c.i16 != nil:
		for i, v := range c.i16 {
			dst[i] |= uint64(uint16(v)^1<<15) >> down << up
		}
	case c.f64 != nil:
		for i, v := range c.f64 {
			dst[i] |= normalDouble(v) >> down << up
		}
	case c.f32 != nil:
		for i, v := range c.f32 {
			dst[i] |= uint64(normalFloat(v)) >> down << up
		}
	case c.bools != nil:
		for i := range dst {
			if c.bools.Value(i) {
				dst[i] |= 1 >> down << up
			}
		}
	}
	if c.nulls == nil {
		return
	}
	// What stands in the slot of a null must not count.
	kept := uint64(math.MaxUint64) << up << c.packedBits(down)
	for i := range dst {
		if c.isNull(i) {
			dst[i] &= kept
		}
	}
}

// packedBits is how many bits a packed value takes.
func (c *column) packedBits(down uint) uint {
	switch {
	case c.bools != nil:
		return 1 - down
	case c.i8 != nil:
		return 8 - down
	case c.i16 != nil:
		return 16 - down
	case c.i32 != nil, c.f32 != nil:
		return 32 - down
	}
	return 64 - down
}

// head is the first eight bytes as a number, zeroes behind a shorter value.
func head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v
}

// clamp is a 128-bit number cut to the range of 64 bits.
func clamp(hi int64, lo uint64) int64 {
	switch {
	case hi == 0 && lo <= math.MaxInt64:
		return int64(lo)
	case hi == -1 && lo > math.MaxInt64:
		return int64(lo)
	case hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// normalDouble and normalFloat have the order of types.CompareDoubleInMerge: both
// zeroes as one, and one NaN behind all else.
func normalDouble(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v + 0) // −0.0 + 0 is 0.0
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func normalFloat(v float32) uint32 {
	if v != v {
		return math.MaxUint32
	}
	b := math.Float32bits(v + 0)
	if b>>31 == 1 {
		return ^b
	}
	return b | 1<<31
}

// compareColumns orders row i of a and row j of b by all columns.
func compareColumns(a []column, i int, b []column, j int) int {
	for k := range a {
		c, done := compareNulls(&a[k], i, &b[k], j)
		if !done {
			c = compareValues(&a[k], i, &b[k], j)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
