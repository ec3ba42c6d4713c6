package avro

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// counter takes the statistics of one column, which an Avro file does not hold:
// Java collects them row by row, and of nested columns counts the nulls.
type counter struct {
	typ    types.Type
	nulls  int64
	known  bool
	lo, hi limit
}

// limit is a least or greatest value in the form its type compares in.
type limit struct {
	int   int64
	float float64
	dec   decimal128.Num
	text  []byte // owned
}

// add takes the values in that a source is bound to.
func (c *counter) add(s *source) {
	n := s.arr.Len()
	c.nulls += int64(s.arr.NullN())
	if n == s.arr.NullN() {
		return
	}
	switch s.op {
	case opInt:
		switch s.typ.Root {
		case types.TinyInt:
			addInts(c, s, s.ints8)
		case types.SmallInt:
			addInts(c, s, s.ints16)
		case types.BigInt:
			addInts(c, s, s.ints64)
		default:
			addInts(c, s, s.ints32)
		}
	case opStamp:
		addInts(c, s, s.ints64)
	case opFloat:
		addFloats(c, s, s.floats)
	case opDouble:
		addFloats(c, s, s.doubles)
	case opBool:
		c.addBools(s.bools)
	case opDecimal:
		c.addDecimals(s)
	case opText:
		if s.typ.IsString() {
			c.addTexts(s)
		}
	}
}

func addInts[T int8 | int16 | int32 | int64](c *counter, s *source, values []T) {
	for i, v := range values {
		if s.nulls && s.arr.IsNull(i) {
			continue
		}
		if x := int64(v); !c.known {
			c.known, c.lo.int, c.hi.int = true, x, x
		} else {
			c.lo.int, c.hi.int = min(c.lo.int, x), max(c.hi.int, x)
		}
	}
}

func addFloats[T float32 | float64](c *counter, s *source, values []T) {
	for i, v := range values {
		x := float64(v)
		switch {
		case s.nulls && s.arr.IsNull(i):
		case !c.known:
			c.known, c.lo.float, c.hi.float = true, x, x
		case x > c.lo.float && x < c.hi.float: // the common case, never true for NaN and zeros at a limit
		default:
			if types.CompareDouble(x, c.lo.float) < 0 {
				c.lo.float = x
			}
			if types.CompareDouble(x, c.hi.float) > 0 {
				c.hi.float = x
			}
		}
	}
}

func (c *counter) addBools(a *array.Boolean) {
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		x := int64(0)
		if a.Value(i) {
			x = 1
		}
		if !c.known {
			c.known, c.lo.int, c.hi.int = true, x, x
		}
		c.lo.int, c.hi.int = min(c.lo.int, x), max(c.hi.int, x)
	}
}

func (c *counter) addDecimals(s *source) {
	for i, x := range s.decs {
		switch {
		case s.nulls && s.arr.IsNull(i):
		case !c.known:
			c.known, c.lo.dec, c.hi.dec = true, x, x
		case x.Less(c.lo.dec):
			c.lo.dec = x
		case x.Greater(c.hi.dec):
			c.hi.dec = x
		}
	}
}

// addTexts finds the limits of the batch, then copies them if they are new ones.
func (c *counter) addTexts(s *source) {
	lo, hi := -1, -1
	at := func(i int) []byte { return s.texts[s.offsets[i]:s.offsets[i+1]] }
	for i := range s.arr.Len() {
		switch {
		case s.nulls && s.arr.IsNull(i):
		case lo < 0:
			lo, hi = i, i
		case bytes.Compare(at(i), at(lo)) < 0:
			lo = i
		case bytes.Compare(at(i), at(hi)) > 0:
			hi = i
		}
	}
	if !c.known || bytes.Compare(at(lo), c.lo.text) < 0 {
		c.lo.text = append(c.lo.text[:0], at(lo)...)
	}
	if !c.known || bytes.Compare(at(hi), c.hi.text) > 0 {
		c.hi.text = append(c.hi.text[:0], at(hi)...)
	}
	c.known = true
}

// result is what the summary says of the column.
func (c *counter) result() fileformat.ColumnStats {
	out := fileformat.ColumnStats{NullCount: c.nulls}
	if c.known {
		out.Min, out.Max = c.value(c.lo), c.value(c.hi)
	}
	return out
}

func (c *counter) value(l limit) types.Value {
	switch c.typ.Root {
	case types.Boolean:
		return l.int != 0
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return l.int
	case types.Date, types.Time:
		return int32(l.int)
	case types.Timestamp, types.TimestampLTZ:
		per := int64(1)
		if types.TimeUnit(c.typ.Precision) == arrow.Microsecond {
			per = 1000
		}
		millis := l.int / per
		if l.int%per < 0 {
			millis--
		}
		return types.Instant{Millis: millis, NanoOfMilli: int32((l.int - millis*per) * (1_000_000 / per))}
	case types.Float:
		return float32(l.float)
	case types.Double:
		return l.float
	case types.Decimal:
		return l.dec
	}
	return string(l.text)
}
