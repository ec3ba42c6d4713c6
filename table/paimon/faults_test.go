package paimon_test

import (
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Every storage call of a write and its commit fails once, before, after and
// halfway its effect, on every kind of storage. Rows are then the old or the
// new ones, all of them, the error says which, and the table works on.
func TestEveryCallOfWriteAndCommitFails(t *testing.T) {
	whens := []faultio.When{faultio.Before, faultio.After, faultio.Halfway}
	if testing.Short() {
		whens = whens[1:2]
	}
	for kind, spec := range map[string]schema.Spec{"append": appendSpec(), "key": keySpec()} {
		for _, profile := range mem.Profiles {
			t.Run(kind+"/"+profile.String(), func(t *testing.T) {
				base := newFixture(t)
				fs := base.create(spec)
				base.mustWrite(base.open(fs), ids("mon", "old", 1, 2, 3))
				old := base.rows(base.open(fs), table.Scan{})
				base.mustWrite(base.open(fs), ids("tue", "old", 1))
				old = append(old, "tue|1|old")
				after := fs.Clone()
				base.mustWrite(base.open(after), ids("mon", "new", 2, 4))
				fresh := base.rows(base.open(after), table.Scan{})
				if slices.Equal(old, fresh) {
					t.Fatal("the write under test changes nothing")
				}

				if profile == mem.NoConditional {
					refusedBeforeAnyCall(t, as(profile, fs))
					return
				}
				faultio.Sweep(t, whens, func(t *testing.T, plan faultio.Plan) int {
					f := newFixture(t)
					storage := as(profile, fs)
					faulty := faultio.New(storage, nil)
					tbl := f.open(faulty)
					opened := faulty.Count()
					faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
						c.N -= opened
						return plan.Decide(c)
					}))
					report, err := f.write(tbl, ids("mon", "new", 2, 4))
					got := f.rows(f.open(storage), table.Scan{})
					isOld, isNew := slices.Equal(got, old), slices.Equal(got, fresh)
					switch {
					case err == nil && (report == nil || report.Status != table.Succeeded):
						t.Errorf("no error, but the report says %+v", report)
					case err == nil && !isNew:
						t.Errorf("committed, but the rows are %v", got)
					case err != nil && tarnerr.KindOf(err) == tarnerr.Ambiguous:
						t.Errorf("a storage error of unknown effect came through: %v", err)
					case err != nil && tarnerr.KindOf(err) == tarnerr.CommitStateUnknown && !isOld && !isNew:
						t.Errorf("unknown, but the rows are neither old nor new: %v", got)
					case err != nil && tarnerr.KindOf(err) != tarnerr.CommitStateUnknown && !isOld:
						t.Errorf("failed with %v, but the rows are %v", err, got)
					}
					// Whatever happened, the next write lands on it, and every snapshot reads.
					f.mustWrite(f.open(storage), ids("mon", "next", 9))
					want := append(slices.Clone(got), "mon|9|next")
					slices.Sort(want)
					f.want(f.rows(f.open(storage), table.Scan{}), want...)
					for s, err := range f.open(storage).Snapshots(f.ctx) {
						if err != nil {
							t.Fatal(err)
						}
						f.rows(f.open(storage), table.Scan{SnapshotID: s.ID})
					}
					return faulty.Count() - opened
				})
			})
		}
	}
}

// refusedBeforeAnyCall: a storage that cannot publish takes no row at all.
func refusedBeforeAnyCall(t *testing.T, storage *mem.FS) {
	f := newFixture(t)
	faulty := faultio.New(storage, nil)
	tbl := f.open(faulty)
	opened := faulty.Count()
	_, err := f.write(tbl, ids("mon", "new", 2, 4))
	if err == nil || tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("got %v", err)
	}
	if n := faulty.Count() - opened; n != 0 {
		t.Errorf("%d storage calls before the refusal", n)
	}
	f.rows(tbl, table.Scan{}) // it can be read
}

// as copies the files of fs to a storage of another profile.
func as(p mem.Profile, fs *mem.FS) *mem.FS {
	out := mem.New(p)
	for _, path := range fs.Paths() {
		data, _ := fs.Get(path)
		out.Put(path, data)
	}
	return out
}

// A process dies at each call; the next one finds old or new rows and goes on.
func TestCrashAtEveryCall(t *testing.T) {
	base := newFixture(t)
	fs := base.create(keySpec())
	base.mustWrite(base.open(fs), ids("mon", "old", 1, 2))
	n := 1
	for done := false; !done; n++ {
		f := newFixture(t)
		storage := as(mem.Posix, fs)
		faulty := faultio.New(storage, faultio.Crash(n, faultio.Halfway))
		tbl, err := f.tryOpen(faulty, name)
		if err == nil {
			_, err = f.write(tbl, ids("mon", "new", 2, 4))
		}
		done = faulty.Injected() == 0
		got := f.rows(f.open(storage), table.Scan{})
		if a, b := slices.Contains(got, "mon|4|new"), slices.Contains(got, "mon|2|new"); a != b {
			t.Errorf("call %d: half a commit: %v", n, got)
		} else if err == nil && !a {
			t.Errorf("call %d: committed, but the rows are %v", n, got)
		}
		f.mustWrite(f.open(storage), ids("mon", "next", 9))
		want := append(slices.Clone(got), "mon|9|next")
		slices.Sort(want)
		f.want(f.rows(f.open(storage), table.Scan{}), want...)
	}
	if n < 10 {
		t.Errorf("only %d calls were swept", n)
	}
}
