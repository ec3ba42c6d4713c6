package sqltext

import (
	"slices"
	"strings"
)

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

func (p *commandParser) failAt(at int, why string) {
	if p.err == nil {
		p.fail(why)
		p.err.At = at
	}
}

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

// path is a name with what it belongs to.
func (p *commandParser) path() Path {
	out := Path{At: p.peek().Start}
	out.Parts = append(out.Parts, p.name())
	for p.take(".") {
		out.Parts = append(out.Parts, p.name())
	}
	return out
}

// single is a name that belongs to nothing.
func (p *commandParser) single() Name {
	at := p.peek().Start
	return Name{p.name(), at}
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

// options reads ('key' = 'value', …).
func (p *commandParser) options(into map[string]string) {
	p.list(func() {
		at := p.peek().Start
		key, value := p.option()
		if _, twice := into[key]; twice {
			p.failAt(at, "the option "+key+" is given twice")
		}
		into[key] = value
	})
}

// option reads 'key' = 'value'; the value may also be a number or a word.
func (p *commandParser) option() (key, value string) {
	key = p.key()
	if !p.take("=") && p.peek().Kind != String { // Spark does without
		p.wanted("=")
	}
	switch t := p.peek(); t.Kind {
	case String:
		value = p.next().Name()
	case Numeral, Word:
		value = p.next().Text
	default:
		p.wanted("the value of " + key)
	}
	return key, value
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
	case "TRUNCATE":
		p.expect("TABLE")
		return Truncate{p.path()}
	case "COMMENT":
		return p.commentOn()
	case "USE":
		if p.ahead(1).Text != "" {
			if p.take("CATALOG") {
				return UseCatalog{p.single()}
			}
			p.databaseWord()
		}
		return Use{p.path()}
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		return p.describe()
	case "INSERT":
		return p.insert()
	}
	p.at--
	switch {
	case word == "":
		p.fail("an empty statement")
	case slices.Contains(otherStatements, word):
		p.unsupported("the statement " + word)
	default:
		p.fail("no statement begins with " + p.peek().Text)
	}
	return nil
}

// otherStatements begin with words that mean something elsewhere.
var otherStatements = []string{
	"ADD", "ANALYZE", "ATTACH", "BEGIN", "CACHE", "CALL", "CHECKPOINT", "CLEAR", "COMMIT", "COMPILE", "COPY", "DEALLOCATE", "DELETE", "DETACH",
	"EXECUTE", "EXPORT", "GRANT", "IMPORT", "INSTALL", "KILL", "LIST", "LOAD", "LOCK", "MERGE", "MSCK", "PIVOT", "PRAGMA", "PREPARE", "REFRESH",
	"REPAIR", "REPLACE", "RESET", "REVOKE", "ROLLBACK", "SET", "START", "STOP", "SUMMARIZE", "UNCACHE", "UNLOAD", "UNLOCK", "UNPIVOT",
	"UPDATE", "UPSERT", "VACUUM",
}

// databaseWord takes one of the words for a database.
func (p *commandParser) databaseWord() bool {
	return p.oneOf("DATABASE", "SCHEMA", "NAMESPACE") != ""
}

func (p *commandParser) drop() Command {
	switch {
	case p.take("TABLE"):
		exists := p.take("IF", "EXISTS")
		d := DropTable{p.path(), exists}
		p.oneOf("PURGE")
		return d
	case p.take("CATALOG"):
		exists := p.take("IF", "EXISTS")
		return DropCatalog{p.single(), exists}
	case p.databaseWord():
		exists := p.take("IF", "EXISTS")
		d := DropDatabase{Name: p.path(), IfExists: exists}
		d.Cascade = p.oneOf("CASCADE", "RESTRICT") == "CASCADE"
		return d
	}
	p.unsupported("DROP " + strings.ToUpper(p.peek().Text))
	return nil
}

func (p *commandParser) insert() Command {
	overwrite := p.take("OVERWRITE")
	if !overwrite {
		p.expect("INTO")
	} else if p.ahead(1).Kind == Word || p.ahead(1).Kind == Quoted {
		p.take("INTO")
	}
	if p.ahead(1).Kind == Word || p.ahead(1).Kind == Quoted {
		p.take("TABLE")
	}
	c := Insert{Name: p.path(), Overwrite: overwrite}
	if p.take("PARTITION") {
		c.Partition = p.partition(true)
	}
	if p.peek().Is("(") && !p.startsQuery(1) {
		p.list(func() { c.Columns = append(c.Columns, p.single()) })
	}
	if !p.startsQuery(0) && p.err == nil {
		p.wanted("VALUES or SELECT")
	}
	c.QueryAt = p.peek().Start
	return c
}

// partition reads (column = literal, …). With bare, a column may stand without a
// value; its rows bring it, and it is left out.
func (p *commandParser) partition(bare bool) []PartitionValue {
	var out []PartitionValue
	p.list(func() {
		v := PartitionValue{Column: p.single()}
		if bare && (p.peek().Is(",") || p.peek().Is(")")) {
			return
		}
		p.expect("=")
		first := p.peek()
		if first.Is("NULL") {
			p.unsupported("a partition given as NULL")
		}
		text := p.literal("a partition's value")
		if p.err != nil {
			return
		}
		v.Text, v.ValueAt, v.Value = *text, first.Start, p.text[first.Start:p.tokens[p.at-1].End()]
		out = append(out, v)
	})
	return out
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
