package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// statementSyntax is how the statements of `tarn sql` are written.
var statementSyntax = []struct{ name, syntax string }{
	{"SELECT", `SELECT … FROM table [AT (VERSION => snapshot | TIMESTAMP => time)] …    all of DuckDB's SELECT
"table$snapshots" and the other system tables are tables, too`},
	{"INSERT", `INSERT INTO | OVERWRITE table [PARTITION (column = literal, …)] [(column, …)] VALUES (value, …), … | query`},
	{"CREATE TABLE", `CREATE TABLE [IF NOT EXISTS] table (
  column type [NOT NULL] [DEFAULT literal] [COMMENT 'text'], …
  [, PRIMARY KEY (column, …) NOT ENFORCED]
) [COMMENT 'text'] [PARTITIONED BY (column, …)] [WITH ('option' = 'value', …)]`},
	{"CREATE DATABASE", `CREATE DATABASE [IF NOT EXISTS] database`},
	{"CREATE CATALOG", `CREATE CATALOG [IF NOT EXISTS] catalog WITH ('type' = 'paimon', 'warehouse' = 'directory or URI')`},
	{"ALTER TABLE", `ALTER TABLE table SET ('option' = 'value', …) | RESET ('option', …) | RENAME TO table
ALTER TABLE table ADD COLUMN column type [COMMENT 'text'] [FIRST | AFTER column]
ALTER TABLE table DROP COLUMN column | RENAME COLUMN column TO column
ALTER TABLE table DROP PARTITION (column = literal, …), …
ALTER TABLE table ALTER COLUMN column TYPE type | COMMENT 'text' | FIRST | AFTER column | SET DEFAULT literal | DROP NOT NULL`},
	{"COMMENT", `COMMENT ON TABLE table IS 'text'`},
	{"DROP", `DROP TABLE [IF EXISTS] table
DROP DATABASE [IF EXISTS] database [CASCADE]
DROP CATALOG [IF EXISTS] catalog`},
	{"SHOW", `SHOW CATALOGS | DATABASES | CURRENT CATALOG | CURRENT DATABASE
SHOW TABLES [FROM database] [LIKE 'pattern']
SHOW COLUMNS FROM table
SHOW PARTITIONS table
SHOW TBLPROPERTIES table
SHOW CREATE TABLE table`},
	{"DESCRIBE", `DESCRIBE [EXTENDED] table`},
	{"TRUNCATE", `TRUNCATE TABLE table`},
	{"USE", `USE database
USE CATALOG catalog`},
	{"EXPLAIN", `EXPLAIN [ANALYZE] query`},
}

// showSyntax prints how the statements that begin with arg are written, or lists all.
func (s *sqlShell) showSyntax(_ context.Context, arg string) error {
	var b strings.Builder
	want := strings.ToUpper(strings.Join(strings.Fields(arg), " "))
	for _, st := range statementSyntax {
		switch {
		case want == "":
			b.WriteString("  " + st.name + "\n")
		case strings.HasPrefix(st.name, want):
			b.WriteString(st.syntax + "\n")
		}
	}
	if b.Len() == 0 {
		return tarnerr.New(tarnerr.Invalid, "reading command", "no such statement", "found", arg).WithHint(`\h lists them.`)
	}
	if want == "" {
		b.WriteString(`\h STATEMENT shows how one is written; docs/sql.md has all of it.` + "\n")
	}
	_, err := fmt.Fprint(s.errOut, b.String())
	return outErr(err)
}
