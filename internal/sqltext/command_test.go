package sqltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

func TestCreateTable(t *testing.T) {
	text := func(s string) *string { return &s }
	col := func(id int, name, typ string, comment, def *string) types.Field {
		return types.Field{ID: id, Name: name, Type: types.MustParse(typ), Description: comment, Default: def}
	}
	for _, c := range []struct {
		sql  string
		want CreateTable
	}{
		{
			"CREATE TABLE IF NOT EXISTS shop.`my orders` (\n  id BIGINT NOT NULL COMMENT 'it''s the key', -- key\n  dt STRING DEFAULT 'x' COMMENT 'day',\n  price DECIMAL(10, 2) DEFAULT -1.5,\n  `when` TIMESTAMP(3) WITH LOCAL TIME ZONE,\n  tags MAP<STRING, ARRAY<INT NOT NULL>> NOT NULL,\n  PRIMARY KEY (dt, id) NOT ENFORCED\n) COMMENT 'all of them' PARTITIONED BY (dt) WITH ('bucket' = '2', 'merge-engine' = 'deduplicate')",
			CreateTable{
				Name: []string{"shop", "my orders"}, IfNotExists: true,
				Fields: []types.Field{
					col(0, "id", "BIGINT NOT NULL", text("it's the key"), nil), col(1, "dt", "STRING", text("day"), text("x")),
					col(2, "price", "DECIMAL(10, 2)", nil, text("-1.5")), col(3, "when", "TIMESTAMP_LTZ(3)", nil, nil),
					col(4, "tags", "MAP<STRING, ARRAY<INT NOT NULL>> NOT NULL", nil, nil),
				},
				PrimaryKeys: []string{"dt", "id"}, PartitionKeys: []string{"dt"}, Comment: "all of them",
				Options: map[string]string{"bucket": "2", "merge-engine": "deduplicate"},
			},
		},
		{
			"create table t (a long primary key not enforced, s STRUCT<x: INT, `y z`: STRING>, b boolean default TRUE, n int default null) using paimon tblproperties (bucket = 4, write-buffer-size=true) comment 'c'",
			CreateTable{
				Name: []string{"t"},
				Fields: []types.Field{
					col(0, "a", "BIGINT", nil, nil), col(1, "s", "ROW<x INT, `y z` STRING>", nil, nil),
					col(2, "b", "BOOLEAN", nil, text("true")), col(3, "n", "INT", nil, nil),
				},
				PrimaryKeys: []string{"a"}, Comment: "c", Options: map[string]string{"bucket": "4", "write-buffer-size": "true"},
			},
		},
	} {
		got, err := ParseCommand(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.sql, d)
		}
	}
}

func TestCommands(t *testing.T) {
	for sql, want := range map[string]Command{
		"CREATE DATABASE IF NOT EXISTS shop":           CreateDatabase{"shop", true},
		"create schema `a b`":                          CreateDatabase{"a b", false},
		"DROP DATABASE IF EXISTS shop CASCADE":         DropDatabase{"shop", true, true},
		"DROP TABLE IF EXISTS shop.orders":             DropTable{[]string{"shop", "orders"}, true},
		"ALTER TABLE t SET ('a.b' = '1', c=2)":         SetOptions{[]string{"t"}, map[string]string{"a.b": "1", "c": "2"}},
		"ALTER TABLE t SET TBLPROPERTIES ('a' = '1')":  SetOptions{[]string{"t"}, map[string]string{"a": "1"}},
		"ALTER TABLE t RESET ('a', 'b')":               ResetOptions{[]string{"t"}, []string{"a", "b"}},
		"ALTER TABLE t UNSET TBLPROPERTIES (a.b)":      ResetOptions{[]string{"t"}, []string{"a.b"}},
		"ALTER TABLE t RENAME TO db.u":                 RenameTable{[]string{"t"}, []string{"db", "u"}},
		"USE shop":                                     Use{"shop"},
		"USE DATABASE shop":                            Use{"shop"},
		"USE database":                                 Use{"database"},
		"SHOW DATABASES":                               ShowDatabases{},
		"SHOW TABLES":                                  ShowTables{},
		"SHOW TABLES IN shop":                          ShowTables{"shop"},
		"SHOW PARTITIONS t":                            ShowPartitions{[]string{"t"}},
		"SHOW CREATE TABLE a.t":                        ShowCreateTable{[]string{"a", "t"}},
		"DESC t":                                       Describe{[]string{"t"}},
		"DESCRIBE TABLE EXTENDED t":                    Describe{[]string{"t"}},
		"INSERT INTO t VALUES (1)":                     Insert{[]string{"t"}, 12, nil, 14},
		"INSERT INTO TABLE t (a, `b`) (SELECT 1, 2)":   Insert{[]string{"t"}, 18, []string{"a", "b"}, 29},
		"INSERT INTO t (WITH x AS (SELECT 1) FROM x)":  Insert{[]string{"t"}, 12, nil, 14},
		"INSERT INTO t(\"values\", \"from\") TABLE u":  Insert{[]string{"t"}, 12, []string{"values", "from"}, 32},
		"INSERT INTO t (select, values) VALUES (1, 2)": Insert{[]string{"t"}, 12, []string{"select", "values"}, 31},
	} {
		got, err := ParseCommand(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", sql, d)
		}
	}
}

func TestCommandErrors(t *testing.T) {
	for _, c := range []struct {
		sql, at string // the text from the error on
		why     string
		feature bool
	}{
		{"CREATE TABLE t (a INT,)", ")", "expected a name, found )", false},
		{"CREATE TABLE t (a INT", "", "expected , or ), found the end", false},
		{"CREATE TABLE t (a NOPE)", "NOPE)", "NOPE", false},
		{"CREATE TABLE t (a INT, PRIMARY KEY (a), PRIMARY KEY (a))", "PRIMARY KEY (a))", "twice", false},
		{"CREATE TABLE t (a INT) WITH ('x' = '1', 'x' = '2')", "'x' = '2')", "given twice", false},
		{"CREATE TABLE t (a INT) WITH ('x')", ")", "expected =", false},
		{"CREATE TABLE t (a INT, b AS a + 1)", "AS a + 1)", "computed columns", true},
		{"CREATE TABLE t (a INT, WATERMARK FOR a AS a)", "WATERMARK FOR a AS a)", "WATERMARK", true},
		{"CREATE TABLE t (a INT DEFAULT now())", "now())", "no literal", true},
		{"CREATE TABLE t (a INT) LOCATION 'x'", "LOCATION 'x'", "LOCATION", true},
		{"CREATE TABLE t AS SELECT 1", "AS SELECT 1", "CREATE TABLE … AS", true},
		{"CREATE CATALOG c", "CATALOG c", "CREATE CATALOG", true},
		{"CREATE VIEW v AS SELECT 1", "VIEW v AS SELECT 1", "CREATE VIEW", true},
		{"ALTER TABLE t ADD COLUMN x INT", "ADD COLUMN x INT", "ALTER TABLE … ADD", true},
		{"INSERT OVERWRITE t VALUES (1)", "OVERWRITE t VALUES (1)", "INSERT OVERWRITE", true},
		{"INSERT INTO t", "", "expected VALUES or SELECT", false},
		{"UPDATE t SET a = 1", "UPDATE t SET a = 1", "the statement UPDATE", true},
		{"DROP TABLE a b", "b", "unexpected b", false},
		{"USE CATALOG c", "CATALOG c", "USE CATALOG", true},
		{"", "", "empty", false},
	} {
		_, err := ParseCommand(c.sql)
		var e *SyntaxError
		if !errors.As(err, &e) || !strings.Contains(e.Why, c.why) || e.Feature != c.feature || c.sql[e.At:] != c.at {
			t.Errorf("%s: %+v", c.sql, err)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"CREATE TABLE t (a ARRAY<INT> NOT NULL, PRIMARY KEY (a)) WITH ('a'='b')", "ALTER TABLE t SET (a-b=1)", "INSERT INTO t (a) VALUES (1)", "DROP", "SHOW CREATE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		c, err := ParseCommand(sql)
		var e *SyntaxError
		switch {
		case err == nil && c == nil:
			t.Fatal("neither a command nor an error")
		case err != nil && (!errors.As(err, &e) || e.At < 0 || e.At > len(sql)):
			t.Fatalf("error %v outside the text", err)
		}
		if i, ok := c.(Insert); ok && i.QueryAt >= len(sql) {
			t.Fatalf("query at %d", i.QueryAt)
		}
	})
}
