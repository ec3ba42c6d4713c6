package write

import (
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Values are refused that the table's types do not have and that readers would
// stumble over: nulls where none may be, text that is not UTF-8, decimals with
// too many digits, NaN in columns that order rows or choose their bucket.
// Lengths of CHAR, VARCHAR, BINARY and VARBINARY are not checked at write, as in
// Java.

// checker checks the values of conformed batches.
type checker struct {
	fields []types.Field
	noNaN  []bool // columns that must not hold NaN
}

// newChecker checks batches of fields; ordering names the columns that order
// rows or choose where they go.
func newChecker(fields []types.Field, ordering []string) *checker {
	c := &checker{fields: fields, noNaN: make([]bool, len(fields))}
	for i, f := range fields {
		c.noNaN[i] = (f.Type.Root == types.Float || f.Type.Root == types.Double) && slices.Contains(ordering, f.Name)
	}
	return c
}

// check refuses the batch for its first bad value, which it names.
func (c *checker) check(rec arrow.RecordBatch) error {
	for i, f := range c.fields {
		col := rec.Column(i)
		row, why := findBad(f.Type, col)
		if why == "" && c.noNaN[i] {
			row, why = findNaN(col)
		}
		if why != "" {
			return badValue(f, col, row, why)
		}
	}
	return nil
}

func badValue(f types.Field, col arrow.Array, row int, why string) error {
	value := "null"
	if v := types.ValueAt(f.Type, col, row); v != nil && !f.Type.IsNested() {
		value = types.FormatValue(f.Type, v)
	} else if v != nil {
		value = "(nested)"
	}
	return tarnerr.New(tarnerr.Invalid, "writing batch", why, "column", f.Name, "type", f.Type, "row", row, "value", clip(value)).
		WithHint("Correct the row; nothing of the batch was taken.")
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// findBad finds the first row of col whose value t does not have; why is "" when
// there is none.
func findBad(t types.Type, col arrow.Array) (row int, why string) {
	if !t.Nullable && col.NullN() > 0 {
		return firstNull(col), "null in a column that is NOT NULL"
	}
	switch a := col.(type) {
	case *array.String:
		return findInvalidText(a)
	case *array.Decimal128:
		return findTooLarge(t, a)
	}
	if !t.IsNested() {
		return 0, ""
	}
	for i := range col.Len() {
		if why := nestedBad(t, col, i); why != "" {
			return i, why
		}
	}
	return 0, ""
}

func firstNull(col arrow.Array) int {
	for i := range col.Len() {
		if col.IsNull(i) {
			return i
		}
	}
	return 0
}

const notText = "text that is not valid UTF-8"

// findInvalidText finds the first value that is not UTF-8. When the bytes of all
// values together are valid and each value begins where a character does, each is.
func findInvalidText(a *array.String) (row int, why string) {
	if a.Len() == 0 {
		return 0, ""
	}
	offsets, data := a.ValueOffsets(), a.ValueBytes()
	whole := utf8.Valid(data)
	for i := 0; whole && i < a.Len(); i++ {
		at := int(offsets[i] - offsets[0])
		whole = at == len(data) || utf8.RuneStart(data[at])
	}
	if whole {
		return 0, ""
	}
	for i := range a.Len() {
		if a.IsValid(i) && !utf8.ValidString(a.Value(i)) {
			return i, notText
		}
	}
	return 0, "" // only bytes behind nulls are bad
}

func findTooLarge(t types.Type, a *array.Decimal128) (row int, why string) {
	limit := powerOfTen(t.Precision)
	fits := func(v decimal128.Num) bool { return below(v, limit) }
	if t.Precision <= 18 { // the low half tells all
		most := int64(limit.LowBits())
		fits = func(v decimal128.Num) bool {
			low := int64(v.LowBits())
			return v.HighBits() == low>>63 && low < most && -most < low
		}
	}
	for i, v := range a.Values() {
		if !fits(v) && a.IsValid(i) {
			return i, "more digits than the type has"
		}
	}
	return 0, ""
}

// below reports |v| < limit.
func below(v, limit decimal128.Num) bool {
	if v.Sign() < 0 {
		v = v.Negate()
	}
	return v.Sign() >= 0 && v.Less(limit)
}

func powerOfTen(n int) decimal128.Num {
	return decimal128.FromBigInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

func findNaN(col arrow.Array) (row int, why string) {
	const nan = "NaN in a column that orders rows or chooses their bucket"
	switch a := col.(type) {
	case *array.Float32:
		for i, v := range a.Float32Values() {
			if v != v && a.IsValid(i) {
				return i, nan
			}
		}
	case *array.Float64:
		for i, v := range a.Float64Values() {
			if math.IsNaN(v) && a.IsValid(i) {
				return i, nan
			}
		}
	}
	return 0, ""
}

// nestedBad looks into one nested value.
func nestedBad(t types.Type, col arrow.Array, i int) string {
	if col.IsNull(i) {
		if t.Nullable {
			return ""
		}
		return "null in a member or element that is NOT NULL"
	}
	switch a := col.(type) {
	case *array.String:
		if !utf8.ValidString(a.Value(i)) {
			return notText
		}
	case *array.Decimal128:
		if !below(a.Value(i), powerOfTen(t.Precision)) {
			return "more digits than the type has"
		}
	case *array.Map:
		key, value := pairTypes(t)
		from, to := a.ValueOffsets(i)
		for j := int(from); j < int(to); j++ {
			if a.Keys().IsNull(j) {
				return "a map's key that is null"
			}
			if why := nestedBad(key, a.Keys(), j); why != "" {
				return why
			}
			if why := nestedBad(value, a.Items(), j); why != "" {
				return why
			}
		}
	case *array.List:
		from, to := a.ValueOffsets(i)
		return elementsBad(*t.Element, a.ListValues(), from, to)
	case *array.FixedSizeList:
		from, to := a.ValueOffsets(i)
		return elementsBad(*t.Element, a.ListValues(), from, to)
	case *array.Struct:
		for m, f := range members(t) {
			if why := nestedBad(f.Type, a.Field(m), i); why != "" {
				return why
			}
		}
	}
	return ""
}

func elementsBad(t types.Type, values arrow.Array, from, to int64) string {
	if simple(t) && t.Nullable {
		return ""
	}
	for j := int(from); j < int(to); j++ {
		if why := nestedBad(t, values, j); why != "" {
			return why
		}
	}
	return ""
}

// simple reports a type of which every value that is not null is good.
func simple(t types.Type) bool {
	return !t.IsNested() && !t.IsString() && t.Root != types.Decimal
}
