package types

import (
	"strconv"
	"strings"
	"unicode"
)

// String is the type in SQL form as Java's asSQLString prints it:
// "DECIMAL(10, 2) NOT NULL", "ARRAY<INT>", "ROW<`a` INT COMMENT 'x'>".
// Parse reads it back. An invalid type prints as "INVALID".
func (t Type) String() string {
	var b strings.Builder
	t.print(&b)
	return b.String()
}

func (t Type) print(b *strings.Builder) {
	switch t.Root {
	case Array, Multiset:
		b.WriteString(t.Root.String())
		b.WriteByte('<')
		t.Element.orInvalid().print(b)
		b.WriteByte('>')
	case Map:
		b.WriteString("MAP<")
		t.Key.orInvalid().print(b)
		b.WriteString(", ")
		t.Element.orInvalid().print(b)
		b.WriteByte('>')
	case Vector:
		b.WriteString("VECTOR<")
		t.Element.orInvalid().print(b)
		b.WriteString(", " + strconv.Itoa(t.Length) + ">")
	case Row:
		b.WriteString("ROW<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			f.print(b)
		}
		b.WriteByte('>')
	default:
		b.WriteString(t.atomic())
	}
	if !t.Nullable {
		b.WriteString(" NOT NULL")
	}
}

// atomic is the SQL form of a type without members, without nullability.
func (t Type) atomic() string {
	switch t.Root {
	case Decimal:
		return "DECIMAL(" + strconv.Itoa(t.Precision) + ", " + strconv.Itoa(t.Scale) + ")"
	case Char, Binary:
		return t.Root.String() + "(" + strconv.Itoa(t.Length) + ")"
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return "VARCHAR(" + strconv.Itoa(t.Length) + ")"
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return "VARBINARY(" + strconv.Itoa(t.Length) + ")"
	case Time:
		return "TIME(" + strconv.Itoa(t.Precision) + ")"
	case Timestamp:
		return "TIMESTAMP(" + strconv.Itoa(t.Precision) + ")"
	case TimestampLTZ:
		return "TIMESTAMP(" + strconv.Itoa(t.Precision) + ") WITH LOCAL TIME ZONE"
	case Geometry:
		return "GEOMETRY(" + printCRS(t.CRS) + ")"
	case Geography:
		return "GEOGRAPHY(" + printCRS(t.CRS) + ", " + t.Algorithm + ")"
	}
	return t.Root.String()
}

func printCRS(crs string) string {
	quote := crs == "" || crs[0] >= '0' && crs[0] <= '9' ||
		strings.ContainsFunc(crs, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("<>(),.'`", r)
		})
	if !quote {
		return crs
	}
	return "'" + strings.ReplaceAll(crs, "'", "''") + "'"
}

func (t *Type) orInvalid() Type {
	if t == nil {
		return Type{Nullable: true}
	}
	return *t
}

func (f Field) print(b *strings.Builder) {
	b.WriteString("`" + strings.ReplaceAll(f.Name, "`", "``") + "` ")
	f.Type.print(b)
	if f.Description != nil && *f.Description != "" {
		b.WriteString(" COMMENT '" + strings.ReplaceAll(*f.Description, "'", "''") + "'")
	}
	if f.Default != nil {
		b.WriteString(" DEFAULT " + *f.Default)
	}
}

var rootNames = [...]string{
	Invalid: "INVALID", Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
	Float: "FLOAT", Double: "DOUBLE", Decimal: "DECIMAL", Char: "CHAR", VarChar: "VARCHAR", Binary: "BINARY",
	VarBinary: "VARBINARY", Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ",
	Array: "ARRAY", Map: "MAP", Multiset: "MULTISET", Row: "ROW", Variant: "VARIANT", Blob: "BLOB", Vector: "VECTOR",
	Geometry: "GEOMETRY", Geography: "GEOGRAPHY",
}

// String is the root's name in upper case, without parameters.
func (r Root) String() string {
	if int(r) < len(rootNames) {
		return rootNames[r]
	}
	return rootNames[Invalid]
}
