package expr

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// longList is from how many literals on looking each row up beats a pass over the
// rows for each literal.
const longList = 8

// members are the literals of a long list, to look rows up among. Safe for
// concurrent use; nil has no use for any column.
type members struct {
	once      sync.Once
	values    []types.Value
	ints      map[int64]bool // whole numbers, dates and times
	low, high int64          // of ints
	texts     map[string]bool
}

// newMembers is nil for a short list. What is looked rows up in is made for the
// first batch: much is bound for its statistics alone.
func newMembers(values []types.Value) *members {
	if len(values) < longList {
		return nil
	}
	return &members{values: values}
}

func (m *members) build() {
	m.ints, m.texts = map[int64]bool{}, map[string]bool{}
	for _, v := range m.values {
		switch v := v.(type) {
		case int64:
			m.add(v)
		case int32:
			m.add(int64(v))
		case string:
			m.texts[v] = true
		case []byte:
			m.texts[string(v)] = true
		}
	}
}

func (m *members) add(v int64) {
	if len(m.ints) == 0 {
		m.low, m.high = v, v
	}
	m.ints[v], m.low, m.high = true, min(m.low, v), max(m.high, v)
}

// mask sets dst[i] where row i holds one of the values. It reports false, and does
// nothing, for a short list and for columns of a type that it does not look up.
func (m *members) mask(col arrow.Array, dst []bool) bool {
	if m == nil {
		return false
	}
	m.once.Do(m.build)
	switch a := col.(type) {
	case *array.Int8:
		maskInts(m, a.Int8Values(), dst)
	case *array.Int16:
		maskInts(m, a.Int16Values(), dst)
	case *array.Int32:
		maskInts(m, a.Int32Values(), dst)
	case *array.Int64:
		maskInts(m, a.Int64Values(), dst)
	case *array.Date32:
		maskInts(m, a.Date32Values(), dst)
	case *array.Time32:
		maskInts(m, a.Time32Values(), dst)
	case *array.String:
		for i := range dst {
			dst[i] = m.texts[a.Value(i)]
		}
	case *array.Binary:
		for i := range dst {
			dst[i] = m.texts[string(a.Value(i))]
		}
	default:
		return false
	}
	if col.NullN() > 0 {
		for i := range dst {
			dst[i] = dst[i] && col.IsValid(i)
		}
	}
	return true
}

func maskInts[T int8 | int16 | int32 | int64 | arrow.Date32 | arrow.Time32](m *members, rows []T, dst []bool) {
	for i, x := range rows {
		v := int64(x)
		dst[i] = v >= m.low && v <= m.high && m.ints[v]
	}
}
