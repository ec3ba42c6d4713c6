package orc

import (
	"context"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/types"
)

// filterColumn is a column of a predicate found in the file.
type filterColumn struct {
	node *fileNode // nil: the file does not have it, every row is null
	typ  types.Type
}

// filter skips what a predicate cannot match.
type filter struct {
	file    *File
	where   *expr.Bound
	columns map[string]filterColumn
}

func newFilter(f *File, where *expr.Bound, wanted []types.Field) *filter {
	if where == nil {
		return nil
	}
	out := &filter{file: f, where: where, columns: map[string]filterColumn{}}
	for _, name := range where.Columns() {
		c := filterColumn{}
		known := false
		for _, w := range wanted {
			if w.Name == name {
				c.node, c.typ, known = f.root.child(w), w.Type, true
			}
		}
		if !known {
			for _, n := range f.root.children {
				if n.name == name {
					c.node, c.typ, known = n, n.paimonType(), true
				}
			}
		}
		if known && (c.node == nil || !c.typ.IsNested() && len(c.node.children) == 0) {
			out.columns[name] = c
		}
	}
	return out
}

// Writer versions from which statistics can be trusted: before the first, Java
// cut those of strings wrongly; before the second, it had no bounds of the wall clock.
const (
	soundStatistics = 1 // HIVE-8732
	soundStamps     = 6 // ORC-135
)

// stripe reports whether rows of a stripe can match.
func (t *filter) stripe(ctx context.Context, i int) (bool, error) {
	if t == nil || t.file.meta.writer == 0 && t.file.post.writerVersion < soundStatistics {
		return true, nil
	}
	all, err := t.file.stripeStatistics(ctx)
	if err != nil {
		return false, err
	}
	s := lookup{filter: t, rows: t.file.meta.stripes[i].rows}
	if i < len(all) {
		s.stats = all[i]
	}
	return t.where.MayMatch(s, s.rows), nil
}

// lookup gives an expression what is known of the columns of some rows.
type lookup struct {
	*filter
	stats stripeStats // by column; may be too short
	rows  int64
}

func (s lookup) Column(name string) (min, max types.Value, nulls int64, ok bool) {
	c, known := s.columns[name]
	if !known {
		return nil, nil, -1, false
	}
	if c.node == nil {
		return nil, nil, s.rows, true
	}
	if c.node.column >= len(s.stats) {
		return nil, nil, -1, false
	}
	st := &s.stats[c.node.column]
	nulls = -1
	if st.values >= 0 && st.values <= s.rows {
		nulls = s.rows - st.values
	}
	min, max = s.bounds(c, st)
	return min, max, nulls, true
}

// bounds turns statistics into values of the column's type, nil where nothing is
// sure.
func (t *filter) bounds(c filterColumn, st *columnStats) (min, max types.Value) {
	switch c.node.kind {
	case kindBoolean:
		if st.hasBuckets && c.typ.Root == types.Boolean && st.trues <= st.values && st.values > 0 {
			return st.trues == st.values, st.trues > 0
		}
	case kindByte, kindShort, kindInt, kindLong:
		return limits(st.ints, c.integer)
	case kindDate:
		if c.typ.Root == types.Date {
			return limits(st.dates, c.days)
		}
	case kindFloat, kindDouble:
		return c.floats(st)
	case kindString, kindVarchar, kindBinary:
		// CHAR is left out: whether its blanks count differs between writers.
		return limits(st.texts, c.text)
	case kindDecimal:
		if c.typ.Root == types.Decimal {
			return limits(st.decimals, c.decimal)
		}
	case kindTimestamp, kindInstant:
		if t.file.meta.writer != 0 || t.file.post.writerVersion >= soundStamps {
			return t.stamps(st.utcMillis, c.node.kind == kindInstant)
		}
	}
	return nil, nil
}

// limits converts both bounds; nil is a bound that does not fit.
func limits[T any](b bounds[T], value func(T) types.Value) (min, max types.Value) {
	if b.hasMin {
		min = value(b.min)
	}
	if b.hasMax {
		max = value(b.max)
	}
	return min, max
}

func (c filterColumn) integer(v int64) types.Value {
	switch c.typ.Root {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return v
	case types.Date, types.Time:
		return c.days(v)
	}
	return nil
}

func (c filterColumn) days(v int64) types.Value {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return nil
	}
	return int32(v)
}

// floats: NaN bounds nothing, for it is not said whether it was counted.
func (c filterColumn) floats(st *columnStats) (min, max types.Value) {
	b := st.doubles
	if b.hasMin && math.IsNaN(b.min) || b.hasMax && math.IsNaN(b.max) {
		return nil, nil
	}
	switch c.typ.Root {
	case types.Float:
		return limits(b, func(v float64) types.Value { return float32(v) })
	case types.Double:
		return limits(b, func(v float64) types.Value { return v })
	}
	return nil, nil
}

func (c filterColumn) text(v string) types.Value {
	switch {
	case c.typ.IsString():
		return v
	case c.typ.IsBytes():
		return []byte(v)
	}
	return nil
}

// decimal reads digits with an optional point, as HiveDecimal prints them.
func (c filterColumn) decimal(text string) types.Value {
	whole, frac, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-")
	if len(frac) > c.typ.Scale || len(digits)+len(frac) == 0 || len(digits)+c.typ.Scale > 38 {
		return nil
	}
	digits += frac + strings.Repeat("0", c.typ.Scale-len(frac))
	var v decimal128.Num
	ten := decimal128.FromI64(10)
	for _, d := range []byte(digits) {
		if d < '0' || d > '9' {
			return nil
		}
		v = v.Mul(ten).Add(decimal128.FromI64(int64(d - '0')))
	}
	if whole != "" && whole[0] == '-' {
		v = v.Negate()
	}
	return v
}

// stamps are bounds of what is read. Before 1970 that is up to a second after
// what was written (see [zone.wall]), clocks of old zones differ between
// implementations, and an instant may be off by the zone of its writer: those
// bounds are widened by a day. Before October 1582 days may be Julian ones.
func (t *filter) stamps(b bounds[int64], instant bool) (min, max types.Value) {
	const day = 86_400_000
	julianUntil := int64(math.MinInt64)
	if t.file.julian() {
		julianUntil = gregorianStart*1000 + day
	}
	if b.hasMin && b.min >= julianUntil && b.min >= math.MinInt64+day {
		if b.min < 0 || instant {
			b.min -= day
		}
		min = types.Instant{Millis: b.min}
	}
	if b.hasMax && b.max >= julianUntil && b.max <= math.MaxInt64-day {
		if b.max < day || instant {
			b.max += day
		}
		max = types.Instant{Millis: b.max, NanoOfMilli: 999_999}
	}
	return min, max
}
