package rows

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// Sums are the number of rows and a sum over each column: what two sets of rows
// are compared by.
type Sums struct {
	Rows                             int64
	id, seq, amount, ts              big.Int
	status, qty, note, day, flag, no int64 // no: rows without a price
	price                            float64
	few                              bool // only id and amount were read
}

// Add adds the rows of a batch, which has all columns or only id and amount.
func (s *Sums) Add(rec arrow.RecordBatch) error {
	s.Rows += rec.NumRows()
	for i, f := range rec.Schema().Fields() {
		switch c := rec.Column(i).(type) {
		case *array.Int64:
			switch f.Name {
			case "id":
				add(&s.id, c.Int64Values())
			case "seq":
				add(&s.seq, c.Int64Values())
			}
		case *array.String:
			s.addText(f.Name, c)
		case *array.Decimal128:
			var sum uint64 // amounts are small and positive
			for _, v := range c.Values() {
				sum += v.LowBits()
			}
			s.amount.Add(&s.amount, new(big.Int).SetUint64(sum))
		case *array.Int32:
			if f.Name == "qty" {
				s.qty += sum(c.Int32Values())
			}
		case *array.Float64:
			s.addPrice(c)
		case *array.Timestamp:
			add(&s.ts, c.TimestampValues())
		case *array.Date32:
			s.day += sum(c.Date32Values())
		case *array.Boolean:
			d := c.Data()
			s.flag += int64(bitutil.CountSetBits(d.Buffers()[1].Bytes(), d.Offset(), d.Len()))
		default:
			return fmt.Errorf("summing rows: column %s has the unexpected type %s", f.Name, f.Type)
		}
	}
	s.few = rec.NumCols() == 2
	return nil
}

// sum sums a batch's values in 64 bits: batches are too short to overflow them. Two
// sums, as one would have each value wait for the one before it.
func sum[T ~int32 | ~int64](values []T) int64 {
	var even, odd int64
	for len(values) >= 2 {
		even += int64(values[0])
		odd += int64(values[1])
		values = values[2:]
	}
	for _, v := range values {
		even += int64(v)
	}
	return even + odd
}

func add[T ~int64](to *big.Int, values []T) { to.Add(to, big.NewInt(sum(values))) }

func (s *Sums) addText(column string, c *array.String) {
	text := c.ValueBytes()
	offsets := c.ValueOffsets()
	from := offsets[0]
	switch column {
	case "status":
		var sum int64
		for _, at := range offsets[:c.Len()] {
			v := text[at-from:][7:9]
			sum += int64(v[0]-'0')*10 + int64(v[1]-'0')
		}
		s.status += sum
	case "note":
		var sum int64
		for _, at := range offsets[:c.Len()] {
			sum += int64(text[at-from])
		}
		s.note += sum
	}
}

func (s *Sums) addPrice(c *array.Float64) {
	values := c.Float64Values()
	sum := s.price
	if c.NullN() == 0 {
		for _, v := range values {
			sum += v
		}
	} else {
		s.no += int64(c.NullN())
		bits, off := c.NullBitmapBytes(), c.Data().Offset()
		for i, v := range values {
			if bitutil.BitIsSet(bits, off+i) {
				sum += v
			}
		}
	}
	s.price = sum
}

// Merge adds the sums of other rows.
func (s *Sums) Merge(o *Sums) {
	s.Rows += o.Rows
	for _, p := range [][2]*big.Int{{&s.id, &o.id}, {&s.seq, &o.seq}, {&s.amount, &o.amount}, {&s.ts, &o.ts}} {
		p[0].Add(p[0], p[1])
	}
	for _, p := range [][2]*int64{{&s.status, &o.status}, {&s.qty, &o.qty}, {&s.note, &o.note}, {&s.day, &o.day}, {&s.flag, &o.flag}, {&s.no, &o.no}} {
		*p[0] += *p[1]
	}
	s.price += o.price
	s.few = s.few || o.few
}

// Seq is the sum of column seq.
func (s *Sums) Seq() string { return s.seq.String() }

// JSON is the form that contestants and references are compared in.
func (s *Sums) JSON() string {
	if s.few {
		return fmt.Sprintf(`{"n":%d,"id":%s,"amt":%s}`, s.Rows, &s.id, &s.amount)
	}
	return fmt.Sprintf(`{"n":%d,"id":%s,"seq":%s,"st":%d,"amt":%s,"qty":%d,"pnull":%d,"price":%.1f,"note":%d,"ts":%s,"d":%d,"flag":%d}`,
		s.Rows, &s.id, &s.seq, s.status, &s.amount, s.qty, s.no, s.price, s.note, &s.ts, s.day, s.flag)
}
