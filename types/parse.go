package types

import (
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// maxDepth bounds nesting, so that a hostile type string cannot exhaust the stack.
const maxDepth = 100

// Parse reads a type in SQL form, case-insensitively, with Java's synonyms
// (INTEGER, NUMERIC, TIMESTAMP_LTZ(p), INT ARRAY …) and nested forms:
// ARRAY<…>, MULTISET<…>, MAP<…, …>, VECTOR<…, n> and ROW<a INT, `b c` STRING
// NOT NULL COMMENT 'x'> (the word COMMENT may be left out, the ROW's members may
// stand in parentheses). Members of ROWs get the ids 0, 1, … in the order Java
// gives them.
func Parse(s string) (Type, error) {
	p := &parser{in: s}
	p.toks = p.lex()
	t := p.nullable(0)
	if p.err == nil && p.pos < len(p.toks) {
		p.fail("unexpected " + p.toks[p.pos].describe())
	}
	if p.err != nil {
		return Type{}, p.err
	}
	return t, nil
}

// MustParse is Parse for type strings written in code; it panics on a bad one.
func MustParse(s string) Type {
	t, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return t
}

// parser keeps the first error; after one, all methods do nothing useful quickly.
type parser struct {
	in     string
	toks   []token
	pos    int
	nextID int
	err    *tarnerr.Error
}

func (p *parser) fail(cause string) {
	if p.err != nil {
		return
	}
	at := len(p.in)
	if p.pos < len(p.toks) {
		at = p.toks[p.pos].at
	}
	p.err = tarnerr.New(tarnerr.Invalid, "parsing type", cause, "type", strconv.Quote(p.in), "position", at)
	p.pos = len(p.toks)
}

func (p *parser) peek() token {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return token{kind: end, at: len(p.in)}
}

func (p *parser) next() token {
	t := p.peek()
	if p.pos < len(p.toks) {
		p.pos++
	}
	return t
}

// word consumes the keyword w if it is next.
func (p *parser) word(w string) bool {
	if t := p.peek(); t.kind == word && t.upper == w {
		p.pos++
		return true
	}
	return false
}

func (p *parser) words(ws ...string) {
	for _, w := range ws {
		if !p.word(w) {
			p.fail("expected " + w + ", found " + p.peek().describe())
		}
	}
}

func (p *parser) mark(c byte) bool {
	if t := p.peek(); t.kind == mark && t.text[0] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) need(c byte) {
	if !p.mark(c) {
		p.fail("expected '" + string(c) + "', found " + p.peek().describe())
	}
}

func (p *parser) number() int {
	t := p.peek()
	if t.kind != number {
		p.fail("expected a number, found " + t.describe())
		return 0
	}
	n, err := strconv.ParseInt(t.text, 10, 32)
	if err != nil {
		p.fail("number out of range")
		return 0
	}
	p.pos++
	return int(n)
}

// nullable reads a type with its nullability and the suffix forms "T ARRAY" and "T MULTISET".
func (p *parser) nullable(depth int) Type {
	if depth > maxDepth {
		p.fail("nested too deeply")
	}
	if p.err != nil {
		return Type{}
	}
	t := p.base(depth)
	t.Nullable = p.nullability()
	for p.err == nil {
		root := Invalid
		switch {
		case p.word("ARRAY"):
			root = Array
		case p.word("MULTISET"):
			root = Multiset
		default:
			return t
		}
		if depth++; depth > maxDepth {
			p.fail("nested too deeply")
		}
		element := t
		t = Type{Root: root, Element: &element, Nullable: p.nullability()}
	}
	return t
}

func (p *parser) nullability() bool {
	if p.word("NOT") {
		p.words("NULL")
		return false
	}
	p.word("NULL")
	return true
}

func (p *parser) base(depth int) Type {
	t := p.peek()
	if t.kind != word {
		p.fail("expected a type, found " + t.describe())
		return Type{}
	}
	p.pos++
	switch t.upper {
	case "BOOLEAN":
		return Type{Root: Boolean}
	case "TINYINT":
		return Type{Root: TinyInt}
	case "SMALLINT":
		return Type{Root: SmallInt}
	case "INT", "INTEGER":
		return Type{Root: Int}
	case "BIGINT":
		return Type{Root: BigInt}
	case "FLOAT":
		return Type{Root: Float}
	case "DOUBLE":
		p.word("PRECISION")
		return Type{Root: Double}
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "CHAR":
		return Type{Root: Char, Length: p.length()}
	case "VARCHAR":
		return Type{Root: VarChar, Length: p.length()}
	case "STRING":
		return Type{Root: VarChar, Length: MaxLength}
	case "BINARY":
		return Type{Root: Binary, Length: p.length()}
	case "VARBINARY":
		return Type{Root: VarBinary, Length: p.length()}
	case "BYTES":
		return Type{Root: VarBinary, Length: MaxLength}
	case "DATE":
		return Type{Root: Date}
	case "TIME":
		d := Type{Root: Time, Precision: p.precision(0)}
		if p.word("WITHOUT") {
			p.words("TIME", "ZONE")
		}
		return d
	case "TIMESTAMP":
		return p.timestamp()
	case "TIMESTAMP_LTZ":
		return Type{Root: TimestampLTZ, Precision: p.precision(6)}
	case "VARIANT":
		return Type{Root: Variant}
	case "BLOB":
		return Type{Root: Blob}
	case "GEOMETRY", "GEOGRAPHY":
		return p.geo(t.upper)
	case "ARRAY", "MULTISET":
		root := Array
		if t.upper == "MULTISET" {
			root = Multiset
		}
		p.need('<')
		element := p.nullable(depth + 1)
		p.need('>')
		return Type{Root: root, Element: &element}
	case "MAP":
		p.need('<')
		key := p.nullable(depth + 1)
		p.need(',')
		value := p.nullable(depth + 1)
		p.need('>')
		return Type{Root: Map, Key: &key, Element: &value}
	case "VECTOR":
		return p.vector(depth)
	case "ROW":
		return p.row(depth)
	}
	p.pos--
	p.fail("no such type: " + t.text)
	return Type{}
}

func (p *parser) length() int {
	if !p.mark('(') {
		return 1
	}
	n := p.number()
	if p.err == nil && n < 1 {
		p.pos--
		p.fail("a length is between 1 and " + strconv.Itoa(MaxLength))
	}
	p.need(')')
	return n
}

func (p *parser) precision(def int) int {
	if !p.mark('(') {
		return def
	}
	n := p.number()
	if p.err == nil && n > 9 {
		p.pos--
		p.fail("a precision of time is between 0 and 9")
	}
	p.need(')')
	return n
}

func (p *parser) decimal() Type {
	t := Type{Root: Decimal, Precision: 10}
	if !p.mark('(') {
		return t
	}
	t.Precision = p.number()
	if p.err == nil && (t.Precision < 1 || t.Precision > 38) {
		p.pos--
		p.fail("a DECIMAL's precision is between 1 and 38")
	}
	if p.mark(',') {
		t.Scale = p.number()
		if p.err == nil && t.Scale > t.Precision {
			p.pos--
			p.fail("a DECIMAL's scale is between 0 and its precision")
		}
	}
	p.need(')')
	return t
}

func (p *parser) timestamp() Type {
	t := Type{Root: Timestamp, Precision: p.precision(6)}
	switch {
	case p.word("WITHOUT"):
		p.words("TIME", "ZONE")
	case p.word("WITH"):
		p.words("LOCAL", "TIME", "ZONE")
		t.Root = TimestampLTZ
	}
	return t
}

func (p *parser) vector(depth int) Type {
	p.need('<')
	element := p.nullable(depth + 1)
	if p.err == nil && (element.Root < Boolean || element.Root > Double) {
		p.fail("a VECTOR holds BOOLEAN, integers, FLOAT or DOUBLE")
	}
	p.need(',')
	n := p.number()
	if p.err == nil && n < 1 {
		p.pos--
		p.fail("a VECTOR's length is at least 1")
	}
	p.need('>')
	return Type{Root: Vector, Element: &element, Length: n}
}

// DefaultCRS and DefaultAlgorithm are what GEOMETRY and GEOGRAPHY mean without parameters.
const (
	DefaultCRS       = "OGC:CRS84"
	DefaultAlgorithm = "spherical"
)

func (p *parser) geo(name string) Type {
	t := Type{Root: Geometry, CRS: DefaultCRS}
	if name == "GEOGRAPHY" {
		t.Root, t.Algorithm = Geography, DefaultAlgorithm
	}
	if !p.mark('(') {
		return t
	}
	t.CRS = p.geoParameter()
	if t.Root == Geography && p.mark(',') {
		t.Algorithm = strings.ToLower(p.geoParameter())
		switch t.Algorithm {
		case "spherical", "vincenty", "thomas", "andoyer", "karney":
		default:
			p.fail("no such algorithm: " + t.Algorithm)
		}
	}
	p.need(')')
	return t
}

func (p *parser) geoParameter() string {
	t := p.next()
	if t.kind != word && t.kind != quoted && t.kind != literal || t.text == "" {
		p.fail("expected a name, found " + t.describe())
	}
	return t.text
}

func (p *parser) row(depth int) Type {
	closing := byte('>')
	if p.mark('(') {
		closing = ')'
	} else {
		p.need('<')
	}
	t := Type{Root: Row, Fields: []Field{}}
	seen := map[string]bool{}
	for p.err == nil && !p.mark(closing) {
		if len(t.Fields) > 0 {
			p.need(',')
		}
		f := p.field(depth)
		if p.err == nil && seen[f.Name] {
			p.fail("member named twice: " + f.Name)
		}
		seen[f.Name] = true
		t.Fields = append(t.Fields, f)
	}
	return t
}

func (p *parser) field(depth int) Field {
	name := p.next()
	if name.kind != word && name.kind != quoted {
		p.fail("expected a member's name, found " + name.describe())
	}
	if strings.TrimSpace(name.text) == "" {
		p.fail("a member's name must not be blank")
	}
	f := Field{Name: name.text, Type: p.nullable(depth + 1)}
	f.ID = p.nextID
	p.nextID++
	comment := p.word("COMMENT")
	if t := p.peek(); t.kind == literal {
		p.pos++
		f.Description = &t.text
	} else if comment {
		p.fail("expected the comment's text, found " + t.describe())
	}
	if p.word("DEFAULT") {
		t := p.next()
		switch t.kind {
		case word, number, literal:
			f.Default = &t.text
		default:
			p.fail("expected a default value, found " + t.describe())
		}
	}
	return f
}
