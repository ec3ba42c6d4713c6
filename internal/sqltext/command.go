package sqltext

import "github.com/tarnlake/tarn/types"

// Command is a statement that Tarn reads itself, as Flink and Spark users write it.
type Command interface{ isCommand() }

// Path names a table, with its database and its catalog where written.
type Path struct {
	Parts []string
	At    int // byte of the text
}

// Name is one name: of a database, a catalog or a column.
type Name struct {
	Text string
	At   int // byte of the text
}

type (
	// CreateCatalog is CREATE CATALOG [IF NOT EXISTS] name WITH ('key' = 'value').
	CreateCatalog struct {
		Name        Name
		IfNotExists bool
		Options     map[string]string
	}
	// DropCatalog is DROP CATALOG [IF EXISTS] name.
	DropCatalog struct {
		Name     Name
		IfExists bool
	}
	// CreateDatabase is CREATE DATABASE|SCHEMA|NAMESPACE [IF NOT EXISTS] name.
	CreateDatabase struct {
		Name        Path
		IfNotExists bool
	}
	// DropDatabase is DROP DATABASE|SCHEMA|NAMESPACE [IF EXISTS] name [RESTRICT|CASCADE].
	DropDatabase struct {
		Name              Path
		IfExists, Cascade bool
	}
	// CreateTable is CREATE TABLE [IF NOT EXISTS] name (columns, PRIMARY KEY (…)
	// NOT ENFORCED) and, in any order, USING paimon, COMMENT 'text', PARTITIONED BY
	// (…), WITH|TBLPROPERTIES|OPTIONS ('key' = 'value').
	CreateTable struct {
		Name          Path
		IfNotExists   bool
		Fields        []types.Field
		PrimaryKeys   []string
		PartitionKeys []string
		Comment       string
		Options       map[string]string
	}
	// DropTable is DROP TABLE [IF EXISTS] name.
	DropTable struct {
		Name     Path
		IfExists bool
	}
	// AlterTable is ALTER TABLE [IF EXISTS] name and what to change: SET, RESET,
	// UNSET, ADD, DROP, MODIFY, ALTER, CHANGE, RENAME; or COMMENT ON TABLE.
	AlterTable struct {
		Name     Path
		IfExists bool
		Changes  []TableChange
	}
	// DropPartitions is ALTER TABLE [IF EXISTS] name DROP [IF EXISTS] PARTITION (…),
	// PARTITION (…); Truncate is TRUNCATE TABLE name.
	DropPartitions struct {
		Name       Path
		IfExists   bool // of the table
		MayMiss    bool // IF EXISTS of the partitions
		Partitions [][]PartitionValue
	}
	Truncate struct{ Name Path }
	// RenameTable is ALTER TABLE [IF EXISTS] name RENAME TO name.
	RenameTable struct {
		From, To Path
		IfExists bool
	}
	// Use is USE [DATABASE|SCHEMA|NAMESPACE] database, or catalog.database.
	Use struct{ Database Path }
	// UseCatalog is USE CATALOG name.
	UseCatalog struct{ Name Name }
	// ShowCatalogs is SHOW CATALOGS.
	ShowCatalogs struct{}
	// ShowCurrent is SHOW CURRENT CATALOG|DATABASE.
	ShowCurrent struct{ Catalog bool }
	// ShowDatabases is SHOW DATABASES|SCHEMAS|NAMESPACES [[NOT] LIKE 'pattern'].
	ShowDatabases struct{ Like *Pattern }
	// ShowTables is SHOW TABLES [FROM|IN database] [[NOT] LIKE 'pattern']; no
	// database is the current one.
	ShowTables struct {
		Database Path
		Like     *Pattern
	}
	// ShowColumns is SHOW COLUMNS FROM|IN name.
	ShowColumns struct{ Name Path }
	// ShowOptions is SHOW TBLPROPERTIES name [('key')].
	ShowOptions struct {
		Name Path
		Key  string
	}
	// ShowPartitions is SHOW PARTITIONS name [PARTITION (column = literal, …)].
	ShowPartitions struct {
		Name Path
		Only []PartitionValue
	}
	// ShowCreateTable is SHOW CREATE TABLE name.
	ShowCreateTable struct{ Name Path }
	// Describe is DESCRIBE|DESC [TABLE] [EXTENDED|FORMATTED] name.
	Describe struct {
		Name     Path
		Extended bool
	}
	// Insert is INSERT INTO|OVERWRITE [TABLE] name [PARTITION (…)] [(columns)] query.
	Insert struct {
		Name      Path
		Overwrite bool
		Partition []PartitionValue // those given a value
		Columns   []Name           // nil = all
		QueryAt   int              // byte where the query begins
	}
)

// PartitionValue is column = literal.
type PartitionValue struct {
	Column  Name
	Value   string // the literal as written
	ValueAt int    // byte of the text
	Text    string // what it stands for
}

func (CreateCatalog) isCommand()   {}
func (DropCatalog) isCommand()     {}
func (CreateDatabase) isCommand()  {}
func (DropDatabase) isCommand()    {}
func (CreateTable) isCommand()     {}
func (DropTable) isCommand()       {}
func (AlterTable) isCommand()      {}
func (DropPartitions) isCommand()  {}
func (Truncate) isCommand()        {}
func (RenameTable) isCommand()     {}
func (Use) isCommand()             {}
func (UseCatalog) isCommand()      {}
func (ShowCatalogs) isCommand()    {}
func (ShowCurrent) isCommand()     {}
func (ShowDatabases) isCommand()   {}
func (ShowTables) isCommand()      {}
func (ShowColumns) isCommand()     {}
func (ShowOptions) isCommand()     {}
func (ShowPartitions) isCommand()  {}
func (ShowCreateTable) isCommand() {}
func (Describe) isCommand()        {}
func (Insert) isCommand()          {}

// SyntaxError is what is wrong with a command, and where.
type SyntaxError struct {
	At  int // byte of the text
	Why string
	// Feature is set when the text is sound but this version cannot do it.
	Feature bool
}

// Error implements error.
func (e *SyntaxError) Error() string { return e.Why }

// ParseCommand reads a statement of Tarn's own. Its error is a *SyntaxError.
func ParseCommand(text string) (Command, error) {
	p := &commandParser{text: text, tokens: Lex(text)}
	c := p.command()
	if _, isInsert := c.(Insert); !isInsert && p.err == nil && p.at < len(p.tokens) {
		p.fail("unexpected " + p.peek().Text)
	}
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}
