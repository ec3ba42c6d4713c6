package schema

import (
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/types"
)

// convertible says whether a column may change from one type to another, and
// the type it then has. explicit allows narrowing and text conversions. It is
// the intersection of what Java's DataTypeCasts permits and what its
// CastExecutors can carry out. Nested types may only change in nullability;
// their members keep their ids.
func convertible(from, to types.Type, explicit bool) (types.Type, bool) {
	if from.Nullable && !to.Nullable && !explicit {
		return to, false
	}
	if from.IsNested() && from.Root == to.Root {
		same, ok := keepIDs(from, to)
		return same, ok
	}
	if from.WithNull(true).Equal(to.WithNull(true)) {
		return to, true
	}
	if !permitted(from.Root, to.Root, explicit) || !executable(from, to) {
		return to, false
	}
	return to, true
}

// keepIDs is from with the nullability to has, when they differ in nothing else.
func keepIDs(from, to types.Type) (types.Type, bool) {
	out := from
	out.Nullable = to.Nullable
	if from.Root != to.Root || from.Length != to.Length || len(from.Fields) != len(to.Fields) {
		return out, false
	}
	if !from.IsNested() {
		return out, from.WithNull(true).Equal(to.WithNull(true)) && from.Nullable == to.Nullable
	}
	for _, part := range []struct {
		from, to *types.Type
		into     **types.Type
	}{{from.Key, to.Key, &out.Key}, {from.Element, to.Element, &out.Element}} {
		if part.from == nil || part.to == nil {
			if part.from != part.to {
				return out, false
			}
			continue
		}
		kept, ok := keepIDs(*part.from, *part.to)
		if !ok || part.from.Nullable != part.to.Nullable {
			return out, false
		}
		*part.into = &kept
	}
	for i, f := range from.Fields {
		if kept, ok := keepIDs(f.Type, to.Fields[i].Type); !ok || f.Name != to.Fields[i].Name || kept.Nullable != f.Type.Nullable {
			return out, false
		}
	}
	return out, true
}

func isNumeric(r types.Root) bool { return r >= types.TinyInt && r <= types.Decimal }
func isInteger(r types.Root) bool { return r >= types.TinyInt && r <= types.BigInt }
func isText(r types.Root) bool    { return r == types.Char || r == types.VarChar }
func isBytes(r types.Root) bool   { return r == types.Binary || r == types.VarBinary }
func isInstant(r types.Root) bool { return r == types.Timestamp || r == types.TimestampLTZ }
func isDatetime(r types.Root) bool {
	return r == types.Date || r == types.Time || isInstant(r)
}

// permitted is Java's table of implicit and explicit casts.
func permitted(from, to types.Root, explicit bool) bool {
	if implicit(from, to) {
		return true
	}
	if !explicit {
		return false
	}
	fromScalar := isNumeric(from) || isText(from) || from == types.Boolean || isInstant(from)
	switch {
	case isText(to):
		return true
	case to == types.Boolean:
		return isText(from) || isInteger(from)
	case to == types.Binary || to == types.VarBinary:
		return isText(from) || isBytes(from)
	case to == types.Decimal, to == types.Double:
		return fromScalar
	case isNumeric(to):
		return fromScalar
	case to == types.Date:
		return isInstant(from) || isText(from)
	case to == types.Time:
		return from == types.Time || isInstant(from) || isText(from)
	case isInstant(to):
		return isDatetime(from) || isText(from) || isNumeric(from)
	}
	return false
}

func implicit(from, to types.Root) bool {
	switch {
	case from == to:
		return true
	case to == types.VarChar:
		return isText(from)
	case to == types.VarBinary:
		return isBytes(from)
	case to == types.Decimal, to == types.Double:
		return isNumeric(from)
	case to == types.Float:
		return isInteger(from) || from == types.Decimal
	case isInteger(to):
		return isInteger(from) && from < to
	case to == types.Date, to == types.Time:
		return from == types.Timestamp
	case isInstant(to):
		return isInstant(from)
	}
	return false
}

// executable says whether Java has a rule that converts values. Dates and
// times become text only as a nullable STRING.
func executable(from, to types.Type) bool {
	return cast.Exists(from, to) && (to.Nullable || !isDatetime(from.Root) || !isText(to.Root))
}
