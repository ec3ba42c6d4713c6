package avro

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// space and top make the full name of the record of a row, as Java writes it.
const (
	space = "org.apache.paimon.avro.generated"
	top   = "record"
)

// schemaText is the schema of a file as Java writes it: members of a row make a
// record named after the way to it.
func schemaText(fields []types.Field) (string, error) {
	s := schemaWriter{named: map[string]string{}}
	body, err := s.record(top, fields)
	if err != nil {
		return "", err
	}
	head := `{"type":"record","name":"` + top + `",`
	return head + `"namespace":"` + space + `",` + strings.TrimPrefix(body, head), nil
}

// schemaWriter remembers the records that were spelled out: the same one again
// is written as its name.
type schemaWriter struct{ named map[string]string }

func (s *schemaWriter) record(name string, fields []types.Field) (string, error) {
	var b strings.Builder
	b.WriteString(`{"type":"record","name":"` + name + `","fields":[`)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		if !validName(f.Name) {
			return "", tarnerr.New(tarnerr.Invalid, "writing Avro schema", "the name has other characters than letters, digits and _, or begins with a digit", "column", f.Name).
				WithHint("Rename the column, or set file.format to parquet.")
		}
		t, err := s.typ(f.Type, name+"_"+f.Name)
		if err != nil {
			return "", tarnerr.Trace("writing Avro schema", err, "column", f.Name)
		}
		b.WriteString(`{"name":"` + f.Name + `","type":` + t + defaultOf(f.Type) + `}`)
	}
	return s.once(name, b.String()+`]}`)
}

// once gives the text of a record, or its name when that was written before.
func (s *schemaWriter) once(name, text string) (string, error) {
	switch before, ok := s.named[name]; {
	case !ok:
		s.named[name] = text
		return text, nil
	case before == text:
		return `"` + name + `"`, nil
	}
	return "", tarnerr.New(tarnerr.Unsupported, "writing Avro schema", "two nested columns lead to records of one name, which Avro does not allow", "record", name).
		WithHint("Rename one of the columns, or set file.format to parquet.")
}

func defaultOf(t types.Type) string {
	if t.Nullable {
		return `,"default":null`
	}
	return ""
}

// validName reports a name that Java's Avro allows.
func validName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.Is(unicode.Nd, r)) {
			return false
		}
	}
	return name != ""
}

func (s *schemaWriter) typ(t types.Type, name string) (string, error) {
	text, err := s.bare(t, name)
	if err == nil && t.Nullable {
		text = `["null",` + text + `]`
	}
	return text, err
}

func (s *schemaWriter) bare(t types.Type, name string) (string, error) {
	logical := func(typ, logical string) (string, error) {
		return `{"type":"` + typ + `","logicalType":"` + logical + `"}`, nil
	}
	switch t.Root {
	case types.Boolean:
		return `"boolean"`, nil
	case types.TinyInt, types.SmallInt, types.Int:
		return `"int"`, nil
	case types.BigInt:
		return `"long"`, nil
	case types.Float:
		return `"float"`, nil
	case types.Double:
		return `"double"`, nil
	case types.Char, types.VarChar:
		return `"string"`, nil
	case types.Binary, types.VarBinary:
		return `"bytes"`, nil
	case types.Decimal:
		return `{"type":"bytes","logicalType":"decimal","precision":` + strconv.Itoa(t.Precision) + `,"scale":` + strconv.Itoa(t.Scale) + `}`, nil
	case types.Date:
		return logical("int", "date")
	case types.Time:
		if t.Precision <= 3 {
			return logical("int", "time-millis")
		}
		return "", unsupported(t, "Avro has times up to precision 3.")
	case types.Timestamp, types.TimestampLTZ:
		// Paimon uses the names the other way round than Avro means them.
		local := ""
		if t.Root == types.TimestampLTZ {
			local = "local-"
		}
		switch {
		case t.Precision <= 3:
			return logical("long", local+"timestamp-millis")
		case t.Precision <= 6:
			return logical("long", local+"timestamp-micros")
		}
		return "", unsupported(t, "Avro has timestamps up to precision 6.")
	case types.Array, types.Vector:
		items, err := s.typ(*t.Element, name)
		return `{"type":"array","items":` + items + `}`, err
	case types.Map:
		return s.mapping(*t.Key, *t.Element, name)
	case types.Multiset:
		if !t.Element.IsString() {
			return "", unsupported(t, "Java Paimon 1.4 can neither write nor read a MULTISET of other elements than strings in Avro files.")
		}
		return s.mapping(*t.Element, types.Type{Root: types.Int, Nullable: true}, name)
	case types.Row:
		return s.record(name, t.Fields)
	}
	return "", unsupported(t, "Set file.format to parquet.")
}

// mapping is Avro's map when keys are strings; its keys have no schema, so they
// are never null. Other keys make an array of records.
func (s *schemaWriter) mapping(key, value types.Type, name string) (string, error) {
	if key.IsString() {
		values, err := s.typ(value, name)
		return `{"type":"map","values":` + values + `}`, err
	}
	k, err := s.typ(key, name+"_key")
	if err != nil {
		return "", err
	}
	v, err := s.typ(value, name+"_value")
	if err != nil {
		return "", err
	}
	items, err := s.once(name, `{"type":"record","name":"`+name+`","fields":[{"name":"key","type":`+k+`},{"name":"value","type":`+v+defaultOf(value)+`}]}`)
	return `{"type":"array","items":` + items + `,"logicalType":"map"}`, err
}

func unsupported(t types.Type, hint string) error {
	return tarnerr.New(tarnerr.Unsupported, "writing Avro schema", "Avro files cannot hold the type", "type", t.WithNull(true)).WithHint("%s", hint)
}
