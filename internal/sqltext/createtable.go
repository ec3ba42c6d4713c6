package sqltext

import (
	"strings"

	"github.com/tarnlake/tarn/types"
)

func (p *commandParser) create() Command {
	switch {
	case p.databaseWord():
		exists := p.take("IF", "NOT", "EXISTS")
		c := CreateDatabase{p.path(), exists}
		if p.peek().Is("COMMENT") || p.peek().Is("WITH") || p.peek().Is("LOCATION") {
			p.unsupported("CREATE DATABASE … " + strings.ToUpper(p.peek().Text))
		}
		return c
	case p.take("TABLE"):
		return p.createTable()
	case p.take("CATALOG"):
		exists := p.take("IF", "NOT", "EXISTS")
		c := CreateCatalog{Name: p.single(), IfNotExists: exists, Options: map[string]string{}}
		p.expect("WITH")
		p.options(c.Options)
		return c
	}
	p.unsupported("CREATE " + strings.ToUpper(p.peek().Text))
	return nil
}

func (p *commandParser) createTable() Command {
	c := CreateTable{IfNotExists: p.take("IF", "NOT", "EXISTS"), Options: map[string]string{}}
	c.Name = p.path()
	if p.peek().Is("AS") || p.peek().Is("LIKE") {
		p.unsupported("CREATE TABLE … " + strings.ToUpper(p.peek().Text))
	}
	p.list(func() { p.tableElement(&c) })
	for p.err == nil && p.at < len(p.tokens) {
		switch {
		case p.take("USING"):
			if !p.peek().Is("paimon") {
				p.unsupported("tables of another format than paimon")
			}
			p.next()
		case p.take("COMMENT"):
			p.take("=")
			c.Comment = p.stringLiteral()
		case p.take("PARTITIONED", "BY"):
			c.PartitionKeys = p.names()
		case p.take("WITH"), p.take("TBLPROPERTIES"), p.take("OPTIONS"):
			p.options(c.Options)
		default:
			p.unsupported("CREATE TABLE … " + strings.ToUpper(p.peek().Text))
		}
	}
	return c
}

func (p *commandParser) tableElement(c *CreateTable) {
	switch {
	case p.peek().Is("WATERMARK") && p.ahead(1).Is("FOR"):
		p.unsupported("WATERMARK")
	case p.peek().Is("CONSTRAINT"):
		p.next()
		p.name()
		if !p.peek().Is("PRIMARY") {
			p.unsupported("constraints other than PRIMARY KEY")
		}
		p.primaryKey(c)
	case p.peek().Is("PRIMARY") && p.ahead(1).Is("KEY"):
		p.primaryKey(c)
	case p.peek().Is("UNIQUE") && p.ahead(1).Is("("), p.peek().Is("FOREIGN") && p.ahead(1).Is("KEY"), p.peek().Is("CHECK") && p.ahead(1).Is("("):
		p.unsupported("constraints other than PRIMARY KEY")
	default:
		p.column(c)
	}
}

func (p *commandParser) primaryKey(c *CreateTable) {
	if c.PrimaryKeys != nil {
		p.fail("the primary key is given twice")
	}
	p.expect("PRIMARY", "KEY")
	c.PrimaryKeys = p.names()
	p.take("NOT", "ENFORCED")
}

func (p *commandParser) column(c *CreateTable) {
	f := types.Field{ID: len(c.Fields), Name: p.name()}
	if p.peek().Is("AS") {
		p.unsupported("computed columns")
	}
	f.Type = p.columnType()
	for p.err == nil {
		switch {
		case p.take("NOT", "NULL"):
			f.Type.Nullable = false
		case p.take("NULL"):
		case p.peek().Is("METADATA"):
			p.unsupported("metadata columns")
		case p.take("PRIMARY", "KEY"):
			if c.PrimaryKeys != nil {
				p.fail("the primary key is given twice")
			}
			c.PrimaryKeys = []string{f.Name}
			p.take("NOT", "ENFORCED")
		case p.take("COMMENT"):
			text := p.stringLiteral()
			f.Description = &text
		case p.take("DEFAULT"):
			f.Default = p.defaultValue()
		default:
			c.Fields = append(c.Fields, f)
			return
		}
	}
}

// defaultValue reads a literal; NULL is no default.
func (p *commandParser) defaultValue() *string { return p.literal("a default") }

// literal reads the text of a literal, nil for NULL. what names it in an error.
func (p *commandParser) literal(what string) *string {
	sign := p.oneOf("-", "+")
	switch t := p.peek(); {
	case t.Kind == String && t.Text[0] == '\'' && sign == "":
		text := p.next().Name()
		return &text
	case t.Kind == Numeral:
		text := strings.TrimPrefix(sign, "+") + p.next().Text
		return &text
	case sign == "" && (t.Is("TRUE") || t.Is("FALSE")):
		text := strings.ToLower(p.next().Text)
		return &text
	case sign == "" && t.Is("NULL"):
		p.next()
		return nil
	case sign == "" && (t.Is("DATE") || t.Is("TIMESTAMP") || t.Is("TIME")) && p.ahead(1).Kind == String:
		p.next()
		text := p.stringLiteral()
		return &text
	}
	p.unsupported(what + " that is no literal")
	return nil
}

// columnEnd are the words that can follow a column's type.
var columnEnd = []string{"NOT", "NULL", "COMMENT", "DEFAULT", "PRIMARY", "METADATA", "FIRST", "AFTER", "SET", "DROP"}

// columnType reads a type, of Flink or of Spark, up to what follows it.
func (p *commandParser) columnType() types.Type {
	start := p.peek()
	var text strings.Builder
	depth := 0
	for p.at < len(p.tokens) {
		t := p.peek()
		if depth == 0 && (t.Is(",") || t.Is(")") || endsColumn(t)) {
			break
		}
		switch {
		case t.Is("<"), t.Is("("):
			depth++
		case t.Is(">"), t.Is(")"):
			depth--
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(p.typeWord(t))
		p.next()
	}
	if text.Len() == 0 {
		p.wanted("a type")
		return types.Type{}
	}
	t, err := types.Parse(text.String())
	if err != nil && p.err == nil {
		p.err = &SyntaxError{At: start.Start, Why: err.Error()}
	}
	return t
}

func endsColumn(t Token) bool {
	for _, w := range columnEnd {
		if t.Is(w) {
			return true
		}
	}
	return false
}

// typeWord turns Spark's spellings into Flink's: LONG, SHORT, BYTE, TIMESTAMP_NTZ,
// STRUCT<a: INT>.
func (p *commandParser) typeWord(t Token) string {
	switch {
	case t.Kind == Quoted:
		return "`" + strings.ReplaceAll(t.Name(), "`", "``") + "`"
	case t.Is(":"):
		return ""
	case t.Is("STRUCT") && p.ahead(1).Is("<"):
		return "ROW"
	case t.Is("LONG"):
		return "BIGINT"
	case t.Is("SHORT"):
		return "SMALLINT"
	case t.Is("BYTE"):
		return "TINYINT"
	case t.Is("TIMESTAMP_NTZ"):
		return "TIMESTAMP"
	}
	return t.Text
}
