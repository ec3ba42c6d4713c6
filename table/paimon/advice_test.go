package paimon_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

// later opens the table so long after it was written.
func (f *fixture) later(fio fileio.FileIO, id table.Identifier, after time.Duration) table.Table {
	f.Helper()
	c := f.components(fio)
	c.Env = env.Seeded(seed.Add(1), time.UnixMilli(1_700_000_000_000).Add(after))
	t, err := paimon.Open(f.ctx, c, id, dir)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

// advised are the rules that find something, with where, figure and limit.
func (f *fixture) advised(t table.Table) []string {
	f.Helper()
	found, err := t.Advise(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	out := []string{}
	for _, a := range found {
		out = append(out, fmt.Sprintf("%s %s %s: %d > %d %s", a.Severity, a.Rule, a.Where, a.Figure, a.Limit, a.Unit))
	}
	return out
}

func TestAdvise(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  schema.Spec
		rows  []string // commits
		after time.Duration
		do    func(f *fixture, t table.Table)
		want  []string
	}{
		{"no rows", keySpec(), nil, time.Hour, nil, nil},
		{"well", keySpec(), []string{ids("mon", "a", 1, 2), ids("mon", "b", 1)}, 100 * time.Hour, nil, nil},
		{
			"sorted runs", with(keySpec(), "write-only", "true", "bucket", "1", "num-sorted-run.compaction-trigger", "2"),
			[]string{ids("mon", "a", 1), ids("mon", "b", 1), ids("tue", "a", 1), ids("tue", "a", 2), ids("tue", "a", 3)}, time.Minute, nil,
			[]string{"note sorted-runs day=tue, bucket 0: 3 > 2 sorted runs", "warn no-compactor write-only: 5 > 2 snapshots"},
		},
		{
			"compacted", with(keySpec(), "write-only", "true", "bucket", "1", "num-sorted-run.compaction-trigger", "2"),
			[]string{ids("tue", "a", 1), ids("tue", "a", 2), ids("tue", "a", 3)}, time.Minute,
			func(f *fixture, t table.Table) { f.compact(t, table.CompactOptions{Minor: true}) }, nil,
		},
		{
			"small files", with(appendSpec(), "compaction.min.file-num", "3"),
			[]string{ids("mon", "a", 1), ids("mon", "b", 1), ids("tue", "a", 1), ids("tue", "a", 2), ids("tue", "a", 3)}, time.Minute, nil,
			[]string{"note small-files day=tue: 3 > 3 files"},
		},
		{
			"neighbours of a bucket", with(appendSpec(), "compaction.min.file-num", "3", "bucket", "1", "bucket-key", "id"),
			[]string{ids("mon", "a", 1), ids("tue", "a", 1), ids("tue", "a", 2), ids("tue", "a", 3), ids("tue", "a", 4)}, time.Minute, nil,
			[]string{"note small-files day=tue, bucket 0: 3 > 3 files"},
		},
		{
			"a changelog waits", with(keySpec(), "write-only", "true", "bucket", "1", "changelog-producer", "lookup"),
			[]string{ids("mon", "a", 1)}, 2 * time.Hour, nil,
			[]string{"note changelog-waits day=mon, bucket 0"},
		},
		{
			"a full compaction is waited for", with(keySpec(), "write-only", "true", "bucket", "1", "changelog-producer", "full-compaction"),
			[]string{ids("mon", "a", 1)}, 25 * time.Hour, nil,
			[]string{"warn changelog-waits day=mon, bucket 0"},
		},
		{
			"a consumer", with(keySpec(), "snapshot.num-retained.min", "1"),
			[]string{ids("mon", "a", 1), ids("mon", "b", 2), ids("mon", "b", 3)}, 30 * time.Hour,
			func(f *fixture, t table.Table) {
				if err := t.ResetConsumer(f.ctx, "mailer", 2); err != nil {
					f.Fatal(err)
				}
			},
			[]string{"note changelog-none changelog-producer: 1 > 0 consumers", "note expiry-behind snapshot 1", "note consumer-holds consumer mailer"},
		},
		{
			"options", with(keySpec(), "changelog.time-retained", "1 min", "consumer.changelog-only", "true"), []string{ids("mon", "a", 1)}, 0, nil,
			[]string{"note changelog-retention changelog.time-retained: 60 > 3600 seconds"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(c.spec)
			tbl := f.open(fs)
			for _, r := range c.rows {
				f.mustWrite(tbl, r)
			}
			if c.do != nil {
				c.do(f, tbl)
			}
			got := f.advised(f.later(fs, name, c.after))
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestAdviceAsRows: $advice shows what Advise tells, which no other system table does.
func TestAdviceAsRows(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(appendSpec(), "compaction.min.file-num", "2"))
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1))
	f.mustWrite(tbl, ids("mon", "a", 2))
	id := name
	id.System = "advice"
	rows := f.rows(f.later(fs, id, time.Minute), table.Scan{Columns: []string{"rule", "place", "figure", "figure_limit", "remedy"}})
	if len(rows) != 1 || !strings.Contains(rows[0], "small-files") || !strings.Contains(rows[0], "tarn table compact db.t --minor --partition day=mon") {
		t.Errorf("%q", rows)
	}
	if _, err := f.later(fs, id, 0).Advise(f.ctx); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("advice on advice: %v", err)
	}
}

// TestAdviceOnCommits: a commit that died, and a record that cannot be read.
func TestAdviceOnCommits(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	put := func(file, text string) {
		if err := fs.Replace(f.ctx, dir+"/.tarn/commit/"+file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("dead-7-append.json", `{"version":2,"user":"dead","identifier":7,"kind":"APPEND","baseSnapshot":0,"deltaManifestList":"x","timeMillis":1700000000000}`)
	want := []string{"warn open-commits user dead, identifier 7: 1 > 0 commits"}
	if got := f.advised(f.later(fs, name, 9*time.Minute)); len(got) > 0 {
		t.Errorf("of a commit that may be at work: %q", got)
	}
	if got := f.advised(f.later(fs, name, time.Hour)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	put("x-1-append.json", "{")
	found, err := f.later(fs, name, time.Hour).Advise(f.ctx)
	if len(found) != 1 || !errors.Is(err, tarnerr.Corrupt) {
		t.Errorf("%v, %v", found, err)
	}
}

// TestAdviceOnTags: those that come by themselves, unless an option lets them go.
func TestAdviceOnTags(t *testing.T) {
	for _, c := range []struct {
		options []string
		want    int
	}{
		{nil, 0}, {[]string{"tag.automatic-creation", "none"}, 0},
		{[]string{"tag.automatic-creation", "process-time"}, 1},
		{[]string{"tag.automatic-creation", "watermark", "tag.num-retained-max", "90"}, 0},
		{[]string{"tag.automatic-creation", "process-time", "tag.default-time-retained", "7 d"}, 0},
	} {
		f := newFixture(t)
		fs := f.create(appendSpec())
		f.mustWrite(f.open(fs), ids("mon", "a", 1))
		snap, _ := fs.Get(dir + "/snapshot/snapshot-1")
		for i := range 91 {
			fs.Put(fmt.Sprintf("%s/tag/tag-%d", dir, i), snap)
		}
		var changes []schema.Change
		for i := 0; i < len(c.options); i += 2 {
			changes = append(changes, schema.SetOption{Key: c.options[i], Value: c.options[i+1]})
		}
		if changes != nil {
			if _, err := schema.NewStore(fs, dir, env.Real()).Alter(f.ctx, changes...); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.advised(f.later(fs, name, time.Minute)); len(got) != c.want || c.want > 0 && got[0] != "note endless-tags tag.automatic-creation: 91 > 90 tags" {
			t.Errorf("%v: %q", c.options, got)
		}
	}
}

// TestAdviceCosts: however long the history is, and without a look at a data file.
func TestAdviceCosts(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1", "write-only", "true"))
	tbl := f.open(fs)
	for i := range 60 {
		f.mustWrite(tbl, ids("mon", "a", i))
	}
	if err := tbl.ResetConsumer(f.ctx, "mailer", 30); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	snapshots, data := 0, 0
	counting := faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case call.Method == "open" && strings.Contains(call.Path, "/snapshot/snapshot-"):
			snapshots++
		case strings.Contains(call.Path, "/bucket-"):
			data++
		}
		return faultio.Fault{}
	}))
	if got := f.advised(f.later(counting, name, time.Hour)); len(got) != 3 {
		t.Errorf("%q", got)
	}
	// 20 of the latest, 6 to find the age, the earliest, the consumer's.
	if snapshots > 28 || data > 0 {
		t.Errorf("%d snapshots were read, %d requests were for data files", snapshots, data)
	}
}

// TestAdviceOnGoldenTables: tables of every writer can be judged; a minute after their
// last commit little is amiss with them, and only where it is so.
func TestAdviceOnGoldenTables(t *testing.T) {
	f := newFixture(t)
	set := golden.Open(t)
	judged, amiss := 0, []string{}
	for _, n := range set.Names() {
		g := set.Table(t, n)
		open := func(clock env.Env) (table.Table, error) {
			c := f.components(g.FileIO)
			c.Env = clock
			return paimon.Open(f.ctx, c, name, g.Path())
		}
		tbl, err := open(env.Real())
		if errors.Is(err, tarnerr.Unsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if latest, err := tbl.Snapshot(f.ctx, 0); err == nil {
			now = time.UnixMilli(latest.TimeMillis).Add(time.Minute)
		}
		if tbl, err = open(env.Seeded(1, now)); err != nil {
			t.Fatal(err)
		}
		found, err := tbl.Advise(f.ctx)
		if err != nil {
			t.Errorf("%s: %v", n, err)
		}
		judged++
		for _, a := range found {
			amiss = append(amiss, fmt.Sprintf("%s: %s %s %s %d > %d", n, a.Severity, a.Rule, a.Where, a.Figure, a.Limit))
		}
	}
	want := []string{
		"append-unaware-0.8.2: note small-files table 6 > 5", "append-unaware-1.0.1: note small-files table 6 > 5",
		"consumers: note changelog-none changelog-producer 2 > 0",
		"lsm-level0-only: warn sorted-runs bucket 0 9 > 5", "lsm-level0-only: warn no-compactor write-only 9 > 5",
		"lsm-levels: note sorted-runs bucket 0 5 > 4", "manifest-merge: note small-files p=0 7 > 5",
	}
	if judged < 150 || !slices.Equal(amiss, want) {
		t.Errorf("of %d tables: %q", judged, amiss)
	}
}

// TestAdviceCountsWhatExpires: as many snapshots as an expiry would take, whatever
// holds others.
func TestAdviceCountsWhatExpires(t *testing.T) {
	told := 0
	for _, low := range []string{"1", "9"} {
		for _, high := range []string{"9", "12", "100"} {
			for _, age := range []string{"10 ms", "100 ms", "1 h"} {
				for _, next := range []int64{0, 3, 14} {
					f := newFixture(t)
					fs := f.create(with(appendSpec(), "snapshot.num-retained.min", low, "snapshot.num-retained.max", high,
						"snapshot.time-retained", age, "snapshot.expire.limit", "1"))
					tbl := f.open(fs)
					for i := range 14 {
						f.mustWrite(tbl, ids("mon", "a", i))
					}
					last, err := tbl.Snapshot(f.ctx, 0)
					if err == nil && next > 0 {
						err = tbl.ResetConsumer(f.ctx, "mailer", next)
					}
					if err != nil {
						t.Fatal(err)
					}
					later := f.later(fs, name, time.UnixMilli(last.TimeMillis).Sub(time.UnixMilli(1_700_000_000_000)))
					report, err := later.Expire(f.ctx, table.ExpireOptions{DryRun: true, Options: map[string]string{"snapshot.expire.limit": "100"}})
					if err != nil {
						t.Fatal(err)
					}
					found, err := later.Advise(f.ctx)
					if err != nil {
						t.Fatal(err)
					}
					n := 0
					for _, a := range found {
						if a.Rule == "expiry-behind" {
							n = int(a.Figure)
							told++
						}
					}
					if want := len(report.Snapshots); n != want && (want > 1 || n > 0) {
						t.Errorf("min %s, max %s, age %s, consumer at %d: advice tells of %d, expiry of %v", low, high, age, next, n, report.Snapshots)
					}
				}
			}
		}
	}
	if told < 20 {
		t.Errorf("only %d told", told)
	}
}
