package paimon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// overwrite writes rows in place of others.
func (f *fixture) overwrite(t table.Table, o table.Overwrite, rows string) (*table.CommitReport, error) {
	f.Helper()
	w, err := t.NewBatchWrite(f.ctx, table.WriteOptions{Overwrite: &o})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if rows != "" {
		rec := f.batch(t, rows)
		defer rec.Release()
		if err := w.Write(f.ctx, rec); err != nil {
			return nil, err
		}
	}
	return w.Commit(f.ctx)
}

func (f *fixture) latest(t table.Table) *table.Snapshot {
	f.Helper()
	s, err := t.Snapshot(f.ctx, 0)
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// What each way to overwrite leaves of two days with two rows each.
func TestOverwrite(t *testing.T) {
	monday := map[string]string{"day": "mon"}
	for name, c := range map[string]struct {
		o       table.Overwrite
		options map[string]string
		rows    string
		want    string
		none    bool // no snapshot is made
	}{
		"by option":            {rows: ids("mon", "b", 3), want: "mon|3|b tue|1|a tue|2|a"},
		"by option, static":    {options: map[string]string{"dynamic-partition-overwrite": "false"}, rows: ids("mon", "b", 3), want: "mon|3|b"},
		"dynamic":              {o: table.Overwrite{Mode: table.OverwriteDynamic}, rows: ids("mon", "b", 3), want: "mon|3|b tue|1|a tue|2|a"},
		"dynamic, new day":     {o: table.Overwrite{Mode: table.OverwriteDynamic}, rows: ids("wed", "b", 3), want: "mon|1|a mon|2|a tue|1|a tue|2|a wed|3|b"},
		"dynamic, no rows":     {o: table.Overwrite{Mode: table.OverwriteDynamic}, want: "mon|1|a mon|2|a tue|1|a tue|2|a", none: true},
		"static, a day":        {o: table.Overwrite{Mode: table.OverwriteStatic, Partition: monday}, rows: ids("mon", "b", 3), want: "mon|3|b tue|1|a tue|2|a"},
		"static, a day, empty": {o: table.Overwrite{Mode: table.OverwriteStatic, Partition: monday}, want: "tue|1|a tue|2|a"},
		"static, all":          {o: table.Overwrite{Mode: table.OverwriteStatic}, rows: ids("wed", "b", 3), want: "wed|3|b"},
		"static, all, empty":   {o: table.Overwrite{Mode: table.OverwriteStatic}},
	} {
		for _, spec := range []schema.Spec{keySpec(), appendSpec()} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t)
				for k, v := range c.options {
					if spec.Options == nil {
						spec.Options = map[string]string{}
					}
					spec.Options[k] = v
				}
				fs := f.create(spec)
				tbl := f.open(fs)
				f.mustWrite(tbl, ids("mon", "a", 1, 2))
				f.mustWrite(tbl, ids("tue", "a", 1, 2))
				r, err := f.overwrite(tbl, c.o, c.rows)
				if err != nil {
					t.Fatal(err)
				}
				f.want(f.rows(f.open(fs), table.Scan{}), strings.Fields(c.want)...)
				s := f.latest(tbl)
				if c.none {
					if s.ID != 2 || len(r.Snapshots) != 0 {
						t.Errorf("snapshot %d, report %+v", s.ID, r)
					}
					return
				}
				rows := int64(len(strings.Fields(c.want)))
				if s.ID != 3 || s.CommitKind != snapshot.Overwrite || s.TotalRecordCount != rows || s.DeltaRecordCount != rows-4 || r.Rows != rows-4 {
					t.Errorf("snapshot %+v, report %+v", s, r)
				}
				// Time travel sees what was there.
				f.want(f.rows(tbl, table.Scan{SnapshotID: 2}), "mon|1|a", "mon|2|a", "tue|1|a", "tue|2|a")
			})
		}
	}
}

func TestOverwriteIsRefused(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1))
	before := fs.Paths()
	for name, o := range map[string]table.Overwrite{
		"rows of another day":          {Mode: table.OverwriteStatic, Partition: map[string]string{"day": "tue"}},
		"rows of another day, dynamic": {Mode: table.OverwriteDynamic, Partition: map[string]string{"day": "tue"}},
		"no partition column":          {Mode: table.OverwriteStatic, Partition: map[string]string{"id": "1"}},
	} {
		_, err := f.overwrite(tbl, o, ids("mon", "b", 2))
		if tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{Overwrite: &table.Overwrite{}}); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("a stream that overwrites: %v", err)
	}
	if _, err := tbl.DropPartitions(f.ctx, nil, table.CommitOptions{}); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("dropping nothing: %v", err)
	}
	if _, err := tbl.DropPartitions(f.ctx, []map[string]string{{}}, table.CommitOptions{}); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("dropping everything: %v", err)
	}
	if got := fs.Paths(); !slices.Equal(got, before) {
		t.Errorf("files are left: %v", got)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a")
}

// A partition is named by any of its columns, dates as text or number (case 126:
// the literal is cast), and null by the default name.
func TestDropPartitions(t *testing.T) {
	two := schema.Spec{
		Fields: []types.Field{
			{Name: "d", Type: types.MustParse("DATE")},
			{Name: "h", Type: types.MustParse("INT")},
			{Name: "id", Type: types.MustParse("BIGINT")},
		},
		PartitionKeys: []string{"d", "h"},
	}
	const rows = `[{"d":"2024-04-18","h":1,"id":1},{"d":"2024-04-18","h":2,"id":2},{"d":"2024-04-19","h":1,"id":3},{"d":null,"h":1,"id":4},{"d":"2024-04-19","h":null,"id":5}]`
	for _, c := range []struct {
		drop []map[string]string
		want string
	}{
		{[]map[string]string{{"d": "2024-04-18"}}, "3 4 5"},
		{[]map[string]string{{"d": "19831"}}, "3 4 5"},
		{[]map[string]string{{"h": "1"}}, "2 5"},
		{[]map[string]string{{"d": "2024-04-18", "h": "2"}}, "1 3 4 5"},
		{[]map[string]string{{"d": "2024-04-18", "h": "2"}, {"d": "2024-04-19", "h": "1"}}, "1 4 5"},
		{[]map[string]string{{"d": "2024-04-18", "h": "2"}, {"h": "1"}}, "5"},
		{[]map[string]string{{"d": "__DEFAULT_PARTITION__"}}, "1 2 3 5"},
		{[]map[string]string{{"h": "__DEFAULT_PARTITION__"}}, "1 2 3 4"},
		{[]map[string]string{{"d": "2030-01-01"}}, "1 2 3 4 5"},
	} {
		f := newFixture(t)
		tbl := f.open(f.create(two))
		f.mustWrite(tbl, rows)
		r, err := tbl.DropPartitions(f.ctx, c.drop, table.CommitOptions{User: "me", Identifier: 7, Properties: map[string]string{"why": "old"}})
		if err != nil {
			t.Fatal(err)
		}
		f.want(f.rows(tbl, table.Scan{Columns: []string{"id"}}), strings.Fields(c.want)...)
		if s := f.latest(tbl); s.CommitKind != snapshot.Overwrite || s.CommitUser != "me" || s.CommitIdentifier != 7 || s.Properties["why"] != "old" || r.Snapshots[0] != 2 {
			t.Errorf("snapshot %+v, report %+v", s, r)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, spec := range []schema.Spec{keySpec(), appendSpec()} {
		f := newFixture(t)
		fs := f.create(spec)
		tbl := f.open(fs)
		f.mustWrite(tbl, ids("mon", "a", 1, 2))
		f.mustWrite(tbl, ids("tue", "a", 1, 2))
		r, err := tbl.Truncate(f.ctx, table.CommitOptions{})
		if err != nil || r.FilesGone == 0 || r.FilesAdded != 0 || r.Identifier != table.BatchIdentifier || r.User == "" {
			t.Fatalf("%+v, %v", r, err)
		}
		f.want(f.rows(tbl, table.Scan{}))
		if s := f.latest(tbl); s.TotalRecordCount != 0 || s.DeltaRecordCount != -4 {
			t.Errorf("snapshot %+v", s)
		}
		f.mustWrite(tbl, ids("mon", "b", 1))
		f.want(f.rows(f.open(fs), table.Scan{}), "mon|1|b")
	}
}

// The number of buckets was changed: writing is refused until the partition is
// overwritten (P17, scene 5; case 131).
func TestOverwriteRescales(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	f.mustWrite(f.open(fs), ids("mon", "a", 1, 2, 3, 4))
	if _, err := schema.NewStore(fs, dir, env.Real()).Alter(f.ctx, schema.SetOption{Key: "bucket", Value: "4"}); err != nil {
		t.Fatal(err)
	}
	tbl := f.open(fs)
	if _, err := f.write(tbl, ids("mon", "b", 1)); tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "INSERT OVERWRITE") {
		t.Fatalf("%v", err)
	}
	if _, err := f.overwrite(tbl, table.Overwrite{}, ids("mon", "c", 1, 2, 5)); err != nil {
		t.Fatal(err)
	}
	f.mustWrite(tbl, ids("mon", "d", 2))
	f.want(f.rows(tbl, table.Scan{}), "mon|1|c", "mon|2|d", "mon|5|c")
}

// What an overwrite wrote is compacted by the same write, as any other rows; what was
// there before has no part in it, and no changelog comes of it.
func TestOverwriteCompacts(t *testing.T) {
	for name, c := range map[string]struct {
		options   map[string]string
		snapshots int
	}{
		"picked":          {map[string]string{"num-sorted-run.compaction-trigger": "2", "write-buffer-size": "1 b"}, 2},
		"looked up":       {map[string]string{"changelog-producer": "lookup"}, 2},
		"each commit":     {map[string]string{"full-compaction.delta-commits": "1", "changelog-producer": "full-compaction"}, 2},
		"not worth it":    {nil, 1},
		"by another one":  {map[string]string{"num-sorted-run.compaction-trigger": "1", "write-only": "true"}, 1},
		"after the flush": {map[string]string{"merge-engine": "first-row"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(compactSpec(c.options))
			tbl := f.open(fs)
			f.mustWrite(tbl, ids("d", "old", 1, 2, 3))
			before := f.latest(tbl).ID
			r, err := f.overwrite(tbl, table.Overwrite{}, ids("d", "new", 2, 4))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Snapshots) != c.snapshots || r.Compaction != "" {
				t.Errorf("snapshots %v, %s", r.Snapshots, r.Compaction)
			}
			f.want(f.rows(tbl, table.Scan{}), "d|2|new", "d|4|new")
			for id := before + 1; id <= f.latest(tbl).ID; id++ {
				s, err := tbl.Snapshot(f.ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				if s.ChangelogManifestList != nil {
					t.Errorf("snapshot %d, %s, has a changelog", id, s.CommitKind)
				}
			}
			for _, p := range fs.Paths() {
				if strings.Contains(p, "/changelog-") && c.options["changelog-producer"] == "" {
					t.Errorf("a changelog file was written: %s", p)
				}
			}
		})
	}
}
