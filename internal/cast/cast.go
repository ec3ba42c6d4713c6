package cast

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Cast turns values of one type into another. Immutable; safe for concurrent use.
type Cast struct {
	from, to types.Type
	value    rule
	columns  bool // both are numbers of Arrow: whole columns are turned at once
}

// rule turns one value that is not null. A nil result is null.
type rule func(v types.Value) (types.Value, error)

// New finds the rule between two types (Java: CastExecutors); pairs that Java has
// none for are Unsupported.
func New(from, to types.Type) (*Cast, error) {
	r := find(from, to)
	if r == nil {
		return nil, tarnerr.New(tarnerr.Unsupported, "converting values", "there is no conversion between the types", "from", from.WithNull(true), "to", to.WithNull(true))
	}
	return &Cast{from, to, r, isPrimitive(from) && isPrimitive(to)}, nil
}

// Exists tells whether there is a rule between two types.
func Exists(from, to types.Type) bool { return find(from, to) != nil }

func isPrimitive(t types.Type) bool {
	return t.IsInteger() || t.Root == types.Float || t.Root == types.Double
}

func find(from, to types.Type) rule {
	datetime := from.Root == types.Date || from.Root == types.Time || isInstant(from)
	switch {
	case isPrimitive(from) || from.Root == types.Decimal:
		return fromNumber(from, to)
	case from.Root == types.Boolean:
		return fromBoolean(to)
	case from.IsString():
		return fromText(to)
	case (from.Root == types.Binary || from.Root == types.VarBinary) && (to.Root == types.Binary || to.Root == types.VarBinary):
		return func(v types.Value) (types.Value, error) { return fitBytes(v.([]byte), to), nil }
	case (from.Root == types.Binary || from.Root == types.VarBinary) && to.IsString():
		return func(v types.Value) (types.Value, error) { return string(v.([]byte)), nil }
	case datetime && to.IsString():
		if to.Root != types.VarChar || to.Length != types.MaxLength {
			return nil
		}
		return datetimeText(from)
	case datetime:
		return fromDatetime(from, to)
	case to.IsString():
		return nestedText(from)
	}
	return nil
}

func isInstant(t types.Type) bool { return t.Root == types.Timestamp || t.Root == types.TimestampLTZ }

// Array turns the values of an array, which is borrowed, into one of the type
// dt, the Arrow form of the type wanted. The caller releases the result. Text that
// does not say a value of the type is Invalid, as it makes Java's read fail; a
// decimal that does not fit becomes null.
func (c *Cast) Array(mem memory.Allocator, in arrow.Array, dt arrow.DataType) (arrow.Array, error) {
	if c.columns {
		return numbers(mem, in, dt), nil
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.Reserve(in.Len())
	for i := range in.Len() {
		var v types.Value
		if !in.IsNull(i) {
			out, err := c.value(types.ValueAt(c.from, in, i))
			if err != nil {
				return nil, err
			}
			v = out
		}
		if err := types.AppendValue(b, c.to, v); err != nil {
			return nil, tarnerr.Trace("converting values", err)
		}
	}
	return b.NewArray(), nil
}

// Value turns one value, nil being null.
func (c *Cast) Value(v types.Value) (types.Value, error) {
	if v == nil {
		return nil, nil
	}
	return c.value(v)
}

func bad(text string, to types.Type) error {
	const most = 80
	if len(text) > most {
		text = text[:most] + "…"
	}
	return tarnerr.New(tarnerr.Invalid, "converting values", "text does not say a value of the type", "value", text, "type", to.WithNull(true)).
		WithHint("Change the column back to STRING, or rewrite the rows.")
}
