package types

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/tarnerr"
)

// FromArrow is the Paimon type that holds all values of an Arrow type, for
// tables made from files: unsigned integers become the next wider type, uint64
// DECIMAL(20, 0), structs ROWs whose members get the ids 0, 1, … Types without
// one (null, durations, intervals, unions, decimals beyond 38 digits, times
// finer than milliseconds) are Unsupported, by name.
func FromArrow(dt arrow.DataType, nullable bool) (Type, error) {
	c := arrowConverter{}
	return c.convert(dt, nullable, 0)
}

type arrowConverter struct{ nextID int }

func (c *arrowConverter) convert(dt arrow.DataType, nullable bool, depth int) (Type, error) {
	if dt == nil || depth > maxDepth {
		return Type{}, tarnerr.New(tarnerr.Invalid, "mapping Arrow type", "no type, or nested too deeply")
	}
	t := Type{Nullable: nullable}
	switch a := dt.(type) {
	case *arrow.BooleanType:
		t.Root = Boolean
	case *arrow.Int8Type:
		t.Root = TinyInt
	case *arrow.Int16Type, *arrow.Uint8Type:
		t.Root = SmallInt
	case *arrow.Int32Type, *arrow.Uint16Type:
		t.Root = Int
	case *arrow.Int64Type, *arrow.Uint32Type:
		t.Root = BigInt
	case *arrow.Uint64Type:
		t.Root, t.Precision = Decimal, 20
	case *arrow.Float16Type, *arrow.Float32Type:
		t.Root = Float
	case *arrow.Float64Type:
		t.Root = Double
	case arrow.DecimalType:
		if a.GetPrecision() > 38 || a.GetPrecision() < 1 || a.GetScale() < 0 || a.GetScale() > a.GetPrecision() {
			return unsupportedArrow(dt, "DECIMAL has at most 38 digits and a scale between 0 and its precision")
		}
		t.Root, t.Precision, t.Scale = Decimal, int(a.GetPrecision()), int(a.GetScale())
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		t.Root, t.Length = VarChar, MaxLength
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		t.Root, t.Length = VarBinary, MaxLength
	case *arrow.FixedSizeBinaryType:
		t.Root, t.Length = Binary, a.ByteWidth
	case *arrow.Date32Type, *arrow.Date64Type:
		t.Root = Date
	case *arrow.Time32Type:
		t.Root = Time
		if a.Unit == arrow.Millisecond {
			t.Precision = 3
		}
	case *arrow.TimestampType:
		t.Root = Timestamp
		if a.TimeZone != "" {
			t.Root = TimestampLTZ
		}
		switch a.Unit {
		case arrow.Millisecond:
			t.Precision = 3
		case arrow.Microsecond:
			t.Precision = 6
		case arrow.Nanosecond:
			t.Precision = 9
		}
	case *arrow.Time64Type:
		return unsupportedArrow(dt, "TIME keeps milliseconds")
	case *arrow.DictionaryType:
		return c.convert(a.ValueType, nullable, depth+1)
	case arrow.ExtensionType:
		return c.convert(a.StorageType(), nullable, depth+1)
	case *arrow.MapType:
		return c.pair(t, a, depth)
	case *arrow.FixedSizeListType:
		element, err := c.convert(a.Elem(), a.ElemField().Nullable, depth+1)
		if err != nil {
			return Type{}, err
		}
		t.Root, t.Element = Array, &element
		if element.Root >= Boolean && element.Root <= Double {
			t.Root, t.Length = Vector, int(a.Len())
		}
	case arrow.ListLikeType:
		element, err := c.convert(a.Elem(), a.ElemField().Nullable, depth+1)
		if err != nil {
			return Type{}, err
		}
		t.Root, t.Element = Array, &element
	case *arrow.StructType:
		return c.row(t, a, depth)
	default:
		return unsupportedArrow(dt, "no Paimon type holds it")
	}
	return t, nil
}

func (c *arrowConverter) pair(t Type, a *arrow.MapType, depth int) (Type, error) {
	key, err := c.convert(a.KeyType(), false, depth+1)
	if err != nil {
		return Type{}, err
	}
	value, err := c.convert(a.ItemType(), a.ItemField().Nullable, depth+1)
	if err != nil {
		return Type{}, err
	}
	t.Root, t.Key, t.Element = Map, &key, &value
	return t, nil
}

func (c *arrowConverter) row(t Type, a *arrow.StructType, depth int) (Type, error) {
	t.Root, t.Fields = Row, make([]Field, 0, a.NumFields())
	seen := map[string]bool{}
	for _, f := range a.Fields() {
		if seen[f.Name] {
			return Type{}, tarnerr.New(tarnerr.Invalid, "mapping Arrow type", "two members with one name", "member", f.Name)
		}
		seen[f.Name] = true
		member, err := c.convert(f.Type, f.Nullable, depth+1)
		if err != nil {
			return Type{}, tarnerr.Trace("mapping Arrow struct", err, "member", f.Name)
		}
		t.Fields = append(t.Fields, Field{ID: c.nextID, Name: f.Name, Type: member})
		c.nextID++
	}
	return t, nil
}

func unsupportedArrow(dt arrow.DataType, cause string) (Type, error) {
	return Type{}, tarnerr.New(tarnerr.Unsupported, "mapping Arrow type", cause, "arrow", dt)
}
