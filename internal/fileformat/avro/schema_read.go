package avro

import (
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// shape is what a file's schema says of its rows. Immutable.
type shape struct {
	root         *ocf.Schema // the record of a row
	null, branch int64       // the branches of a union around it; −1 without one
	fields       []types.Field
}

func newShape(s *ocf.Schema) (*shape, error) {
	// Paimon before 1.0 wrote rows as a union of null and the record.
	root, null, branch := value(s)
	if root == nil || root.Kind != ocf.Record {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading Avro schema", "rows are not records", "type", s.Type)
	}
	return &shape{root, null, branch, fields(root)}, nil
}

// value resolves a union of null and one more type: which branch is null, and
// which the value. Other schemas have no null: −1. Unions of more types have no
// Paimon type and give no value.
func value(n *ocf.Schema) (v *ocf.Schema, null, branch int64) {
	if n.Kind != ocf.Union {
		return n, -1, -1
	}
	v, null, branch = nil, -1, -1
	for i, p := range n.Parts {
		switch {
		case p.Kind == ocf.Null:
			null = int64(i)
		case v != nil:
			return nil, -1, -1
		default:
			v, branch = p, int64(i)
		}
	}
	return v, null, branch
}

// pair gives key and value of the items of a map written as an array.
func pair(n *ocf.Schema) (key, value *ocf.Schema) {
	if n.Kind != ocf.Record || len(n.Parts) != 2 {
		return nil, nil
	}
	return n.Member("key"), n.Member("value")
}

// fields are the columns of a file as Paimon would see them. Avro stores no ids,
// nor lengths, nor which INT is a TINYINT.
func fields(n *ocf.Schema) []types.Field {
	out := make([]types.Field, len(n.Parts))
	for i, p := range n.Parts {
		out[i] = types.Field{ID: -1, Name: n.Names[i], Type: paimonType(p)}
	}
	return out
}

// paimonType is the logical type a node's values stand for, the zero type when
// there is none.
func paimonType(n *ocf.Schema) types.Type {
	v, null, _ := value(n)
	if v == nil {
		return types.Type{}
	}
	return valueType(v).WithNull(null >= 0)
}

func valueType(n *ocf.Schema) types.Type {
	switch n.Kind {
	case ocf.Boolean:
		return types.Type{Root: types.Boolean}
	case ocf.Int:
		switch n.Logical {
		case "date":
			return types.Type{Root: types.Date}
		case "time-millis":
			return types.Type{Root: types.Time, Precision: 3}
		}
		return types.Type{Root: types.Int}
	case ocf.Long:
		// Paimon uses the names the other way round than Avro means them.
		switch n.Logical {
		case "timestamp-millis":
			return types.Type{Root: types.Timestamp, Precision: 3}
		case "timestamp-micros":
			return types.Type{Root: types.Timestamp, Precision: 6}
		case "local-timestamp-millis":
			return types.Type{Root: types.TimestampLTZ, Precision: 3}
		case "local-timestamp-micros":
			return types.Type{Root: types.TimestampLTZ, Precision: 6}
		}
		return types.Type{Root: types.BigInt}
	case ocf.Float:
		return types.Type{Root: types.Float}
	case ocf.Double:
		return types.Type{Root: types.Double}
	case ocf.String:
		return types.Type{Root: types.VarChar, Length: types.MaxLength}
	case ocf.Bytes:
		if n.Logical == "decimal" && n.Precision >= 1 && n.Precision <= 38 && n.Scale >= 0 && n.Scale <= n.Precision {
			return types.Type{Root: types.Decimal, Precision: n.Precision, Scale: n.Scale}
		}
		return types.Type{Root: types.VarBinary, Length: types.MaxLength}
	case ocf.Array:
		if k, v := pair(n.Parts[0]); n.Logical == "map" && k != nil && v != nil {
			key, value := paimonType(k).WithNull(false), paimonType(v)
			return types.Type{Root: types.Map, Key: &key, Element: &value}
		}
		e := paimonType(n.Parts[0])
		return types.Type{Root: types.Array, Element: &e}
	case ocf.Map:
		key, value := types.Type{Root: types.VarChar, Length: types.MaxLength}, paimonType(n.Parts[0])
		return types.Type{Root: types.Map, Key: &key, Element: &value}
	case ocf.Record:
		t := types.Type{Root: types.Row}
		for i, p := range n.Parts {
			t.Fields = append(t.Fields, types.Field{ID: -1, Name: n.Names[i], Type: paimonType(p)})
		}
		return t
	}
	return types.Type{}
}
