package types

import "github.com/tarnlake/tarn/tarnerr"

// Root is the kind of a logical type, without its parameters.
type Root uint8

// The roots, named as Paimon's type strings name them.
const (
	Invalid Root = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar
	Binary
	VarBinary
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Multiset
	Row
	Variant
	Blob
	Vector
	Geometry
	Geography
)

// MaxLength is the length of STRING and BYTES, which are VARCHAR(MaxLength)
// and VARBINARY(MaxLength).
const MaxLength = 1<<31 - 1

// Type is a logical type. The zero value is no type. Types are immutable once
// shared; nested types are shared by pointer.
type Type struct {
	Root     Root
	Nullable bool
	// Length: CHAR, VARCHAR, BINARY, VARBINARY in characters or bytes; VECTOR in elements.
	Length int
	// Precision: DECIMAL (1–38), TIME and the timestamps (0–9 fraction digits).
	Precision int
	// Scale: DECIMAL.
	Scale int
	// Key: MAP. Element: ARRAY, MULTISET, VECTOR, and the value of MAP.
	Key, Element *Type
	// Fields: ROW.
	Fields []Field
	// CRS: GEOMETRY and GEOGRAPHY; Algorithm: GEOGRAPHY.
	CRS, Algorithm string
}

// Field is a column or a member of a ROW.
type Field struct {
	ID          int // unique in the table, shared counter with nested ROW members
	Name        string
	Type        Type
	Description *string // nil when absent
	Default     *string // nil when absent
}

// IsString reports CHAR or VARCHAR; IsBytes reports BINARY, VARBINARY or BLOB.
func (t Type) IsString() bool { return t.Root == Char || t.Root == VarChar }

// IsBytes reports BINARY, VARBINARY, BLOB, GEOMETRY or GEOGRAPHY: an opaque run of bytes.
func (t Type) IsBytes() bool {
	return t.Root == Binary || t.Root == VarBinary || t.Root == Blob || t.Root == Geometry || t.Root == Geography
}

// IsNested reports a type that holds other types.
func (t Type) IsNested() bool {
	switch t.Root {
	case Array, Map, Multiset, Row, Vector, Variant:
		return true
	}
	return false
}

// IsInteger reports TINYINT, SMALLINT, INT or BIGINT.
func (t Type) IsInteger() bool { return t.Root >= TinyInt && t.Root <= BigInt }

// Compact reports whether a DECIMAL or timestamp is stored inside its 8-byte
// BinaryRow slot (DECIMAL precision ≤ 18, timestamp precision ≤ 3).
func (t Type) Compact() bool {
	switch t.Root {
	case Decimal:
		return t.Precision <= 18
	case Timestamp, TimestampLTZ:
		return t.Precision <= 3
	}
	return true
}

// Equal compares types with their nullability, nested field ids, names and types.
// Descriptions and defaults do not count.
func (t Type) Equal(o Type) bool {
	return t.Nullable == o.Nullable && t.EqualIgnoringNull(o)
}

// EqualIgnoringNull is Equal without the outermost nullability.
func (t Type) EqualIgnoringNull(o Type) bool {
	if t.Root != o.Root || t.Length != o.Length || t.Precision != o.Precision || t.Scale != o.Scale ||
		t.CRS != o.CRS || t.Algorithm != o.Algorithm || len(t.Fields) != len(o.Fields) {
		return false
	}
	if !equalPtr(t.Key, o.Key) || !equalPtr(t.Element, o.Element) {
		return false
	}
	for i := range t.Fields {
		a, b := t.Fields[i], o.Fields[i]
		if a.ID != b.ID || a.Name != b.Name || !a.Type.Equal(b.Type) {
			return false
		}
	}
	return true
}

func equalPtr(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// WithNull returns t with the nullability given.
func (t Type) WithNull(nullable bool) Type {
	t.Nullable = nullable
	return t
}

// RowKind is the kind of change a row stands for. The values are Paimon's
// bytes in files and BinaryRow headers.
type RowKind int8

const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

var rowKindNames = [...]string{"+I", "-U", "+U", "-D"}

// String is the short form: +I, -U, +U, -D.
func (k RowKind) String() string {
	if k < 0 || int(k) >= len(rowKindNames) {
		return "?"
	}
	return rowKindNames[k]
}

// Valid reports one of the four kinds.
func (k RowKind) Valid() bool { return k >= Insert && k <= Delete }

// IsRetract reports -U or -D: the row takes a value away.
func (k RowKind) IsRetract() bool { return k == UpdateBefore || k == Delete }

// ParseRowKind reads the short form.
func ParseRowKind(s string) (RowKind, error) {
	for i, n := range rowKindNames {
		if n == s {
			return RowKind(i), nil
		}
	}
	return 0, tarnerr.New(tarnerr.Invalid, "reading row kind", "no such row kind", "value", s).
		WithHint("Row kinds are +I, -U, +U and -D.")
}

// KindColumn is the name of the int8 column that carries row kinds in Arrow
// batches written to and read from tables.
const KindColumn = "_kind"
