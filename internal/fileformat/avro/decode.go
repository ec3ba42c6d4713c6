package avro

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// leaf decides how the values of a leaf are read, and the width of their layout.
// Physical variants of one logical value are accepted.
func (s *slot) leaf(n *ocf.Schema) (width int, err error) {
	root := s.want.Root
	switch n.Kind {
	case ocf.Boolean:
		if root == types.Boolean {
			s.op = opBool
			return batch.WidthBits, nil
		}
	case ocf.Int, ocf.Long:
		if w := integerWidth(n, root); w > 0 {
			s.op = opInt
			return w, nil
		}
		if from, ok := stampUnits[n.Logical]; ok && n.Kind == ocf.Long && (root == types.Timestamp || root == types.TimestampLTZ) {
			s.op, s.scale = opStamp, newScale(from, types.TimeUnit(s.want.Precision))
			return 8, nil
		}
	case ocf.Float:
		switch root {
		case types.Float:
			s.op = opFloat
			return 4, nil
		case types.Double:
			s.op = opWidened
			return 8, nil
		}
	case ocf.Double:
		if root == types.Double {
			s.op = opDouble
			return 8, nil
		}
	case ocf.Bytes, ocf.String:
		if root == types.Decimal && n.Logical == "decimal" && n.Scale == s.want.Scale {
			s.op, s.bound = opDecimal, newBound(s.want.Precision)
			return 16, nil
		}
		if n.Logical != "decimal" && (s.want.IsString() || s.want.IsBytes()) {
			s.op = opText
			return batch.WidthText, nil
		}
	}
	return 0, mismatch(n, s.want, s.path)
}

// integerWidth is the bytes of an integer read as root, 0 when it is none.
func integerWidth(n *ocf.Schema, root types.Root) int {
	date, time := n.Logical == "date", n.Logical == "time-millis"
	switch {
	case n.Logical != "" && !date && !time:
		return 0
	case root == types.Date && n.Kind == ocf.Int && !time, root == types.Time && n.Kind == ocf.Int && !date:
		return 4
	case date || time:
		return 0
	}
	switch root {
	case types.TinyInt:
		return 1
	case types.SmallInt:
		return 2
	case types.Int:
		return 4
	case types.BigInt:
		return 8
	}
	return 0
}

var stampUnits = map[string]arrow.TimeUnit{
	"timestamp-millis": arrow.Millisecond, "local-timestamp-millis": arrow.Millisecond,
	"timestamp-micros": arrow.Microsecond, "local-timestamp-micros": arrow.Microsecond,
	"timestamp-nanos": arrow.Nanosecond, "local-timestamp-nanos": arrow.Nanosecond,
}

// scale turns timestamps of one unit into another; digits that do not fit are
// cut off towards the past.
type scale struct{ mul, div int64 }

func newScale(from, to arrow.TimeUnit) scale {
	s := scale{1, 1}
	for ; from < to; from++ {
		s.mul *= 1000
	}
	for ; from > to; from-- {
		s.div *= 1000
	}
	return s
}

func (s scale) of(v int64) (int64, bool) {
	switch {
	case s.mul > 1:
		return v * s.mul, v <= math.MaxInt64/s.mul && v >= math.MinInt64/s.mul
	case s.div > 1:
		q := v / s.div
		if v%s.div < 0 {
			q--
		}
		return q, true
	}
	return v, true
}

// bound is the first number of more digits than a decimal has.
type bound struct {
	small uint64 // 0 beyond 18 digits
	large decimal128.Num
}

func newBound(precision int) bound {
	n := decimal128.GetScaleMultiplier(precision)
	if precision <= 18 {
		return bound{small: n.LowBits(), large: n}
	}
	return bound{large: n}
}

func (b bound) holds(v decimal128.Num) bool {
	if b.small != 0 {
		lo, hi := int64(v.LowBits()), v.HighBits()
		return hi == lo>>63 && lo < int64(b.small) && lo > -int64(b.small)
	}
	return v.Less(b.large) && v.Greater(b.large.Negate())
}

const unfit = "value does not fit the type asked for"

// read puts one value into slot N, for which there is room.
func (s *slot) read(c *ocf.Cursor) {
	i := s.out.N
	switch s.op {
	case opInt:
		s.readInt(c, i)
	case opText:
		b := c.Text()
		copy(s.out.Room(len(b)), b)
		s.out.Used += len(b) // stays below what a batch may read, see [fileformat.BatchBytes]
		s.end(i)
	case opDouble:
		binary.LittleEndian.PutUint64(s.data[i*8:], c.Double())
	case opFloat:
		binary.LittleEndian.PutUint32(s.data[i*4:], c.Float())
	case opWidened:
		binary.LittleEndian.PutUint64(s.data[i*8:], math.Float64bits(float64(math.Float32frombits(c.Float()))))
	case opStamp:
		v, ok := s.scale.of(c.Long())
		if !ok {
			c.FailAs(tarnerr.Invalid, unfit, "column", s.path)
		}
		binary.LittleEndian.PutUint64(s.data[i*8:], uint64(v))
	case opBool:
		if b := c.Take(1); b != nil && b[0] != 0 {
			bitutil.SetBit(s.data, i)
		}
	case opDecimal:
		s.readDecimal(c, i)
	case opRow:
		readRecord(c, s.plan)
	case opList:
		s.out.Used += s.readItems(c)
		s.end(i)
	case opVector:
		s.readVector(c)
	case opMap, opPairs:
		s.readEntries(c)
		s.end(i)
	}
}

// end says where the value in slot i ends.
func (s *slot) end(i int) {
	binary.LittleEndian.PutUint32(s.out.Offsets.Bytes()[(i+1)*4:], uint32(s.out.Used))
}

func (s *slot) readInt(c *ocf.Cursor, i int) {
	v := c.Long()
	fits := true
	switch s.out.Width {
	case 4:
		binary.LittleEndian.PutUint32(s.data[i*4:], uint32(v))
		fits = v == int64(int32(v))
	case 8:
		binary.LittleEndian.PutUint64(s.data[i*8:], uint64(v))
	case 1:
		s.data[i] = byte(v)
		fits = v == int64(int8(v))
	case 2:
		binary.LittleEndian.PutUint16(s.data[i*2:], uint16(v))
		fits = v == int64(int16(v))
	}
	if !fits {
		c.FailAs(tarnerr.Invalid, unfit, "column", s.path)
	}
}

// readDecimal reads a two's complement number, most significant byte first.
func (s *slot) readDecimal(c *ocf.Cursor, i int) {
	b := c.Text()
	if len(b) == 0 {
		c.Fail("decimal without digits", "column", s.path)
		return
	}
	hi := uint64(int64(int8(b[0])) >> 63)
	lo := hi
	for len(b) > 16 { // digits of the sign alone may be left out
		if b[0] != byte(hi) || (b[1]^b[0])&0x80 != 0 {
			c.FailAs(tarnerr.Invalid, unfit, "column", s.path)
			return
		}
		b = b[1:]
	}
	for _, x := range b {
		hi = hi<<8 | lo>>56
		lo = lo<<8 | uint64(x)
	}
	if !s.bound.holds(decimal128.New(int64(hi), lo)) {
		c.FailAs(tarnerr.Invalid, unfit, "column", s.path)
		return
	}
	binary.LittleEndian.PutUint64(s.data[i*16:], lo)
	binary.LittleEndian.PutUint64(s.data[i*16+8:], hi)
}

func readRecord(c *ocf.Cursor, plan []step) {
	for i := range plan {
		if s := plan[i].slot; s != nil {
			s.append(c)
		} else {
			c.Skip(plan[i].skip)
		}
	}
}

func (s *slot) readItems(c *ocf.Cursor) (total int) {
	for k := c.Items(); k > 0 && c.Err == nil; k = c.Items() {
		for total += k; k > 0 && c.Err == nil; k-- {
			s.kids[0].append(c)
		}
	}
	return total
}

func (s *slot) readVector(c *ocf.Cursor) {
	if n := s.readItems(c); n != s.items && c.Err == nil {
		c.FailAs(tarnerr.Invalid, "vector does not have the length asked for", "column", s.path)
	}
}

func (s *slot) readEntries(c *ocf.Cursor) {
	for k := c.Items(); k > 0 && c.Err == nil; k = c.Items() {
		for s.out.Used += k; k > 0 && c.Err == nil; k-- {
			if s.op == opMap {
				s.kids[0].append(c)
				s.kids[1].append(c)
			} else {
				readRecord(c, s.plan)
			}
		}
	}
}
