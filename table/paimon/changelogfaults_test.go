package paimon_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// told are the ways to make a changelog, in one bucket.
var told = map[string]schema.Spec{
	"input":  changeSpec(map[string]string{"bucket": "1", "changelog-producer": "input"}),
	"lookup": changeSpec(map[string]string{"bucket": "1", "changelog-producer": "lookup"}),
	"full":   changeSpec(map[string]string{"bucket": "1", "changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}),
}

// A change is a commit's rows with their kinds. They take back what is there, as
// the producer input wants it.
type change struct {
	rows  string
	kinds []types.RowKind
}

var (
	toldBefore = []change{
		{`[{"k":1,"n":1,"s":0},{"k":2,"n":1,"s":0},{"k":3,"n":1,"s":0}]`, []types.RowKind{types.Insert, types.Insert, types.Insert}},
		{`[{"k":2,"n":1,"s":0},{"k":2,"n":2,"s":0},{"k":4,"n":2,"s":0}]`, []types.RowKind{types.UpdateBefore, types.UpdateAfter, types.Insert}},
	}
	toldNow = change{`[{"k":1,"n":1,"s":0},{"k":2,"n":2,"s":0},{"k":2,"n":3,"s":0},{"k":5,"n":3,"s":0}]`,
		[]types.RowKind{types.Delete, types.UpdateBefore, types.UpdateAfter, types.Insert}}
	toldAfter = change{`[{"k":9,"n":4,"s":0}]`, []types.RowKind{types.Insert}}
)

// tell commits a change, with the compactions that it causes.
func (f *fixture) tell(t table.Table, id int64, c change, options map[string]string) (*table.CommitReport, error) {
	f.Helper()
	w, err := t.NewStreamWrite(f.ctx, table.WriteOptions{User: "job", Options: options})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	w.WaitForCompaction(true)
	rec := f.kindedBatch(t, c.rows, c.kinds)
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		return nil, err
	}
	return w.Commit(f.ctx, id)
}

func (f *fixture) mustTell(t table.Table, id int64, c change, options map[string]string) {
	f.Helper()
	if _, err := f.tell(t, id, c, options); err != nil {
		f.Fatal(err)
	}
}

// wantFolded fails unless all changes, folded, are the rows of the table. fold itself
// holds each row against the state: one that is told twice fails.
func (f *fixture) wantFolded(t table.Table) {
	f.Helper()
	state := map[int32]string{}
	f.fold(t, state, 1, f.latest(t).ID)
	f.want(slices.Sorted(maps.Values(state)), f.rows(t, table.Scan{})...)
}

// swept are the moments at which calls fail; fewer where tests are to be short.
func swept() []faultio.When {
	if testing.Short() {
		return []faultio.When{faultio.After}
	}
	return []faultio.When{faultio.Before, faultio.After}
}

func passedOver(producer string, profile mem.Profile) bool {
	return testing.Short() && (producer == "input" || profile == mem.ObjectStore)
}

// guarded runs work on a copy of storage whose calls fail by plan, those of opening the
// table excepted, and returns how many there were.
func (f *fixture) guarded(storage *mem.FS, plan faultio.Plan, work func(table.Table)) int {
	f.Helper()
	faulty := faultio.New(storage, nil)
	tbl := f.open(faulty)
	opened := faulty.Count()
	faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
		c.N -= opened
		return plan.Decide(c)
	}))
	work(tbl)
	return faulty.Count() - opened
}

// Every storage call of a commit that makes a changelog, compactions included, fails
// once, before and after its effect: the rows are the old or the new ones, the error
// says which, and after the next commit the changelog is that of the rows, no change
// doubled and none lost.
func TestEveryCallOfAChangelogFails(t *testing.T) {
	for producer, spec := range told {
		base := newFixture(t)
		fs := base.create(spec)
		for i, c := range toldBefore {
			base.mustTell(base.open(fs), int64(i+1), c, nil)
		}
		old := base.rows(base.open(fs), table.Scan{})
		after := fs.Clone()
		base.mustTell(base.open(after), 3, toldNow, nil)
		fresh := base.rows(base.open(after), table.Scan{})
		base.wantFolded(base.open(after))
		for _, profile := range mem.Profiles {
			if passedOver(producer, profile) {
				continue
			}
			t.Run(producer+"/"+profile.String(), func(t *testing.T) {
				if profile == mem.NoConditional {
					f := newFixture(t)
					calls := f.guarded(as(profile, fs), faultio.None(), func(tbl table.Table) {
						_, err := f.tell(tbl, 3, toldNow, nil)
						wantKind(t, err, tarnerr.Unsupported)
					})
					if calls != 0 {
						t.Errorf("%d storage calls before the refusal", calls)
					}
					return
				}
				faultio.Sweep(t, swept(), func(t *testing.T, plan faultio.Plan) int {
					f := newFixture(t)
					storage := as(profile, fs)
					var err error
					calls := f.guarded(storage, plan, func(tbl table.Table) { _, err = f.tell(tbl, 3, toldNow, nil) })
					got := f.rows(f.open(storage), table.Scan{})
					isOld, isNew := slices.Equal(got, old), slices.Equal(got, fresh)
					unknown := tarnerr.KindOf(err) == tarnerr.CommitStateUnknown
					switch {
					case err == nil && !isNew:
						t.Errorf("committed, but the rows are %v", got)
					case err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous:
						t.Errorf("a storage error of unknown effect came through: %v", err)
					case err != nil && !unknown && !isOld, !isOld && !isNew:
						t.Errorf("failed with %v, but the rows are %v", err, got)
					}
					f.mustTell(f.open(storage), 4, toldAfter, nil)
					want := append(got, "9|4|0")
					f.want(f.rows(f.open(storage), table.Scan{}), want...)
					f.wantFolded(f.open(storage))
					return calls
				})
			})
		}
	}
}

// The same for a job that compacts what writers have left to it. No read of rows
// changes, whatever its outcome.
func TestEveryCallOfACompactionWithAChangelogFails(t *testing.T) {
	writeOnly := map[string]string{"write-only": "true"}
	for producer, spec := range told {
		base := newFixture(t)
		fs := base.create(spec)
		for i, c := range append(slices.Clone(toldBefore), toldNow) {
			options := writeOnly
			if i == 0 {
				options = nil
			}
			base.mustTell(base.open(fs), int64(i+1), c, options)
		}
		want := base.rows(base.open(fs), table.Scan{})
		for _, profile := range mem.Profiles {
			if passedOver(producer, profile) {
				continue
			}
			t.Run(producer+"/"+profile.String(), func(t *testing.T) {
				if profile == mem.NoConditional {
					f := newFixture(t)
					f.guarded(as(profile, fs), faultio.None(), func(tbl table.Table) {
						_, err := tbl.Compact(f.ctx, table.CompactOptions{})
						wantKind(t, err, tarnerr.Unsupported)
					})
					return
				}
				faultio.Sweep(t, swept(), func(t *testing.T, plan faultio.Plan) int {
					f := newFixture(t)
					storage := as(profile, fs)
					calls := f.guarded(storage, plan, func(tbl table.Table) {
						r, err := tbl.Compact(f.ctx, table.CompactOptions{})
						if err == nil && r.Compacted != 1 {
							t.Errorf("nothing was done: %+v", r)
						}
						if tarnerr.KindOf(err) == tarnerr.Ambiguous {
							t.Errorf("a storage error of unknown effect came through: %v", err)
						}
						if n := f.latest(f.open(storage)).ID; err == nil && n != r.Snapshots[len(r.Snapshots)-1] {
							t.Errorf("the latest snapshot is %d, but the report says %v", n, r.Snapshots)
						}
					})
					f.want(f.rows(f.open(storage), table.Scan{}), want...)
					f.compact(f.open(storage), table.CompactOptions{})
					f.want(f.rows(f.open(storage), table.Scan{}), want...)
					f.wantFolded(f.open(storage))
					return calls
				})
			})
		}
	}
}
