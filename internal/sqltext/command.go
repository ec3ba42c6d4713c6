package sqltext

import "github.com/tarnlake/tarn/types"

// Command is a statement that Tarn reads itself, as Flink and Spark users write it.
type Command interface{ isCommand() }

type (
	// CreateDatabase is CREATE DATABASE|SCHEMA [IF NOT EXISTS] name.
	CreateDatabase struct {
		Name        string
		IfNotExists bool
	}
	// DropDatabase is DROP DATABASE|SCHEMA [IF EXISTS] name [RESTRICT|CASCADE].
	DropDatabase struct {
		Name              string
		IfExists, Cascade bool
	}
	// CreateTable is CREATE TABLE [IF NOT EXISTS] name (columns, PRIMARY KEY (…)
	// NOT ENFORCED) and, in any order, USING paimon, COMMENT 'text', PARTITIONED BY
	// (…), WITH|TBLPROPERTIES|OPTIONS ('key' = 'value').
	CreateTable struct {
		Name          []string
		IfNotExists   bool
		Fields        []types.Field
		PrimaryKeys   []string
		PartitionKeys []string
		Comment       string
		Options       map[string]string
	}
	// DropTable is DROP TABLE [IF EXISTS] name.
	DropTable struct {
		Name     []string
		IfExists bool
	}
	// SetOptions is ALTER TABLE name SET (…) or SET TBLPROPERTIES (…).
	SetOptions struct {
		Name    []string
		Options map[string]string
	}
	// ResetOptions is ALTER TABLE name RESET (…) or UNSET TBLPROPERTIES (…).
	ResetOptions struct {
		Name []string
		Keys []string
	}
	// RenameTable is ALTER TABLE name RENAME TO name.
	RenameTable struct{ From, To []string }
	// Use is USE [DATABASE] name.
	Use struct{ Database string }
	// ShowDatabases is SHOW DATABASES|SCHEMAS.
	ShowDatabases struct{}
	// ShowTables is SHOW TABLES [FROM|IN database]; "" is the current one.
	ShowTables struct{ Database string }
	// ShowPartitions is SHOW PARTITIONS name.
	ShowPartitions struct{ Name []string }
	// ShowCreateTable is SHOW CREATE TABLE name.
	ShowCreateTable struct{ Name []string }
	// Describe is DESCRIBE|DESC [TABLE] name.
	Describe struct{ Name []string }
	// Insert is INSERT INTO [TABLE] name [(columns)] query.
	Insert struct {
		Name    []string
		NameAt  int      // byte of the name
		Columns []string // nil = all
		QueryAt int      // byte where the query begins
	}
)

func (CreateDatabase) isCommand()  {}
func (DropDatabase) isCommand()    {}
func (CreateTable) isCommand()     {}
func (DropTable) isCommand()       {}
func (SetOptions) isCommand()      {}
func (ResetOptions) isCommand()    {}
func (RenameTable) isCommand()     {}
func (Use) isCommand()             {}
func (ShowDatabases) isCommand()   {}
func (ShowTables) isCommand()      {}
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
