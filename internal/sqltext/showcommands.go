package sqltext

import "strings"

// show reads what follows SHOW.
func (p *commandParser) show() Command {
	switch p.oneOf("DATABASES", "SCHEMAS", "NAMESPACES", "TABLES", "PARTITIONS", "CREATE", "CATALOGS", "CURRENT", "COLUMNS", "TBLPROPERTIES") {
	case "DATABASES", "SCHEMAS", "NAMESPACES":
		return ShowDatabases{p.pattern()}
	case "CATALOGS":
		return ShowCatalogs{}
	case "CURRENT":
		if p.take("CATALOG") {
			return ShowCurrent{Catalog: true}
		}
		if !p.databaseWord() {
			p.wanted("CATALOG or DATABASE")
		}
		return ShowCurrent{}
	case "TABLES":
		var c ShowTables
		if p.oneOf("FROM", "IN") != "" {
			c.Database = p.path()
		}
		c.Like = p.pattern()
		return c
	case "COLUMNS":
		if p.oneOf("FROM", "IN") == "" {
			p.wanted("FROM")
		}
		return ShowColumns{p.path()}
	case "TBLPROPERTIES":
		c := ShowOptions{Name: p.path()}
		if p.take("(") {
			c.Key = p.key()
			p.expect(")")
		}
		return c
	case "PARTITIONS":
		c := ShowPartitions{Name: p.path()}
		if p.take("PARTITION") {
			c.Only = p.partition(false)
		}
		return c
	case "CREATE":
		p.expect("TABLE")
		return ShowCreateTable{p.path()}
	}
	p.unsupported("SHOW " + strings.ToUpper(p.peek().Text))
	return nil
}

// pattern reads [[NOT] LIKE] 'pattern', nil when there is none.
func (p *commandParser) pattern() *Pattern {
	not := p.take("NOT", "LIKE")
	if !not && !p.take("LIKE") && p.peek().Kind != String {
		return nil
	}
	return &Pattern{p.stringLiteral(), not}
}

func (p *commandParser) describe() Command {
	if p.ahead(1).Text != "" {
		p.take("TABLE")
	}
	extended := p.ahead(1).Text != "" && p.oneOf("EXTENDED", "FORMATTED") != ""
	if next := p.ahead(1); (next.Kind == Word || next.Kind == Quoted) && next.Text != "" && p.databaseWord() {
		p.unsupported("DESCRIBE DATABASE")
	}
	return Describe{p.path(), extended}
}
