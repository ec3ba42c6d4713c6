package expr

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// masker computes for which rows of a batch a predicate is true.
type masker interface {
	// mask sets dst[i] for every row; len(dst) is the number of rows.
	mask(rec arrow.RecordBatch, dst []bool) error
}

// Mask reports for each row of rec whether it matches, into dst when it is
// large enough. Columns are found in rec by name and must have the Arrow type
// of their Paimon type. It allocates only for dst, for AND and OR, and for IN: each
// time for a short list, once for a long one.
func (b *Bound) Mask(rec arrow.RecordBatch, dst []bool) ([]bool, error) {
	n := int(rec.NumRows())
	if cap(dst) < n {
		dst = make([]bool, n)
	}
	dst = dst[:n]
	if b == nil {
		fill(dst, true)
		return dst, nil
	}
	return dst, b.root.mask(rec, dst)
}

func fill(dst []bool, v bool) {
	for i := range dst {
		dst[i] = v
	}
}

func (n constant) mask(_ arrow.RecordBatch, dst []bool) error {
	fill(dst, bool(n))
	return nil
}

func (n and) mask(rec arrow.RecordBatch, dst []bool) error {
	return combine(n, rec, dst, true)
}

func (n or) mask(rec arrow.RecordBatch, dst []bool) error {
	return combine(n, rec, dst, false)
}

func combine(children []node, rec arrow.RecordBatch, dst []bool, conjunction bool) error {
	if len(children) == 0 {
		fill(dst, conjunction)
		return nil
	}
	if err := children[0].mask(rec, dst); err != nil {
		return err
	}
	var scratch []bool
	for _, c := range children[1:] {
		if scratch == nil {
			scratch = make([]bool, len(dst))
		}
		if err := c.mask(rec, scratch); err != nil {
			return err
		}
		for i, v := range scratch {
			if v != conjunction {
				dst[i] = v
			}
		}
	}
	return nil
}

func find(rec arrow.RecordBatch, f types.Field) (arrow.Array, error) {
	for i, sc := 0, rec.Schema(); i < sc.NumFields(); i++ { // Fields would copy
		if sc.Field(i).Name == f.Name {
			return rec.Column(i), nil
		}
	}
	return nil, tarnerr.New(tarnerr.Internal, "filtering batch", "column missing in batch", "column", f.Name)
}

func (n isNull) mask(rec arrow.RecordBatch, dst []bool) error {
	col, err := find(rec, n.field)
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = col.IsNull(i) != n.neg
	}
	return nil
}

func (n prefix) mask(rec arrow.RecordBatch, dst []bool) error {
	col, err := find(rec, n.field)
	if err != nil {
		return err
	}
	s, ok := col.(*array.String)
	if !ok {
		return wrongArray(n.field, col)
	}
	for i := range dst {
		dst[i] = s.IsValid(i) && strings.HasPrefix(s.Value(i), n.prefix) != n.neg
	}
	return nil
}

func (n in) mask(rec arrow.RecordBatch, dst []bool) error {
	col, err := find(rec, n.field)
	if err != nil {
		return err
	}
	if !n.set.mask(col, dst) {
		fill(dst, false)
		scratch := make([]bool, len(dst))
		for _, v := range n.values {
			if err := maskCompare(n.field, col, Eq, v, scratch); err != nil {
				return err
			}
			for i, hit := range scratch {
				dst[i] = dst[i] || hit
			}
		}
	}
	if n.neg {
		for i := range dst {
			dst[i] = !dst[i] && col.IsValid(i)
		}
	}
	return nil
}

func (n cmp) mask(rec arrow.RecordBatch, dst []bool) error {
	col, err := find(rec, n.field)
	if err != nil {
		return err
	}
	return maskCompare(n.field, col, n.op, n.value, dst)
}

func maskCompare(f types.Field, col arrow.Array, op Op, v types.Value, dst []bool) error {
	switch a := col.(type) {
	case *array.Boolean:
		want := v.(bool)
		for i := range dst {
			dst[i] = op.holds(boolCompare(a.Value(i), want))
		}
	case *array.Int8:
		maskOrdered(a.Int8Values(), op, int8(v.(int64)), dst)
	case *array.Int16:
		maskOrdered(a.Int16Values(), op, int16(v.(int64)), dst)
	case *array.Int32:
		maskOrdered(a.Int32Values(), op, int32(v.(int64)), dst)
	case *array.Int64:
		maskOrdered(a.Int64Values(), op, v.(int64), dst)
	case *array.Date32:
		maskOrdered(a.Date32Values(), op, arrow.Date32(v.(int32)), dst)
	case *array.Time32:
		maskOrdered(a.Time32Values(), op, arrow.Time32(v.(int32)), dst)
	case *array.Float32:
		want := float64(v.(float32))
		for i, x := range a.Float32Values() {
			dst[i] = op.holds(compareFloat(float64(x), want))
		}
	case *array.Float64:
		want := v.(float64)
		for i, x := range a.Float64Values() {
			dst[i] = op.holds(compareFloat(x, want))
		}
	case *array.Timestamp:
		maskTimestamps(a, op, v.(types.Instant), dst)
	case *array.Decimal128:
		want := v.(decimal128.Num)
		for i, x := range a.Values() {
			dst[i] = op.holds(x.Cmp(want))
		}
	case *array.String:
		want := v.(string)
		for i := range dst {
			dst[i] = op.holds(strings.Compare(a.Value(i), want))
		}
	case *array.Binary:
		want := string(v.([]byte))
		for i := range dst {
			dst[i] = op.holds(strings.Compare(a.ValueString(i), want))
		}
	default:
		return wrongArray(f, col)
	}
	if col.NullN() > 0 {
		for i := range dst {
			dst[i] = dst[i] && col.IsValid(i)
		}
	}
	return nil
}

func wrongArray(f types.Field, col arrow.Array) error {
	return tarnerr.New(tarnerr.Internal, "filtering batch", "array does not have the column's type",
		"column", f.Name, "type", f.Type, "array", col.DataType())
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func maskOrdered[T int8 | int16 | int32 | int64 | arrow.Date32 | arrow.Time32 | arrow.Timestamp](vs []T, op Op, want T, dst []bool) {
	switch op {
	case Eq:
		for i, x := range vs {
			dst[i] = x == want
		}
	case Ne:
		for i, x := range vs {
			dst[i] = x != want
		}
	case Lt:
		for i, x := range vs {
			dst[i] = x < want
		}
	case Le:
		for i, x := range vs {
			dst[i] = x <= want
		}
	case Gt:
		for i, x := range vs {
			dst[i] = x > want
		}
	case Ge:
		for i, x := range vs {
			dst[i] = x >= want
		}
	}
}

// maskTimestamps compares in the array's unit; a literal finer than the unit,
// or outside its range, lies between or beyond the values there are.
func maskTimestamps(a *array.Timestamp, op Op, want types.Instant, dst []bool) {
	scale, rest := int64(1), int64(want.NanoOfMilli)
	switch a.DataType().(*arrow.TimestampType).Unit {
	case arrow.Second:
		// Paimon's mapping never makes seconds; compare by milliseconds to stay right.
		for i, x := range a.TimestampValues() {
			dst[i] = op.holds(types.Compare(instantType, types.Instant{Millis: int64(x) * 1000}, want))
		}
		return
	case arrow.Microsecond:
		scale, rest = 1_000, int64(want.NanoOfMilli)%1_000
	case arrow.Nanosecond:
		scale, rest = 1_000_000, 0
	}
	if scale > 1 && (want.Millis > math.MaxInt64/scale-1 || want.Millis < math.MinInt64/scale+1) {
		for i := range dst {
			c := 1
			if want.Millis > 0 {
				c = -1
			}
			dst[i] = op.holds(c)
		}
		return
	}
	floor := arrow.Timestamp(want.Millis*scale + int64(want.NanoOfMilli)*scale/1_000_000)
	if rest == 0 {
		maskOrdered(a.TimestampValues(), op, floor, dst)
		return
	}
	for i, x := range a.TimestampValues() {
		c := 1 // x is above the literal, or
		if x <= floor {
			c = -1 // below it: equal is impossible
		}
		dst[i] = op.holds(c)
	}
}

var instantType = types.Type{Root: types.Timestamp, Precision: 9}
