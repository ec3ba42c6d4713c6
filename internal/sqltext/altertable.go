package sqltext

import (
	"strings"

	"github.com/tarnlake/tarn/types"
)

// TableChange is one change of ALTER TABLE, of a column or of the table itself.
type TableChange struct {
	Do     ChangeKind
	Column []string // the column; inside rows more than one name
	At     int      // byte of the column or of the option

	Key, Value string // SetOption, ResetOption

	To string // RenameColumn
	// Type is the type of a column added or modified, nil to leave it.
	Type *types.Type
	// Declares tells that Type also says whether nulls may be, as in Flink's
	// MODIFY; else only an explicit NOT NULL does.
	Declares bool
	Nullable *bool
	// Comment is the new comment of the column or of the table.
	Comment *string
	// Default is the new default; NoDefault takes it away.
	Default   *string
	NoDefault bool
	First     bool
	After     string // column to stand after
	// Lenient makes no error of a column that is, or is not, there already.
	Lenient bool
}

// ChangeKind is what a TableChange does.
type ChangeKind string

const (
	SetOption    ChangeKind = "set option"
	ResetOption  ChangeKind = "reset option"
	SetComment   ChangeKind = "set comment"
	AddColumn    ChangeKind = "add column"
	DropColumn   ChangeKind = "drop column"
	RenameColumn ChangeKind = "rename column"
	ModifyColumn ChangeKind = "modify column"
)

// alter reads what follows ALTER.
func (p *commandParser) alter() Command {
	if !p.take("TABLE") {
		p.unsupported("ALTER " + strings.ToUpper(p.peek().Text))
		return nil
	}
	exists := p.take("IF", "EXISTS")
	c := AlterTable{Name: p.path(), IfExists: exists}
	switch {
	case p.take("RENAME", "TO"):
		return RenameTable{c.Name, p.path(), exists}
	case p.take("SET"):
		if p.peek().Is("LOCATION") {
			p.unsupported("ALTER TABLE … SET LOCATION")
		}
		p.oneOf("TBLPROPERTIES", "OPTIONS")
		p.setOptions(&c)
	case p.take("RESET"), p.take("UNSET"):
		if p.take("TBLPROPERTIES") {
			p.take("IF", "EXISTS")
		}
		p.list(func() {
			at := p.peek().Start
			c.Changes = append(c.Changes, TableChange{Do: ResetOption, At: at, Key: p.key()})
		})
	case p.take("ADD"):
		p.addColumns(&c)
	case p.take("DROP"):
		if p.startsPartition() {
			return p.dropPartitions(c)
		}
		p.dropColumns(&c)
	case p.take("RENAME"):
		p.renameColumn(&c)
	case p.take("MODIFY"):
		p.modifyColumns(&c)
	case p.take("ALTER"):
		p.oneOf("COLUMN")
		p.alterColumn(&c)
	case p.take("CHANGE"):
		p.oneOf("COLUMN")
		p.changeColumn(&c)
	case p.peek().Text == "":
		p.wanted("what to change")
	default:
		p.unsupported("ALTER TABLE … " + strings.ToUpper(p.peek().Text))
	}
	return c
}

func (p *commandParser) setOptions(c *AlterTable) {
	seen := map[string]bool{}
	p.list(func() {
		at := p.peek().Start
		key, value := p.option()
		if seen[key] {
			p.failAt(at, "the option "+key+" is given twice")
		}
		seen[key] = true
		c.Changes = append(c.Changes, TableChange{Do: SetOption, At: at, Key: key, Value: value})
	})
}

// addColumns reads [COLUMN|COLUMNS] [IF NOT EXISTS] column, or (column, …).
func (p *commandParser) addColumns(c *AlterTable) {
	p.columnWord()
	lenient := p.take("IF", "NOT", "EXISTS")
	p.oneOrList(func() {
		p.refusePart("ADD")
		t := TableChange{Do: AddColumn, At: p.peek().Start, Lenient: lenient}
		t.Column = p.path().Parts
		p.columnDetails(&t)
		if t.Default != nil {
			p.unsupported("ADD … DEFAULT, which rows already there would not have: add the column, then ALTER COLUMN … SET DEFAULT")
		}
		c.Changes = append(c.Changes, t)
	})
}

// columnWord takes COLUMN or COLUMNS where it is no column's name itself.
func (p *commandParser) columnWord() {
	if next := p.ahead(1); next.Kind == Word || next.Kind == Quoted || next.Is("(") {
		p.oneOf("COLUMN", "COLUMNS")
	}
}

// refusePart refuses parts of a table that are no columns.
func (p *commandParser) refusePart(verb string) {
	t, next := p.peek(), p.ahead(1)
	named := next.Kind == Word && next.Text != "" || next.Kind == Quoted
	switch {
	case t.Is("PRIMARY") && next.Is("KEY"), t.Is("FOREIGN") && next.Is("KEY"), t.Is("UNIQUE") && next.Is("("),
		t.Is("PARTITION") && next.Is("("), t.Is("CONSTRAINT") && named && verb != "MODIFY",
		t.Is("WATERMARK") && (next.Is("FOR") || next.Text == ""):
		p.unsupported("ALTER TABLE … " + verb + " " + strings.ToUpper(t.Text))
	}
}

// oneOrList reads an item, or several in parentheses.
func (p *commandParser) oneOrList(item func()) {
	if p.peek().Is("(") {
		p.list(item)
		return
	}
	item()
	for p.err == nil && p.take(",") {
		item()
	}
}

// columnDetails reads a column's type and what follows it.
func (p *commandParser) columnDetails(t *TableChange) {
	if p.peek().Is("AS") || p.peek().Is("METADATA") {
		p.unsupported("computed and metadata columns")
	}
	typ := p.columnType()
	t.Type = &typ
	for p.err == nil {
		switch {
		case p.take("NOT", "NULL"):
			t.setNullable(false)
		case p.take("NULL"):
			t.setNullable(true)
		case p.take("COMMENT"):
			text := p.stringLiteral()
			t.Comment = &text
		case p.take("DEFAULT"):
			t.Default = p.defaultValue()
		case p.take("FIRST"):
			t.First = true
		case p.take("AFTER"):
			t.After = p.name()
		default:
			return
		}
	}
}

func (t *TableChange) setNullable(nullable bool) {
	t.Nullable = &nullable
	if t.Type != nil {
		t.Type.Nullable = nullable
	}
}

// startsPartition reports [IF EXISTS] PARTITION (.
func (p *commandParser) startsPartition() bool {
	n := 0
	if p.peek().Is("IF") && p.ahead(1).Is("EXISTS") {
		n = 2
	}
	return p.ahead(n).Is("PARTITION") && p.ahead(n+1).Is("(")
}

func (p *commandParser) dropPartitions(c AlterTable) Command {
	d := DropPartitions{Name: c.Name, IfExists: c.IfExists}
	d.MayMiss = p.take("IF", "EXISTS")
	for {
		p.expect("PARTITION")
		d.Partitions = append(d.Partitions, p.partition(false))
		if !p.take(",") {
			return d
		}
	}
}

func (p *commandParser) dropColumns(c *AlterTable) {
	p.columnWord()
	lenient := p.take("IF", "EXISTS")
	p.oneOrList(func() {
		p.refusePart("DROP")
		at := p.peek().Start
		c.Changes = append(c.Changes, TableChange{Do: DropColumn, At: at, Column: p.path().Parts, Lenient: lenient})
	})
}

func (p *commandParser) renameColumn(c *AlterTable) {
	if p.peek().Is("PARTITION") || p.peek().Is("CONSTRAINT") {
		p.unsupported("ALTER TABLE … RENAME " + strings.ToUpper(p.peek().Text))
	}
	if !p.ahead(1).Is("TO") {
		p.oneOf("COLUMN")
	}
	t := TableChange{Do: RenameColumn, At: p.peek().Start}
	t.Column = p.path().Parts
	p.expect("TO")
	t.To = p.name()
	c.Changes = append(c.Changes, t)
}

// modifyColumns reads Flink's MODIFY column, or (column, …): the column's new
// type, and its comment and place where given.
func (p *commandParser) modifyColumns(c *AlterTable) {
	p.columnWord()
	p.oneOrList(func() {
		p.refusePart("MODIFY")
		t := TableChange{Do: ModifyColumn, At: p.peek().Start, Declares: true}
		t.Column = p.path().Parts
		p.columnDetails(&t)
		c.Changes = append(c.Changes, t)
	})
}

// alterColumn reads Spark's ALTER COLUMN column and one or more of TYPE type,
// COMMENT 'text', FIRST, AFTER column, SET|DROP NOT NULL, SET DEFAULT literal,
// DROP DEFAULT.
func (p *commandParser) alterColumn(c *AlterTable) {
	t := TableChange{Do: ModifyColumn, At: p.peek().Start}
	t.Column = p.path().Parts
	any := false
	for ; p.err == nil && p.at < len(p.tokens); any = true {
		switch {
		case p.take("TYPE"), p.take("SET", "DATA", "TYPE"):
			typ := p.columnType()
			t.Type = &typ
		case p.take("COMMENT"):
			text := p.stringLiteral()
			t.Comment = &text
		case p.take("FIRST"):
			t.First = true
		case p.take("AFTER"):
			t.After = p.name()
		case p.take("SET", "NOT", "NULL"):
			t.setNullable(false)
		case p.take("DROP", "NOT", "NULL"):
			t.setNullable(true)
		case p.take("SET", "DEFAULT"):
			t.Default = p.defaultValue()
			t.NoDefault = t.Default == nil
		case p.take("DROP", "DEFAULT"):
			t.NoDefault = true
		default:
			p.wanted("TYPE, COMMENT, FIRST, AFTER, SET or DROP")
		}
	}
	if !any {
		p.wanted("TYPE, COMMENT, FIRST, AFTER, SET or DROP")
	}
	c.Changes = append(c.Changes, t)
}

// changeColumn reads Hive's CHANGE old new type [COMMENT 'text'] [FIRST|AFTER
// column], and Spark's CHANGE column with what ALTER COLUMN takes.
func (p *commandParser) changeColumn(c *AlterTable) {
	at := p.at
	old := p.path()
	if p.startsAlteration() {
		p.at = at
		p.alterColumn(c)
		return
	}
	t := TableChange{Do: ModifyColumn, At: old.At, Column: old.Parts}
	to := p.name()
	p.columnDetails(&t)
	c.Changes = append(c.Changes, t)
	if to != old.Parts[len(old.Parts)-1] {
		c.Changes = append(c.Changes, TableChange{Do: RenameColumn, At: old.At, Column: old.Parts, To: to})
	}
}

// startsAlteration reports what stands in CHANGE column where a new name does not.
func (p *commandParser) startsAlteration() bool {
	t, next := p.peek(), p.ahead(1)
	switch {
	case t.Is("COMMENT"):
		return next.Kind == String
	case t.Is("FIRST"):
		return next.Text == ""
	}
	return t.Is("TYPE") || t.Is("AFTER") || t.Is("SET") || t.Is("DROP")
}

// commentOn reads COMMENT ON TABLE name IS 'text'.
func (p *commandParser) commentOn() Command {
	p.expect("ON")
	if !p.take("TABLE") {
		p.unsupported("COMMENT ON " + strings.ToUpper(p.peek().Text))
		return nil
	}
	c := AlterTable{Name: p.path()}
	p.expect("IS")
	t := TableChange{Do: SetComment, At: p.peek().Start}
	if !p.take("NULL") {
		text := p.stringLiteral()
		t.Comment = &text
	}
	c.Changes = append(c.Changes, t)
	return c
}
