package layout

import (
	"strings"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// DefaultPartitionName stands in paths for null and blank values (option partition.default-name).
const DefaultPartitionName = "__DEFAULT_PARTITION__"

// PartitionField is one partition column and its value as the path shows it.
type PartitionField struct {
	Name, Value string
}

// PartitionPath joins fields to a relative path: k1=v1/k2=v2, escaped. It is ""
// without fields.
func PartitionPath(fields []PartitionField) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte('/')
		}
		writeEscaped(&b, f.Name)
		b.WriteByte('=')
		writeEscaped(&b, f.Value)
	}
	return b.String()
}

// ParsePartitionPath is the inverse of [PartitionPath].
func ParsePartitionPath(p string) ([]PartitionField, error) {
	if p == "" {
		return nil, nil
	}
	parts := strings.Split(p, "/")
	out := make([]PartitionField, len(parts))
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, tarnerr.New(tarnerr.Invalid, "reading partition path", "part is not name=value", "path", p, "part", part)
		}
		out[i] = PartitionField{Unescape(name), Unescape(value)}
	}
	return out, nil
}

// escaped lists the characters below U+0080 that paths show as %XX; beyond it nothing is.
const escaped = "\"#%'*/:=?\\{}[]^\x7f"

func mustEscape(c byte) bool { return c < 0x20 || strings.IndexByte(escaped, c) >= 0 }

// Escape writes a name or value as a partition path shows it.
func Escape(s string) string {
	var b strings.Builder
	writeEscaped(&b, s)
	return b.String()
}

func writeEscaped(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; mustEscape(c) {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
}

// Unescape is the inverse of [Escape]. A % that no two hex digits follow stands for itself.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2])
			if hi >= 0 && lo >= 0 {
				// Java makes a character of the number, not a byte.
				b.WriteRune(rune(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Partitioner turns partition rows into paths. Immutable; safe for concurrent use.
type Partitioner struct {
	fields      []types.Field
	defaultName string
	legacy      bool
}

// NewPartitioner returns the partitioner of a table's partition columns.
// defaultName is partition.default-name ("" = [DefaultPartitionName]), legacy is
// partition.legacy-name: values as Java's toString shows them rather than as
// CAST to STRING does.
func NewPartitioner(fields []types.Field, defaultName string, legacy bool) *Partitioner {
	if defaultName == "" {
		defaultName = DefaultPartitionName
	}
	return &Partitioner{fields, defaultName, legacy}
}

// Fields are the partition columns in order.
func (p *Partitioner) Fields() []types.Field { return p.fields }

// Path is the directory of a partition below the data root, "" in tables without partitions.
func (p *Partitioner) Path(row binaryrow.Row) (string, error) {
	if len(p.fields) == 0 {
		return "", nil
	}
	fields, err := p.Values(row)
	if err != nil {
		return "", err
	}
	return PartitionPath(fields), nil
}

// Values are the names and texts of a partition's columns. Null and blank
// values have the default name: the text alone does not tell them apart.
func (p *Partitioner) Values(row binaryrow.Row) ([]PartitionField, error) {
	out := make([]PartitionField, len(p.fields))
	if err := row.Check(len(p.fields)); err != nil {
		return nil, tarnerr.Trace("naming partition", err)
	}
	for i, f := range p.fields {
		v, err := row.Value(i, f.Type)
		if err != nil {
			return nil, tarnerr.Trace("naming partition", err, "column", f.Name)
		}
		text, err := p.text(f, v)
		if err != nil {
			return nil, err
		}
		out[i] = PartitionField{f.Name, text}
	}
	return out, nil
}

func (p *Partitioner) text(f types.Field, v types.Value) (string, error) {
	if v == nil {
		return p.defaultName, nil
	}
	text, err := valueText(f, v, p.legacy)
	if err != nil {
		return "", err
	}
	if blank(text) {
		return p.defaultName, nil
	}
	return text, nil
}

// Row reads a partition from its texts, as a path or a statement gives them:
// names in any order, every column once. The default name is null.
func (p *Partitioner) Row(fields []PartitionField) (binaryrow.Row, error) {
	ts, vs := make([]types.Type, len(p.fields)), make([]types.Value, len(p.fields))
	if len(fields) != len(p.fields) {
		return nil, tarnerr.New(tarnerr.Invalid, "reading partition", "wrong number of columns", "got", len(fields), "want", len(p.fields))
	}
	for i, f := range p.fields {
		ts[i] = f.Type
		text, ok := find(fields, f.Name)
		if !ok {
			return nil, tarnerr.New(tarnerr.Invalid, "reading partition", "column is missing", "column", f.Name)
		}
		if text == p.defaultName {
			continue
		}
		v, err := parseText(f, text, p.legacy)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return binaryrow.Encode(ts, vs)
}

func find(fields []PartitionField, name string) (string, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}
