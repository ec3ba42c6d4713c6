package paimon_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// A table with deletion vectors is neither read nor written as if it had none, under
// any changelog producer; nor is one that is asked to be so for one read.
func TestDeletionVectorsAreRefused(t *testing.T) {
	refused := func(err error) {
		t.Helper()
		if tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "deletion-vectors.enabled") {
			t.Errorf("%v", err)
		}
	}
	for _, producer := range []string{"none", "lookup"} {
		f := newFixture(t)
		fs := f.create(with(keySpec(), "bucket", "1", "changelog-producer", producer, "deletion-vectors.enabled", "true"))
		tbl, err := f.tryOpen(fs, name)
		if err != nil {
			refused(err)
			continue
		}
		r, err := tbl.Scan(f.ctx, table.Scan{})
		if err == nil {
			r.Close()
		}
		refused(err)
		_, err = f.write(tbl, ids("mon", "v", 1))
		refused(err)
		_, err = tbl.Compact(f.ctx, table.CompactOptions{})
		refused(err)
	}
	f := newFixture(t)
	fs := f.create(keySpec())
	f.mustWrite(f.open(fs), ids("mon", "v", 1))
	r, err := f.open(fs).Scan(f.ctx, table.Scan{Options: map[string]string{"deletion-vectors.enabled": "true"}})
	if err == nil {
		r.Close()
	}
	refused(err)
}

// apache/paimon #5724: updates with equal values, and others, again and again. All
// changes up to a snapshot make its state, and none says what was so before.
func TestNetOfChangelogIsTheTable(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1", "changelog-producer", "lookup", "changelog-producer.row-deduplicate", "true"))
	for i := range 6 {
		for range 2 { // the second time nothing changes
			f.mustWrite(f.open(fs), ids("mon", fmt.Sprint("v", i/2), 1, 2, 3+i%2))
		}
	}
	tbl := f.open(fs)
	fl := f.follow(tbl, table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: f.latest(tbl).ID, Workers: 1})
	net := map[string]bool{}
	changed := 0
	for {
		changes, err := fl.Next(f.ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := changes.Rows.Next(f.ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			old := map[string]bool{}
			for i := range int(rec.NumRows()) {
				var kind int8
				if _, err := fmt.Sscan(rec.Column(0).ValueStr(i), &kind); err != nil {
					t.Fatal(err)
				}
				cells := make([]string, rec.NumCols()-1)
				for k := range cells {
					cells[k] = rec.Column(k + 1).ValueStr(i)
				}
				row := strings.Join(cells, "|")
				changed++
				switch k := types.RowKind(kind); k {
				case types.Insert, types.UpdateAfter:
					if net[row] || old[row] {
						t.Errorf("snapshot %d: %v %s was there", changes.Snapshot.ID, k, row)
					}
					net[row] = true
				default:
					if !net[row] {
						t.Errorf("snapshot %d: %v %s was not there", changes.Snapshot.ID, k, row)
					}
					delete(net, row)
					old[row] = true
				}
			}
		}
		f.want(slices.Sorted(maps.Keys(net)), f.rows(tbl, table.Scan{SnapshotID: changes.Snapshot.ID})...)
	}
	if changed == 0 {
		t.Error("nothing changed")
	}
}

// apache/paimon #8804: whatever system table is read, before, after or meanwhile, the
// table that was opened is read as before.
func TestSystemTablesChangeNoRead(t *testing.T) {
	for _, tracked := range []bool{false, true} {
		f := newFixture(t)
		spec := keySpec()
		if tracked {
			spec = with(appendSpec(), "row-tracking.enabled", "true", "bucket", "-1")
			delete(spec.Options, "bucket-key")
		}
		fs := f.create(spec)
		f.mustWrite(f.open(fs), ids("mon", "v", 1, 2))
		f.mustWrite(f.open(fs), ids("tue", "w", 2, 3))
		tbl := f.open(fs)
		columns := tbl.ArrowSchema()
		want := f.rows(tbl, table.Scan{})
		read := 0
		for _, n := range systable.Names() {
			if n == systable.RowTracking && !tracked {
				continue
			}
			sys, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: n})
			if err != nil {
				t.Errorf("$%s: %v", n, err)
				continue
			}
			var both sync.WaitGroup
			both.Go(func() { f.rowsBeside(sys) })
			both.Go(func() { f.rowsBeside(tbl) })
			both.Wait()
			f.want(f.rows(tbl, table.Scan{}), want...)
			if !tbl.ArrowSchema().Equal(columns) {
				t.Errorf("after $%s the columns are %v", n, tbl.ArrowSchema())
			}
			read++
		}
		if read < 10 {
			t.Errorf("%d system tables were read", read)
		}
		f.want(f.rows(f.open(fs), table.Scan{}), want...)
	}
}

// rowsBeside reads a table beside another reader; an error is no reason to end there.
func (f *fixture) rowsBeside(t table.Table) {
	r, err := t.Scan(f.ctx, table.Scan{})
	if err != nil {
		f.Error(err)
		return
	}
	defer r.Close()
	for {
		if _, err := r.Next(f.ctx); err != nil {
			if err != io.EOF {
				f.Error(err)
			}
			return
		}
	}
}
