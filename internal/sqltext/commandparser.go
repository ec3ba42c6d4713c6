package sqltext

import "strings"

// commandParser keeps the first error; after one, no token is left to it.
type commandParser struct {
	text   string
	tokens []Token
	at     int
	err    *SyntaxError
}

func (p *commandParser) peek() Token { return p.ahead(0) }

func (p *commandParser) ahead(n int) Token {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n]
	}
	return Token{Kind: Symbol, Start: len(p.text)}
}

func (p *commandParser) next() Token {
	t := p.peek()
	p.at++
	return t
}

func (p *commandParser) fail(why string) { p.stop(why, false) }

// unsupported refuses what is sound but not to be had.
func (p *commandParser) unsupported(feature string) { p.stop(feature, true) }

func (p *commandParser) stop(why string, feature bool) {
	if p.err == nil {
		p.err = &SyntaxError{At: p.peek().Start, Why: why, Feature: feature}
	}
	p.at = len(p.tokens)
}

// take takes the words, if they come next.
func (p *commandParser) take(words ...string) bool {
	for i, w := range words {
		if !p.ahead(i).Is(w) {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *commandParser) expect(words ...string) {
	for _, w := range words {
		if !p.take(w) {
			p.wanted(w)
			return
		}
	}
}

func (p *commandParser) wanted(what string) {
	found := p.peek().Text
	if found == "" {
		found = "the end"
	}
	p.fail("expected " + what + ", found " + found)
}

// oneOf takes one of the words and returns it, "" when none comes next.
func (p *commandParser) oneOf(words ...string) string {
	for _, w := range words {
		if p.take(w) {
			return w
		}
	}
	return ""
}

func (p *commandParser) name() string {
	t := p.peek()
	if t.Kind != Word && t.Kind != Quoted {
		p.wanted("a name")
		return ""
	}
	return p.next().Name()
}

// path is a name with its database.
func (p *commandParser) path() []string {
	out := []string{p.name()}
	for p.take(".") {
		out = append(out, p.name())
	}
	return out
}

func (p *commandParser) names() []string {
	var out []string
	p.list(func() { out = append(out, p.name()) })
	return out
}

// list reads ( item, item … ).
func (p *commandParser) list(item func()) {
	p.expect("(")
	for p.err == nil {
		item()
		if p.take(")") {
			return
		}
		if !p.take(",") {
			p.wanted(", or )")
		}
	}
}

func (p *commandParser) stringLiteral() string {
	if t := p.peek(); t.Kind != String || t.Text[0] != '\'' {
		p.wanted("text in single quotes")
		return ""
	}
	return p.next().Name()
}

// key is an option's key: text in quotes, or words with dots and dashes between.
func (p *commandParser) key() string {
	if t := p.peek(); t.Kind == String || t.Kind == Quoted {
		return p.next().Name()
	}
	key := p.name()
	for p.err == nil && (p.peek().Is(".") || p.peek().Is("-")) {
		key += p.next().Text
		key += p.name()
	}
	return key
}

// options reads ('key' = 'value', …). Values may also be numbers or words.
func (p *commandParser) options(into map[string]string) {
	p.list(func() {
		at := p.peek()
		key := p.key()
		p.expect("=")
		value := ""
		switch t := p.peek(); t.Kind {
		case String:
			value = p.next().Name()
		case Numeral, Word:
			value = p.next().Text
		default:
			p.wanted("the value of " + key)
		}
		if _, twice := into[key]; twice && p.err == nil {
			p.fail("the option " + key + " is given twice")
			p.err.At = at.Start
		}
		into[key] = value
	})
}

func (p *commandParser) command() Command {
	word := strings.ToUpper(p.next().Text)
	switch word {
	case "CREATE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "USE":
		if p.peek().Is("CATALOG") {
			p.unsupported("USE CATALOG: the warehouse that was opened is the only catalog")
		}
		if p.ahead(1).Text != "" {
			p.oneOf("DATABASE", "SCHEMA")
		}
		return Use{p.name()}
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		if p.ahead(1).Text != "" {
			p.take("TABLE")
		}
		p.oneOf("EXTENDED")
		return Describe{p.path()}
	case "INSERT":
		return p.insert()
	}
	p.at--
	if word == "" {
		p.fail("an empty statement")
	} else {
		p.unsupported("the statement " + word)
	}
	return nil
}

func (p *commandParser) drop() Command {
	switch p.oneOf("DATABASE", "SCHEMA", "TABLE") {
	case "":
		p.unsupported("DROP " + strings.ToUpper(p.peek().Text))
		return nil
	case "TABLE":
		exists := p.take("IF", "EXISTS")
		d := DropTable{p.path(), exists}
		p.oneOf("PURGE")
		return d
	}
	exists := p.take("IF", "EXISTS")
	d := DropDatabase{Name: p.name(), IfExists: exists}
	d.Cascade = p.oneOf("CASCADE", "RESTRICT") == "CASCADE"
	return d
}

func (p *commandParser) alter() Command {
	if !p.take("TABLE") {
		p.unsupported("ALTER " + strings.ToUpper(p.peek().Text))
		return nil
	}
	name := p.path()
	switch {
	case p.take("SET"):
		p.oneOf("TBLPROPERTIES", "OPTIONS")
		c := SetOptions{name, map[string]string{}}
		p.options(c.Options)
		return c
	case p.take("RESET"), p.take("UNSET", "TBLPROPERTIES"), p.take("UNSET"):
		c := ResetOptions{Name: name}
		p.list(func() { c.Keys = append(c.Keys, p.key()) })
		return c
	case p.take("RENAME", "TO"):
		return RenameTable{name, p.path()}
	}
	p.unsupported("ALTER TABLE … " + strings.ToUpper(p.peek().Text) + " in SQL: `tarn table alter` adds, renames and drops columns; SET, RESET and RENAME TO work here")
	return nil
}

func (p *commandParser) show() Command {
	switch p.oneOf("DATABASES", "SCHEMAS", "TABLES", "PARTITIONS", "CREATE") {
	case "DATABASES", "SCHEMAS":
		return ShowDatabases{}
	case "TABLES":
		if p.oneOf("FROM", "IN") != "" {
			return ShowTables{p.name()}
		}
		return ShowTables{}
	case "PARTITIONS":
		return ShowPartitions{p.path()}
	case "CREATE":
		p.expect("TABLE")
		return ShowCreateTable{p.path()}
	}
	p.unsupported("SHOW " + strings.ToUpper(p.peek().Text))
	return nil
}

func (p *commandParser) insert() Command {
	if p.peek().Is("OVERWRITE") {
		p.unsupported("INSERT OVERWRITE")
	}
	p.expect("INTO")
	if p.ahead(1).Kind == Word || p.ahead(1).Kind == Quoted {
		p.take("TABLE")
	}
	c := Insert{NameAt: p.peek().Start, Name: p.path()}
	if p.peek().Is("PARTITION") {
		p.unsupported("INSERT INTO … PARTITION")
	}
	if p.peek().Is("(") && !p.startsQuery(1) {
		c.Columns = p.names()
	}
	if !p.startsQuery(0) && p.err == nil {
		p.wanted("VALUES or SELECT")
	}
	c.QueryAt = p.peek().Start
	return c
}

func (p *commandParser) startsQuery(n int) bool {
	for p.ahead(n).Is("(") {
		n++
	}
	for _, w := range []string{"SELECT", "WITH", "VALUES", "FROM", "TABLE"} {
		if p.ahead(n).Is(w) && !p.ahead(n+1).Is(",") && !p.ahead(n+1).Is(")") {
			return true
		}
	}
	return false
}
