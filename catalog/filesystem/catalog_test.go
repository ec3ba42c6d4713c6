package filesystem_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/catalog/catalogtest"
	"github.com/tarnlake/tarn/catalog/filesystem"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func open(t *testing.T, fio fileio.FileIO, warehouse string) catalog.Catalog {
	t.Helper()
	cat, err := filesystem.New(warehouse, paimon.Components{
		FileIO: fio, Env: env.Real(), Alloc: memory.DefaultAllocator, Budget: budget.New(64 << 20), Workers: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestContract(t *testing.T) {
	t.Run("local", func(t *testing.T) {
		catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
			dir, err := fileio.LocalPath(filepath.Join(t.TempDir(), "new", "lake"))
			if err != nil {
				t.Fatal(err)
			}
			return open(t, local.New(local.Options{}), dir)
		}, catalogtest.Features{})
	})
	t.Run("posix", func(t *testing.T) {
		catalogtest.Run(t, func(t *testing.T) catalog.Catalog { return open(t, mem.New(mem.Posix), "/w") }, catalogtest.Features{})
	})
	t.Run("object-store", func(t *testing.T) {
		catalogtest.Run(t, func(t *testing.T) catalog.Catalog { return open(t, mem.New(mem.ObjectStore), "/w") }, catalogtest.Features{NoRename: true})
	})
}

func spec() schema.Spec {
	return schema.Spec{Fields: []types.Field{{Name: "a", Type: types.MustParse("INT")}}}
}

var id = table.Identifier{Database: "db", Table: "t"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind tarnerr.Kind, words ...string) {
	t.Helper()
	if err == nil || tarnerr.KindOf(err) != kind {
		t.Errorf("got %v, want %v", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
}

func TestNoConditionalCreate(t *testing.T) {
	cat := open(t, mem.New(mem.NoConditional), "/w")
	must(t, cat.CreateDatabase(t.Context(), "db", false))
	wantKind(t, cat.CreateTable(t.Context(), id, spec(), false), tarnerr.Unsupported, "conditional create")
}

func TestMissingWarehouseIsSaid(t *testing.T) {
	ctx := t.Context()
	cat := open(t, mem.New(mem.Posix), "/nowhere")
	_, err := cat.ListDatabases(ctx)
	wantKind(t, err, tarnerr.NotFound, "no such warehouse", "mem:/nowhere")
	_, err = cat.LoadTable(ctx, id)
	wantKind(t, err, tarnerr.NotFound, "no such warehouse")
	wantKind(t, cat.CreateTable(ctx, id, spec(), false), tarnerr.NotFound, "no such warehouse")
	must(t, cat.CreateDatabase(ctx, "db", false)) // makes it
	_, err = cat.LoadTable(ctx, id)
	wantKind(t, err, tarnerr.NotFound, "no such table", "table=db.t")
}

// What Java and people leave in a warehouse is no database and no table.
func TestStrangersAreNotListed(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	cat := open(t, fs, "/w")
	must(t, cat.CreateDatabase(ctx, "db", false))
	must(t, cat.CreateTable(ctx, id, spec(), false))
	for _, p := range []string{
		"/w/notes.db", "/w/plain/x", "/w/.db/t/schema/schema-0", "/w/db.db/readme.txt", "/w/db.db/empty/x",
		"/w/db.db/tmp/schema/.schema-0.b2c.tmp", "/w/db.db/odd/schema/schema-x",
	} {
		fs.Put(p, []byte("x"))
	}
	// The first schema of an old table may be gone.
	must(t, cat.CreateTable(ctx, table.Identifier{Database: "db", Table: "old"}, spec(), false))
	must(t, cat.AlterTable(ctx, table.Identifier{Database: "db", Table: "old"}, schema.SetOption{Key: "k", Value: "v"}))
	fs.Remove("/w/db.db/old/schema/schema-0")
	dbs, err := cat.ListDatabases(ctx)
	must(t, err)
	tables, err := cat.ListTables(ctx, "db")
	must(t, err)
	if strings.Join(dbs, " ") != "db" || strings.Join(tables, " ") != "old t" {
		t.Errorf("databases %v, tables %v", dbs, tables)
	}
}

func TestRemainsOfADroppedTable(t *testing.T) {
	ctx := t.Context()
	fs := mem.New(mem.Posix)
	cat := open(t, fs, "/w")
	must(t, cat.CreateDatabase(ctx, "db", false))
	fs.Put("/w/db.db/t/snapshot/snapshot-1", []byte("{}"))
	wantKind(t, cat.CreateTable(ctx, id, spec(), false), tarnerr.AlreadyExists, "lost its schema")
}

func TestOptionsOfPlaceAreRefused(t *testing.T) {
	ctx := t.Context()
	cat := open(t, mem.New(mem.Posix), "/w")
	must(t, cat.CreateDatabase(ctx, "db", false))
	for key, value := range map[string]string{"path": "/elsewhere", "auto-create": "true"} {
		s := spec()
		s.Options = map[string]string{key: value}
		wantKind(t, cat.CreateTable(ctx, id, s, false), tarnerr.Invalid, key)
	}
}

// A table whose option this version would have to know to read it right is
// refused by name; its system tables, and mending the option, are not.
func TestRefusesReadsByOption(t *testing.T) {
	ctx := t.Context()
	cat := open(t, mem.New(mem.Posix), "/w")
	must(t, cat.CreateDatabase(ctx, "db", false))
	s := schema.Spec{
		Fields: []types.Field{{Name: "a", Type: types.MustParse("INT NOT NULL")}, {Name: "b", Type: types.MustParse("INT")}}, PrimaryKeys: []string{"a"},
		Options: map[string]string{"bucket": "1", "key-value.sequence_number.enabled": "true"},
	}
	must(t, cat.CreateTable(ctx, id, s, false))
	_, err := cat.LoadTable(ctx, id)
	wantKind(t, err, tarnerr.Unsupported, "key-value.sequence_number.enabled", "true", "db.t")
	sys := id
	sys.System = "options"
	_, err = cat.LoadTable(ctx, sys)
	must(t, err)
	must(t, cat.DropTable(ctx, id, false))
}

// A drop that fails at any call leaves a table that can be dropped again, or none.
func TestDropFailsHalfway(t *testing.T) {
	base := mem.New(mem.Posix)
	cat := open(t, base, "/w")
	must(t, cat.CreateDatabase(t.Context(), "db", false))
	must(t, cat.CreateTable(t.Context(), id, spec(), false))
	base.Put("/w/db.db/t/snapshot/snapshot-1", []byte("{}"))
	base.Put("/w/db.db/t/bucket-0/data-1.parquet", []byte("x"))
	faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
		fs := base.Clone()
		faulty := faultio.New(fs, plan)
		err := open(t, faulty, "/w").DropTable(t.Context(), id, false)
		if err == nil && faulty.Injected() > 0 {
			t.Error("the fault went unnoticed")
		}
		if err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous {
			t.Errorf("a storage error of unknown effect came through: %v", err)
		}
		clean := open(t, fs, "/w")
		must(t, clean.DropTable(t.Context(), id, true))
		must(t, clean.CreateTable(t.Context(), id, spec(), false))
		tbl, err := clean.LoadTable(t.Context(), id)
		must(t, err)
		for s, err := range tbl.Snapshots(t.Context()) {
			t.Fatalf("the new table has an old snapshot: %+v, %v", s, err)
		}
		return faulty.Count()
	})
}

// Of CREATE and ALTER, a fault leaves the old or the new schema.
func TestCreateAndAlterFailAtEveryCall(t *testing.T) {
	base := mem.New(mem.Posix)
	must(t, open(t, base, "/w").CreateDatabase(t.Context(), "db", false))
	faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
		fs := base.Clone()
		faulty := faultio.New(fs, plan)
		cat := open(t, faulty, "/w")
		created := cat.CreateTable(t.Context(), id, spec(), false)
		altered := created
		if created == nil {
			altered = cat.AlterTable(t.Context(), id, schema.SetOption{Key: "k", Value: "v"})
		}
		tbl, err := open(t, fs, "/w").LoadTable(t.Context(), id)
		switch {
		case altered == nil && (err != nil || tbl.Schema().Options["k"] != "v"):
			t.Errorf("altered, but %v", err)
		case created == nil && err != nil:
			t.Errorf("created, but %v", err)
		case created != nil && tarnerr.KindOf(created) != tarnerr.CommitStateUnknown && err == nil:
			t.Errorf("not created (%v), but there", created)
		}
		return faulty.Count()
	})
}

// A rename ends with the table under one name, and its error says under which.
func TestRenameFailsAtEveryCall(t *testing.T) {
	base := mem.New(mem.Posix)
	must(t, open(t, base, "/w").CreateDatabase(t.Context(), "db", false))
	must(t, open(t, base, "/w").CreateTable(t.Context(), id, spec(), false))
	to := table.Identifier{Database: "db", Table: "u"}
	faultio.Sweep(t, []faultio.When{faultio.Before, faultio.After}, func(t *testing.T, plan faultio.Plan) int {
		fs := base.Clone()
		faulty := faultio.New(fs, plan)
		err := open(t, faulty, "/w").RenameTable(t.Context(), id, to)
		want := "u"
		if err != nil {
			want = "t"
			if k := tarnerr.KindOf(err); k == tarnerr.Ambiguous || k == tarnerr.CommitStateUnknown {
				t.Errorf("could have been resolved: %v", err)
			}
		}
		got, err := open(t, fs, "/w").ListTables(t.Context(), "db")
		must(t, err)
		if len(got) != 1 || got[0] != want {
			t.Errorf("tables %v, want %s", got, want)
		}
		return faulty.Count()
	})
}

// Loading a table is what every statement does first.
func TestCostOfLoading(t *testing.T) {
	c := layer.Count(mem.New(mem.Posix))
	cat := open(t, c, "/w")
	must(t, cat.CreateDatabase(t.Context(), "db", false))
	must(t, cat.CreateTable(t.Context(), id, spec(), false))
	c.Reset()
	_, err := cat.LoadTable(t.Context(), id)
	must(t, err)
	if got := c.String(); got != "open=1 list=1 read=1" {
		t.Errorf("loading costs %s", got)
	}
}
