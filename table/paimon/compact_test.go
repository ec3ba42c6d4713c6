package paimon_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

func with(spec schema.Spec, options ...string) schema.Spec {
	spec.Options = maps.Clone(spec.Options)
	if spec.Options == nil {
		spec.Options = map[string]string{}
	}
	for i := 0; i < len(options); i += 2 {
		spec.Options[options[i]] = options[i+1]
	}
	return spec
}

func (f *fixture) compact(t table.Table, opts table.CompactOptions) *table.CompactReport {
	f.Helper()
	r, err := t.Compact(f.ctx, opts)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// files are the live files as "partition/bucket/level rows".
func (f *fixture) files(fio fileio.FileIO) []string {
	f.Helper()
	sys, err := f.tryOpen(fio, table.Identifier{Database: "db", Table: "t", System: "files"})
	if err != nil {
		f.Fatal(err)
	}
	return f.rows(sys, table.Scan{Columns: []string{"partition", "bucket", "level", "record_count"}})
}

func (f *fixture) kinds(t table.Table) string {
	f.Helper()
	var out []string
	for s, err := range t.Snapshots(f.ctx) {
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, string(s.CommitKind))
	}
	return strings.Join(out, " ")
}

func TestCompactInFull(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1, 2, 3, 4))
	f.mustWrite(tbl, ids("mon", "b", 2, 3))
	f.mustWrite(tbl, ids("tue", "a", 1))
	f.mustWrite(tbl, ids("tue", "b", 1))
	before := f.rows(tbl, table.Scan{})
	var mu sync.Mutex
	var last table.CompactProgress
	r := f.compact(tbl, table.CompactOptions{Progress: func(p table.CompactProgress) {
		mu.Lock()
		defer mu.Unlock()
		if p.BytesDone > p.Bytes || p.BucketsDone > p.Buckets {
			t.Errorf("beyond the end: %+v", p)
		}
		if p.BucketsDone >= last.BucketsDone {
			last = p
		}
	}})
	f.want(f.rows(tbl, table.Scan{}), before...)
	if r.Buckets != 3 || r.Compacted != 3 || r.Lost != 0 || r.Rows != -3 || len(r.Snapshots) != 1 || r.FilesAfter != 3 {
		t.Errorf("report %+v", r)
	}
	if last.Buckets != 3 || last.BucketsDone != 3 || last.BytesDone != last.Bytes || last.Bytes != r.BytesBefore {
		t.Errorf("progress ended with %+v", last)
	}
	if s := f.latest(tbl); s.CommitKind != snapshot.Compact || s.CommitUser != r.User || s.TotalRecordCount != 5 {
		t.Errorf("snapshot %+v", s)
	}
	for _, line := range f.files(fs) {
		if !strings.Contains(line, "|5|") {
			t.Errorf("a file at another level: %s", line)
		}
	}
	// There is nothing left to do.
	if r := f.compact(tbl, table.CompactOptions{}); r.Buckets != 3 || r.Compacted != 0 || len(r.Snapshots) != 0 {
		t.Errorf("report of nothing %+v", r)
	}
	if got := f.kinds(tbl); got != "APPEND APPEND APPEND APPEND COMPACT" {
		t.Errorf("snapshots %s", got)
	}
}

// apache/paimon #2009: totals are of rows in files, and a compaction lessens them.
func TestTotalsAfterACompaction(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(with(keySpec(), "bucket", "1")))
	f.mustWrite(tbl, ids("mon", "a", 1, 2, 3))
	f.mustWrite(tbl, ids("mon", "b", 1, 2, 4))
	f.compact(tbl, table.CompactOptions{})
	var got []int64
	for s, err := range tbl.Snapshots(f.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.TotalRecordCount, s.DeltaRecordCount)
	}
	if !slices.Equal(got, []int64{3, 3, 6, 3, 4, -2}) {
		t.Errorf("totals and deltas %v", got)
	}
}

// Minor compactions do what the options find worth it, and no more.
func TestCompactMinor(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1", "num-sorted-run.compaction-trigger", "3", "write-only", "true"))
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	f.mustWrite(tbl, ids("mon", "b", 2, 3))
	if r := f.compact(tbl, table.CompactOptions{Minor: true}); r.Compacted != 0 {
		t.Errorf("two runs: %+v", r)
	}
	f.mustWrite(tbl, ids("mon", "c", 3, 4))
	if r := f.compact(tbl, table.CompactOptions{Minor: true}); r.Compacted != 1 || r.FilesBefore != 3 || r.FilesAfter != 1 {
		t.Errorf("three runs: %+v", r)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a", "mon|2|b", "mon|3|c", "mon|4|c")
	f.want(f.files(fs), "{mon}|0|3|4")
	// The options of a call decide, too.
	f.mustWrite(tbl, ids("mon", "d", 4))
	r := f.compact(tbl, table.CompactOptions{Minor: true, Options: map[string]string{"num-sorted-run.compaction-trigger": "2", "compaction.size-ratio": "100", "num-levels": "4"}})
	if r.Compacted != 1 {
		t.Errorf("two runs, trigger 2: %+v", r)
	}
	f.want(f.files(fs), "{mon}|0|3|4")
}

func TestCompactSomePartitions(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1"))
	tbl := f.open(fs)
	for _, day := range []string{"mon", "tue", "wed"} {
		f.mustWrite(tbl, ids(day, "a", 1))
	}
	for _, c := range []struct {
		opts table.CompactOptions
		want int
	}{
		{table.CompactOptions{Partitions: []map[string]string{{"day": "tue"}, {"day": "sun"}}}, 1},
		{table.CompactOptions{Partitions: []map[string]string{}}, 0},
		{table.CompactOptions{Where: expr.Compare{Column: "day", Op: expr.Lt, Value: "n"}, Buckets: []int{1}}, 0},
		{table.CompactOptions{Where: expr.Compare{Column: "day", Op: expr.Lt, Value: "n"}, Buckets: []int{0}}, 1},
		{table.CompactOptions{Partitions: []map[string]string{{}}}, 1}, // what is left
	} {
		if r := f.compact(tbl, c.opts); r.Compacted != c.want {
			t.Errorf("%+v: %+v", c.opts, r)
		}
	}
	for name, opts := range map[string]table.CompactOptions{
		"a column that is no partition": {Where: expr.Compare{Column: "id", Op: expr.Eq, Value: int64(1)}},
		"a partition of such a column":  {Partitions: []map[string]string{{"id": "1"}}},
		"no such column":                {Where: expr.Compare{Column: "nope", Op: expr.Eq, Value: int64(1)}},
		"a negative rate":               {BytesPerSecond: -1},
		"an identifier of nobody":       {Identifier: 3},
		"an option that is fixed":       {Options: map[string]string{"bucket": "7"}},
		"one level":                     {Options: map[string]string{"num-levels": "1"}},
	} {
		if _, err := tbl.Compact(f.ctx, opts); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sys, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: "files"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sys.Compact(f.ctx, table.CompactOptions{}); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("a system table: %v", err)
	}
}

// Under a name of the caller's there is one commit, to be found again as Java's
// are: with an empty snapshot of what was written before it.
func TestCompactUnderAName(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1, 2))
	r := f.compact(tbl, table.CompactOptions{User: "job", Identifier: 7, CommitBytes: 1})
	if !slices.Equal(r.Snapshots, []int64{2, 3}) || f.kinds(tbl) != "APPEND APPEND COMPACT" {
		t.Errorf("%+v, %s", r, f.kinds(tbl))
	}
	if s := f.latest(tbl); s.CommitUser != "job" || s.CommitIdentifier != 7 {
		t.Errorf("%+v", s)
	}
	if left, err := tbl.FilterCommitted(f.ctx, "job", []int64{7, 8}); err != nil || !slices.Equal(left, []int64{8}) {
		t.Errorf("%v, %v", left, err)
	}
	// A user without an identifier goes on counting.
	f.mustWrite(tbl, ids("tue", "a", 1))
	if r := f.compact(tbl, table.CompactOptions{User: "job"}); len(r.Snapshots) != 1 || f.latest(tbl).CommitIdentifier != 8 {
		t.Errorf("%+v, %+v", r, f.latest(tbl))
	}
}

// What is done is published as it goes, and not done again.
func TestCompactGoesOn(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1"))
	tbl := f.open(fs)
	for i := range 6 {
		f.mustWrite(tbl, ids(fmt.Sprint("d", i), "a", 1))
	}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	r, err := tbl.Compact(ctx, table.CompactOptions{CommitBytes: 1, Progress: func(p table.CompactProgress) {
		if p.BucketsDone == 4 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(r.Snapshots) == 0 || len(r.Snapshots) > 4 || r.Compacted != len(r.Snapshots) {
		t.Fatalf("%+v, %v", r, err)
	}
	f.noOrphans(fs)
	again := f.compact(f.open(fs), table.CompactOptions{CommitBytes: 1})
	if again.Compacted+r.Compacted != 6 {
		t.Errorf("then %+v, before %+v", again, r)
	}
	f.noOrphans(fs)
}

// noOrphans fails for data files that no snapshot has ever named.
func (f *fixture) noOrphans(fs *mem.FS) {
	f.Helper()
	named := map[string]bool{}
	for s, err := range f.open(fs).Snapshots(f.ctx) {
		if err != nil {
			f.Fatal(err)
		}
		sys, err := f.tryOpen(fs, table.Identifier{Database: "db", Table: "t", System: "files"})
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range f.rows(sys, table.Scan{Columns: []string{"file_path"}, SnapshotID: s.ID}) {
			named[p[strings.LastIndex(p, "/")+1:]] = true
		}
	}
	for _, p := range fs.Paths() {
		if name := p[strings.LastIndex(p, "/")+1:]; strings.HasPrefix(name, "data-") && !named[name] {
			f.Errorf("%s is nobody's", p)
		}
	}
}

// Two compactions of one bucket: the one that comes second finds its files gone,
// looks again, and leaves it at that (scene 2 of the commit protocol). Files of
// the loser do not stay.
func TestCompactionsMeet(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1"))
	tbl := f.open(fs)
	for _, day := range []string{"mon", "tue"} {
		f.mustWrite(tbl, ids(day, "a", 1, 2))
		f.mustWrite(tbl, ids(day, "b", 2))
	}
	var once sync.Once
	f.events = &event.Listener{CompactEnd: func(event.CompactEnd) {
		once.Do(func() {
			f.compact(tbl, table.CompactOptions{Partitions: []map[string]string{{"day": "mon"}}})
			// A writer is not in the way.
			f.mustWrite(tbl, ids("tue", "c", 3))
		})
	}}
	second := f.open(fs)
	f.events = nil
	r := f.compact(second, table.CompactOptions{})
	if r.Compacted != 1 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a", "mon|2|b", "tue|1|a", "tue|2|b", "tue|3|c")
	f.noOrphans(fs)
	if got := f.kinds(tbl); !strings.HasSuffix(got, "COMPACT APPEND COMPACT") {
		t.Errorf("snapshots %s", got)
	}
}

// Someone who is always faster wins: that is no error.
func TestACompactionLoses(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1"))
	tbl := f.open(fs)
	f.mustWrite(tbl, ids("mon", "a", 1))
	n := 1
	f.events = &event.Listener{CompactEnd: func(event.CompactEnd) {
		f.compact(tbl, table.CompactOptions{})
		n++
		f.mustWrite(tbl, ids("mon", "b", n))
	}}
	second := f.open(fs)
	f.events = nil
	r := f.compact(second, table.CompactOptions{})
	if r.Lost != 1 || r.Compacted != 0 || len(r.Snapshots) != 0 {
		t.Errorf("%+v", r)
	}
	f.noOrphans(fs)
}

// Messages of an old checkpoint come again: their compaction landed long ago, and what it
// wrote was compacted since. It does not land again, and what older snapshots name stays.
func TestARepeatedCompactionKeepsOldSnapshots(t *testing.T) {
	for _, check := range []bool{false, true} {
		f := newFixture(t)
		fs := f.create(with(keySpec(), "bucket", "1"))
		tbl := f.open(fs)
		f.mustWrite(tbl, ids("mon", "a", 1, 2))
		w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{User: "job"})
		if err != nil {
			t.Fatal(err)
		}
		rec := f.batch(tbl, ids("mon", "b", 2, 3))
		err = w.Write(f.ctx, rec)
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.CompactFully(); err != nil {
			t.Fatal(err)
		}
		messages, err := w.Prepare(f.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := tbl.Commit(f.ctx, table.Committable{User: "job", Identifier: 1, Messages: messages})
		if err != nil || len(r.Snapshots) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		compacted := f.latest(tbl).ID
		f.mustWrite(tbl, ids("mon", "c", 3, 4))
		if r := f.compact(tbl, table.CompactOptions{}); r.Compacted != 1 {
			t.Fatalf("%+v", r)
		}
		r, err = tbl.Commit(f.ctx, table.Committable{User: "job", Identifier: 2, Messages: messages, Check: check})
		if err != nil || r.Compaction == "" {
			t.Fatalf("the compaction landed again: %+v, %v", r, err)
		}
		f.want(f.rows(tbl, table.Scan{SnapshotID: compacted}), "mon|1|a", "mon|2|b", "mon|3|b")
	}
}

// A writer compacts what it has just written, and a job what others have written since, all
// to one level: no file is missing for either, but what they put out overlaps (scene 3 of the
// commit protocol; apache/paimon #224). The rows of the writer land without its compaction.
func TestCompactionsOverlap(t *testing.T) {
	f := newFixture(t)
	fs := f.create(with(keySpec(), "bucket", "1", "num-sorted-run.compaction-trigger", "2", "num-levels", "6"))
	job := f.open(fs)
	var old []int
	for id := range 400 {
		old = append(old, 100+id)
	}
	f.mustWrite(job, ids("mon", "old", old...))
	f.compact(job, table.CompactOptions{})
	write := func(tbl table.Table, option, value string, batches ...string) (*table.CommitReport, error) {
		w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Options: map[string]string{option: value}})
		if err != nil {
			return nil, err
		}
		defer w.Close()
		for _, rows := range batches {
			rec := f.batch(tbl, rows)
			err := w.Write(f.ctx, rec)
			rec.Release()
			if err != nil {
				return nil, err
			}
		}
		return w.Commit(f.ctx)
	}
	var others *table.CompactReport
	var once sync.Once
	f.events = &event.Listener{CompactEnd: func(event.CompactEnd) {
		once.Do(func() {
			for i, v := range []string{"b", "c"} {
				if _, err := write(job, "write-only", "true", ids("mon", v, 2+6*i)); err != nil {
					t.Error(err)
				}
			}
			others = f.compact(job, table.CompactOptions{Minor: true})
		})
	}}
	writer := f.open(fs)
	f.events = nil
	// A file for each batch, the buffer is so small.
	report, err := write(writer, "write-buffer-size", "1 b", ids("mon", "a", 1), ids("mon", "a", 9))
	if err != nil || report.Compaction == "" {
		t.Fatalf("levels overlap: %+v, %v", report, err)
	}
	if others.Compacted != 1 || others.FilesBefore != 2 || others.FilesAfter != 1 {
		t.Errorf("the job: %+v", others)
	}
	if !slices.ContainsFunc(report.Conflicts, func(c table.Conflict) bool { return c.Check == "key-range" }) {
		t.Errorf("conflicts %+v", report.Conflicts)
	}
	young := expr.Compare{Column: "id", Op: expr.Lt, Value: int64(100)}
	f.want(f.rows(job, table.Scan{Where: young}), "mon|1|a", "mon|2|b", "mon|8|c", "mon|9|a")
	f.want(f.files(fs), "{mon}|0|0|1", "{mon}|0|0|1", "{mon}|0|4|2", "{mon}|0|5|400")
	f.noOrphans(fs)
	f.compact(job, table.CompactOptions{})
	f.want(f.rows(job, table.Scan{Where: young}), "mon|1|a", "mon|2|b", "mon|8|c", "mon|9|a")
}

// Small files of an append table are joined, rows of buckets in their order.
func TestCompactAppendTables(t *testing.T) {
	for name, c := range map[string]struct {
		spec  schema.Spec
		minor bool
	}{
		"no buckets":      {spec: appendSpec()},
		"buckets":         {spec: with(appendSpec(), "bucket", "1", "bucket-key", "id")},
		"buckets, little": {spec: with(appendSpec(), "bucket", "1", "bucket-key", "id"), minor: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			fs := f.create(c.spec)
			tbl := f.open(fs)
			for i := range 7 {
				f.mustWrite(tbl, ids("mon", fmt.Sprint("v", i), 10*i, 10*i+1))
			}
			f.mustWrite(tbl, ids("tue", "a", 1))
			before := f.rows(tbl, table.Scan{})
			r := f.compact(tbl, table.CompactOptions{Minor: c.minor})
			f.want(f.rows(tbl, table.Scan{}), before...)
			if r.Buckets != 2 || r.Compacted != 1 || r.Rows != 0 {
				t.Errorf("%+v", r)
			}
			want := []string{"{mon}|0|0|14", "{tue}|0|0|1"}
			if c.minor { // five at a time, and what comes out is small again
				want = []string{"{mon}|0|0|10", "{mon}|0|0|2", "{mon}|0|0|2", "{tue}|0|0|1"}
			}
			f.want(f.files(fs), want...)
			if c.spec.Options["bucket"] != "" {
				rows, err := tbl.Scan(f.ctx, table.Scan{Workers: 1, Columns: []string{"id"}, Where: expr.Compare{Column: "day", Op: expr.Eq, Value: "mon"}})
				if err != nil {
					t.Fatal(err)
				}
				if got := f.inOrder(rows); !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) || got[0] != "0" || got[13] != "61" {
					t.Errorf("order of rows %v", got)
				}
			}
			f.noOrphans(fs)
		})
	}
}

func (f *fixture) inOrder(r table.Reader) []string {
	f.Helper()
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(f.ctx)
		if err != nil {
			return out
		}
		for i := range int(rec.NumRows()) {
			out = append(out, rec.Column(0).ValueStr(i))
		}
	}
}

// Every storage call of a compaction fails once: the rows are the same, whatever
// the outcome, nothing that a snapshot needs is gone, and the next one succeeds.
func TestEveryCallOfCompactFails(t *testing.T) {
	whens := []faultio.When{faultio.Before, faultio.After, faultio.Halfway}
	if testing.Short() {
		whens = whens[1:2]
	}
	for kind, spec := range map[string]schema.Spec{"append": with(appendSpec(), "compaction.min.file-num", "2"), "key": keySpec()} {
		t.Run(kind, func(t *testing.T) {
			base := newFixture(t)
			fs := base.create(spec)
			base.mustWrite(base.open(fs), ids("mon", "old", 1, 2, 3))
			base.mustWrite(base.open(fs), ids("mon", "new", 2, 4))
			want := base.rows(base.open(fs), table.Scan{})
			faultio.Sweep(t, whens, func(t *testing.T, plan faultio.Plan) int {
				f := newFixture(t)
				storage := fs.Clone()
				faulty := faultio.New(storage, nil)
				tbl := f.open(faulty)
				opened := faulty.Count()
				faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
					c.N -= opened
					return plan.Decide(c)
				}))
				r, err := tbl.Compact(f.ctx, table.CompactOptions{})
				if err == nil && r.Compacted == 0 {
					t.Errorf("nothing was done: %+v", r)
				}
				if tarnerr.KindOf(err) == tarnerr.Ambiguous {
					t.Errorf("ambiguous: %v", err)
				}
				f.want(f.rows(f.open(storage), table.Scan{}), want...)
				f.compact(f.open(storage), table.CompactOptions{})
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

// A rate holds the writing back, that of all workers together: what was written takes about
// as long as it allows.
func TestCompactAtARate(t *testing.T) {
	for _, workers := range []int{1, 4} {
		f := newFixture(t)
		fs := f.create(with(keySpec(), "bucket", "1"))
		tbl := f.open(fs)
		const files = 8
		for i := range files {
			day := fmt.Sprint("day ", i)
			f.mustWrite(tbl, ids(day, "a", 1, 2, 3))
			f.mustWrite(tbl, ids(day, "b", 1))
		}
		c := f.components(fs)
		slow := &sleeper{Env: c.Env, now: c.Env.Now()}
		c.Env, c.Workers = slow, workers
		other, err := paimon.Open(f.ctx, c, name, dir)
		if err != nil {
			t.Fatal(err)
		}
		const rate = 100
		r := f.compact(other, table.CompactOptions{BytesPerSecond: rate})
		// Of files of one size nobody waits for those that are under way at the end.
		least := time.Duration(r.BytesAfter/files*int64(files-workers)/rate) * time.Second
		most := time.Duration(r.BytesAfter/rate) * time.Second
		if r.Compacted != files || slow.longest < least || slow.longest > most {
			t.Errorf("%d workers: %+v, one waited until %v had passed, want %v to %v", workers, r, slow.longest, least, most)
		}
	}
}

// sleeper is an environment in which time stands still: whoever sleeps tells only until when.
type sleeper struct {
	env.Env
	now     time.Time
	mu      sync.Mutex
	longest time.Duration
}

func (s *sleeper) Now() time.Time { return s.now }

func (s *sleeper) Sleep(_ context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, d)
	return nil
}
