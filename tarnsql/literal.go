//go:build cgo && !tarn_nosql

package tarnsql

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/types"
)

// literal reads a literal that is compared with a column of type t. It is false
// for what DuckDB might compare otherwise than expr does.
func literal(t types.Type, n node, zone string) (types.Value, bool) {
	cast := ""
	if n.text("type") == "OPERATOR_CAST" && n["try_cast"] != true {
		if cast = n.child("cast_type").text("id"); n.child("cast_type")["type_info"] != nil {
			return nil, false
		}
		n = n.child("child")
	}
	value := n.child("value")
	id := value.child("type").text("id")
	if n.text("class") != "CONSTANT" || value["is_null"] == true || cast != "" && id != "VARCHAR" {
		return nil, false
	}
	if id == "VARCHAR" {
		return textLiteral(t, value.text("value"), cast, zone)
	}
	return numberLiteral(t, value, id)
}

// number is the text of an integer of JSON.
func number(v any) string {
	n, _ := v.(json.Number)
	return n.String()
}

// numberLiteral reads an integer or decimal. Its digits count: where no DECIMAL
// holds both it and the column's values, DuckDB compares otherwise.
func numberLiteral(t types.Type, value node, id string) (types.Value, bool) {
	unscaled, ok := new(big.Int).SetString(number(value["value"]), 10)
	if !ok {
		return nil, false
	}
	scale, digits := 0, 0
	switch id {
	case "INTEGER":
		digits = 10
	case "BIGINT":
		digits = 19
	case "DECIMAL":
		info := value.child("type").child("type_info")
		width, _ := new(big.Int).SetString(number(info["width"]), 10)
		s, _ := new(big.Int).SetString(number(info["scale"]), 10)
		if width == nil || s == nil {
			return nil, false
		}
		scale = int(s.Int64())
		digits = int(width.Int64()) - scale
	default:
		return nil, false
	}
	r := new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	switch t.Root {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return expr.Number(r.FloatString(scale)), true
	case types.Decimal:
		if max(digits, t.Precision-t.Scale)+max(scale, t.Scale) > 38 {
			return nil, false
		}
		return expr.Number(r.FloatString(scale)), true
	case types.Double:
		// DuckDB divides the digits by the power of ten, which is exact in this range.
		if f, _ := r.Float64(); unscaled.BitLen() <= 53 && scale <= 22 {
			return f, true
		}
	case types.Float:
		if f, exact := r.Float32(); exact && math.Abs(float64(f)) < 1<<24 {
			return f, true
		}
	}
	return nil, false
}

var (
	dateText    = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	timeText    = regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d{1,3})?$`)
	instantText = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(\.\d{1,9})?)?$`)
)

func textLiteral(t types.Type, s, cast, zone string) (types.Value, bool) {
	switch t.Root {
	case types.Char, types.VarChar:
		return s, cast == ""
	case types.Boolean:
		return s == "t", cast == "BOOLEAN" && (s == "t" || s == "f")
	case types.Date:
		return parsed(t, s, dateText.MatchString(s) && (cast == "" || cast == "DATE"))
	case types.Time:
		return parsed(t, s, timeText.MatchString(s) && (cast == "" || cast == "TIME"))
	case types.Timestamp:
		switch {
		case cast == "DATE" && dateText.MatchString(s) && t.Precision <= 6:
		case cast == "" || cast == "TIMESTAMP" && t.Precision <= 6:
		default:
			return nil, false
		}
		return instantLiteral(t, s)
	case types.TimestampLTZ:
		if zone != "UTC" || cast != "" && cast != "TIMESTAMP WITH TIME ZONE" {
			return nil, false
		}
		return instantLiteral(t, s)
	}
	return nil, false
}

// instantLiteral refuses digits finer than the column has: DuckDB may cut them off.
func instantLiteral(t types.Type, s string) (types.Value, bool) {
	m := instantText.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	most := 3
	switch {
	case t.Root == types.TimestampLTZ && t.Precision > 3:
		most = 6
	case t.Precision > 6:
		most = 9
	case t.Precision > 3:
		most = 6
	}
	clock := m[2]
	if clock == "" {
		clock = "00:00:00"
	}
	t.Precision = 9
	return parsed(t, m[1]+" "+clock+strings.TrimSuffix(m[3], "."), len(m[3]) <= most+1)
}

func parsed(t types.Type, s string, ok bool) (types.Value, bool) {
	if !ok {
		return nil, false
	}
	v, err := types.ParseValue(t, s)
	return v, err == nil && v != nil
}
