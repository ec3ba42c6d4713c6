package catalogtest

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func createTable(t *testing.T, f *fixture) {
	f.wantKind(f.cat.CreateTable(f.ctx, ident("a.t"), orders(), false), tarnerr.NotFound)
	f.database("a")
	spec := orders()
	f.must(f.cat.CreateTable(f.ctx, ident("a.t"), spec, false))
	if d := cmp.Diff(orders(), spec); d != "" {
		t.Errorf("CreateTable changed the caller's spec (-want +got):\n%s", d)
	}
	f.wantKind(f.cat.CreateTable(f.ctx, ident("a.t"), orders(), false), tarnerr.AlreadyExists)
	f.must(f.cat.CreateTable(f.ctx, ident("a.t"), orders(), true))
	for _, name := range []string{"a.t$branch_b", "a.t$snapshots", "sys.t"} {
		f.wantKind(f.cat.CreateTable(f.ctx, ident(name), orders(), false), tarnerr.Invalid)
	}
}

func badSpecs(t *testing.T, f *fixture) {
	f.database("a")
	for what, break_ := range map[string]func(*schema.Spec){
		"no column":          func(s *schema.Spec) { s.Fields = nil },
		"twice":              func(s *schema.Spec) { s.Fields = append(s.Fields, s.Fields[2]) },
		"key missing":        func(s *schema.Spec) { s.PrimaryKeys = []string{"none", "day"} },
		"partition missing":  func(s *schema.Spec) { s.PartitionKeys = []string{"none"} },
		"bucket":             func(s *schema.Spec) { s.Options["bucket"] = "0" },
		"bucket text":        func(s *schema.Spec) { s.Options["bucket"] = "many" },
		"sequence.field":     func(s *schema.Spec) { s.Options["sequence.field"] = "none" },
		"system column name": func(s *schema.Spec) { s.Fields[2].Name = "_SEQUENCE_NUMBER" },
	} {
		spec := orders()
		break_(&spec)
		if err := f.cat.CreateTable(f.ctx, ident("a.t"), spec, false); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err)
}

func createRace(t *testing.T, f *fixture) {
	f.database("a")
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch err := f.cat.CreateTable(f.ctx, ident("a.t"), orders(), false); {
			case err == nil:
				won.Add(1)
			case tarnerr.KindOf(err) != tarnerr.AlreadyExists:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 made the table", won.Load())
	}
}

func loadTable(t *testing.T, f *fixture) {
	_, err := f.cat.LoadTable(f.ctx, ident("a.t"))
	f.wantKind(err, tarnerr.NotFound)
	f.database("a")
	_, err = f.cat.LoadTable(f.ctx, ident("a.t"))
	f.wantKind(err, tarnerr.NotFound)
	if !strings.Contains(err.Error(), "a.t") {
		t.Errorf("the error must name the table: %v", err)
	}
	id := f.table("a.t")
	tbl, err := f.cat.LoadTable(f.ctx, id)
	f.must(err)
	s := tbl.Schema()
	if tbl.Name() != id || s.ID != 0 || s.HighestFieldID != 3 || !s.HasPrimaryKey() || s.Comment == nil || *s.Comment != "orders of the shop" {
		t.Errorf("loaded %v: %+v", tbl.Name(), s)
	}
	if d := cmp.Diff(orders().Options, s.Options); d != "" {
		t.Errorf("options (-want +got):\n%s", d)
	}
	var names []string
	for i, field := range s.Fields {
		names = append(names, field.Name)
		if field.ID != i {
			t.Errorf("column %s has id %d", field.Name, field.ID)
		}
	}
	if d := cmp.Diff([]string{"id", "day", "status", "version"}, names); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	if !strings.HasSuffix(tbl.Location(), "/a.db/t") {
		t.Errorf("location %s", tbl.Location())
	}
	_, err = tbl.Snapshot(f.ctx, 0)
	f.wantKind(err, tarnerr.NotFound)
	_, err = f.cat.LoadTable(f.ctx, ident("a.t$branch_none"))
	f.wantKind(err, tarnerr.NotFound)
}

func listTables(t *testing.T, f *fixture) {
	_, err := f.cat.ListTables(f.ctx, "a")
	f.wantKind(err, tarnerr.NotFound)
	f.database("a")
	f.database("b")
	for _, n := range []string{"a.z", "a.m", "a.A", "b.other"} {
		f.table(n)
	}
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err, "A", "m", "z")
}

func alterTable(t *testing.T, f *fixture) {
	f.wantKind(f.cat.AlterTable(f.ctx, ident("a.t"), schema.SetOption{Key: "k", Value: "v"}), tarnerr.NotFound)
	f.database("a")
	id := f.table("a.t")
	before, err := f.cat.LoadTable(f.ctx, id)
	f.must(err)
	comment := "why"
	f.must(f.cat.AlterTable(f.ctx, id,
		schema.SetOption{Key: "owner.team", Value: "billing"},
		schema.RemoveOption{Key: "sequence.field"},
		schema.AddColumn{Path: []string{"note"}, Type: types.MustParse("STRING"), Comment: &comment},
	))
	after, err := f.cat.LoadTable(f.ctx, id)
	f.must(err)
	s := after.Schema()
	want := maps.Clone(orders().Options)
	want["owner.team"] = "billing"
	delete(want, "sequence.field")
	if d := cmp.Diff(want, s.Options); d != "" || s.ID != 1 {
		t.Errorf("schema %d options (-want +got):\n%s", s.ID, d)
	}
	if n := s.Fields[len(s.Fields)-1]; n.Name != "note" || n.ID != 4 || n.Description == nil {
		t.Errorf("added column %+v", n)
	}
	if before.Schema().ID != 0 || len(before.Schema().Fields) != 4 {
		t.Error("a table is pinned to the schema it was opened with")
	}
	f.wantKind(f.cat.AlterTable(f.ctx, id, schema.SetOption{Key: "bucket", Value: "many"}), tarnerr.Invalid)
	f.wantKind(f.cat.AlterTable(f.ctx, id, schema.DropColumn{Path: []string{"none"}}), tarnerr.NotFound)
	after, err = f.cat.LoadTable(f.ctx, id)
	f.must(err)
	if after.Schema().ID != 1 {
		t.Errorf("a refused ALTER made schema %d", after.Schema().ID)
	}
	f.wantKind(f.cat.AlterTable(f.ctx, ident("a.t$snapshots"), schema.RemoveOption{Key: "k"}), tarnerr.Invalid)
}

// alterRace changes one table from several sides; no change may be lost.
func alterRace(t *testing.T, f *fixture) {
	f.database("a")
	id := f.table("a.t")
	const n = 6
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f.cat.AlterTable(f.ctx, id, schema.SetOption{Key: fmt.Sprintf("owner.%d", i), Value: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tbl, err := f.cat.LoadTable(f.ctx, id)
	f.must(err)
	for i := range n {
		if tbl.Schema().Options[fmt.Sprintf("owner.%d", i)] != "x" {
			t.Errorf("the change of %d was lost", i)
		}
	}
	if tbl.Schema().ID != n {
		t.Errorf("%d changes made schema %d", n, tbl.Schema().ID)
	}
}

func renameTable(t *testing.T, f *fixture) {
	f.database("a")
	f.database("b")
	id, taken := f.table("a.t"), f.table("a.taken")
	if f.lacks.NoRename {
		f.wantKind(f.cat.RenameTable(f.ctx, id, ident("a.u")), tarnerr.Unsupported)
		return
	}
	f.wantKind(f.cat.RenameTable(f.ctx, ident("a.none"), ident("a.u")), tarnerr.NotFound)
	f.wantKind(f.cat.RenameTable(f.ctx, id, taken), tarnerr.AlreadyExists)
	f.wantKind(f.cat.RenameTable(f.ctx, id, ident("none.u")), tarnerr.NotFound)
	f.wantKind(f.cat.RenameTable(f.ctx, id, ident("a.u$branch_x")), tarnerr.Invalid)
	f.must(f.cat.RenameTable(f.ctx, id, ident("b.u")))
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err, "taken")
	got, err = f.cat.ListTables(f.ctx, "b")
	f.wantNames(got, err, "u")
	tbl, err := f.cat.LoadTable(f.ctx, ident("b.u"))
	f.must(err)
	if len(tbl.Schema().Fields) != 4 {
		t.Errorf("renamed table has %d columns", len(tbl.Schema().Fields))
	}
}

func dropTable(t *testing.T, f *fixture) {
	f.database("a")
	id := f.table("a.t")
	f.table("a.t2")
	f.must(f.cat.DropTable(f.ctx, id, false))
	f.wantKind(f.cat.DropTable(f.ctx, id, false), tarnerr.NotFound)
	f.must(f.cat.DropTable(f.ctx, id, true))
	got, err := f.cat.ListTables(f.ctx, "a")
	f.wantNames(got, err, "t2")
	f.table("a.t") // the name is free again
	f.wantKind(f.cat.DropTable(f.ctx, ident("a.t$snapshots"), true), tarnerr.Invalid)
	f.wantKind(f.cat.DropTable(f.ctx, ident("a.t$branch_b"), true), tarnerr.Invalid)
}

func systemTables(t *testing.T, f *fixture) {
	f.database("a")
	f.table("a.t")
	for _, name := range []string{"snapshots", "files", "schemas", "options"} {
		tbl, err := f.cat.LoadTable(f.ctx, ident("a.t$"+name))
		f.must(err)
		if tbl.Name() != (table.Identifier{Database: "a", Table: "t", System: name}) {
			t.Errorf("name %v", tbl.Name())
		}
		_, err = tbl.NewBatchWrite(f.ctx, table.WriteOptions{})
		f.wantKind(err, tarnerr.Unsupported)
		_, err = tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "u"})
		f.wantKind(err, tarnerr.Unsupported)
		_, err = tbl.Commit(f.ctx, table.Committable{})
		f.wantKind(err, tarnerr.Unsupported)
	}
	_, err := f.cat.LoadTable(f.ctx, ident("a.t$nonsense"))
	f.wantKind(err, tarnerr.NotFound)
}
