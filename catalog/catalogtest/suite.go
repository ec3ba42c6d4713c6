package catalogtest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Factory makes an empty catalog.
type Factory func(t *testing.T) catalog.Catalog

// Features are what an implementation may lack.
type Features struct {
	// NoRename: renaming a table is refused as Unsupported.
	NoRename bool
}

// Run runs the whole suite.
func Run(t *testing.T, open Factory, lacks Features) {
	tests := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"Databases", databases},
		{"DropDatabase", dropDatabase},
		{"DatabaseNames", databaseNames},
		{"CreateTable", createTable},
		{"CreateTableRefusesBadSpecs", badSpecs},
		{"CreateTableHasOneWinner", createRace},
		{"LoadTable", loadTable},
		{"ListTables", listTables},
		{"AlterTable", alterTable},
		{"AlterTableSideBySide", alterRace},
		{"RenameTable", renameTable},
		{"DropTable", dropTable},
		{"SystemTablesAreReadOnly", systemTables},
		{"CancelledContext", cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cat := open(t)
			t.Cleanup(func() {
				if err := cat.Close(); err != nil {
					t.Error(err)
				}
			})
			tt.run(t, &fixture{T: t, cat: cat, ctx: t.Context(), lacks: lacks})
		})
	}
}

type fixture struct {
	*testing.T
	cat   catalog.Catalog
	ctx   context.Context
	lacks Features
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wantKind(err error, kind tarnerr.Kind) {
	f.Helper()
	if err == nil {
		f.Fatalf("no error, want %v", kind)
	}
	if tarnerr.KindOf(err) != kind {
		f.Fatalf("got %v error %v, want %v", tarnerr.KindOf(err), err, kind)
	}
}

func (f *fixture) wantNames(got []string, err error, want ...string) {
	f.Helper()
	f.must(err)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		f.Fatalf("names (-want +got):\n%s", d)
	}
}

// database makes a database.
func (f *fixture) database(name string) {
	f.Helper()
	f.must(f.cat.CreateDatabase(f.ctx, name, false))
}

// table makes a table from orders.
func (f *fixture) table(name string) table.Identifier {
	f.Helper()
	id := ident(name)
	f.must(f.cat.CreateTable(f.ctx, id, orders(), false))
	return id
}

func ident(name string) table.Identifier {
	id, err := table.ParseIdentifier(name)
	if err != nil {
		panic(err)
	}
	return id
}

// orders is a key table with partitions and an option nobody knows.
func orders() schema.Spec {
	return schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "day", Type: types.MustParse("DATE NOT NULL")},
			{Name: "status", Type: types.MustParse("STRING")},
			{Name: "version", Type: types.MustParse("INT")},
		},
		PartitionKeys: []string{"day"},
		PrimaryKeys:   []string{"id", "day"},
		Options:       map[string]string{"bucket": "2", "sequence.field": "version", "owner.team": "shop"},
		Comment:       "orders of the shop",
	}
}

func databases(t *testing.T, f *fixture) {
	f.database("b")
	f.database("a")
	f.wantKind(f.cat.CreateDatabase(f.ctx, "a", false), tarnerr.AlreadyExists)
	f.must(f.cat.CreateDatabase(f.ctx, "a", true))
	got, err := f.cat.ListDatabases(f.ctx)
	f.wantNames(got, err, "a", "b")
}

func dropDatabase(t *testing.T, f *fixture) {
	f.database("a")
	f.database("b")
	f.table("a.t")
	f.wantKind(f.cat.DropDatabase(f.ctx, "a", false, false), tarnerr.Invalid)
	f.must(f.cat.DropDatabase(f.ctx, "b", false, false))
	f.must(f.cat.DropDatabase(f.ctx, "a", false, true))
	f.wantKind(f.cat.DropDatabase(f.ctx, "a", false, true), tarnerr.NotFound)
	f.must(f.cat.DropDatabase(f.ctx, "a", true, true))
	f.database("a") // what was below it is gone
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err)
}

func databaseNames(t *testing.T, f *fixture) {
	f.database("keep")
	for _, name := range []string{"", " ", ".", "..", "a/b", `a\b`, "a..b", "../keep", "a.b", "a$b", "a\nb", "a\x00b", "sys"} {
		f.wantKind(f.cat.CreateDatabase(f.ctx, name, true), tarnerr.Invalid)
		f.wantKind(f.cat.DropDatabase(f.ctx, name, true, true), tarnerr.Invalid)
		if name == "sys" {
			continue // there, for reading
		}
		_, err := f.cat.ListTables(f.ctx, name)
		f.wantKind(err, tarnerr.Invalid)
		_, err = f.cat.LoadTable(f.ctx, table.Identifier{Database: name, Table: "t"})
		f.wantKind(err, tarnerr.Invalid)
		_, err = f.cat.LoadTable(f.ctx, table.Identifier{Database: "keep", Table: name})
		f.wantKind(err, tarnerr.Invalid)
		f.wantKind(f.cat.CreateTable(f.ctx, table.Identifier{Database: "keep", Table: name}, orders(), false), tarnerr.Invalid)
		f.wantKind(f.cat.DropTable(f.ctx, table.Identifier{Database: "keep", Table: name}, true), tarnerr.Invalid)
	}
	got, err := f.cat.ListDatabases(f.ctx)
	f.wantNames(got, err, "keep")
}

func cancelled(t *testing.T, f *fixture) {
	f.database("a")
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.cat.ListDatabases(ctx)
	f.wantKind(err, tarnerr.Unavailable)
	f.wantKind(f.cat.CreateTable(ctx, ident("a.t"), orders(), false), tarnerr.Unavailable)
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err)
}
