package paimon_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

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

func TestBatchWriteAndScan(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.want(f.rows(tbl, table.Scan{})) // an empty table reads no row
	if p, err := tbl.Plan(f.ctx, table.Scan{}); err != nil || p.Snapshot != nil || len(p.Splits) != 0 {
		t.Errorf("plan of an empty table: %+v, %v", p, err)
	}
	r := f.mustWrite(tbl, ids("mon", "a", 1, 2, 3))
	if r.Status != table.Succeeded || !slices.Equal(r.Snapshots, []int64{1}) || r.Rows != 3 || r.FilesAdded != 2 || r.Base != 0 || len(r.Attempts) != 1 {
		t.Errorf("report %+v", r)
	}
	f.mustWrite(tbl, ids("tue", "b", 1))
	r = f.mustWrite(tbl, ids("mon", "c", 2, 4))
	if r.Base != 2 {
		t.Errorf("report %+v", r)
	}
	f.want(f.rows(tbl, table.Scan{}), "mon|1|a", "mon|2|c", "mon|3|a", "mon|4|c", "tue|1|b")
	f.want(f.rows(tbl, table.Scan{Columns: []string{"v", "id"}, Where: expr.Compare{Column: "day", Op: expr.Eq, Value: "mon"}}), "a|1", "a|3", "c|2", "c|4")
	f.want(f.rows(tbl, table.Scan{Where: expr.Compare{Column: "v", Op: expr.Eq, Value: "a"}}), "mon|1|a", "mon|3|a") // 2 is c now
	f.want(f.rows(tbl, table.Scan{SnapshotID: 1}), "mon|1|a", "mon|2|a", "mon|3|a")
	f.want(f.rows(tbl, table.Scan{Kind: true, Columns: []string{"id"}, Where: expr.Compare{Column: "id", Op: expr.Ge, Value: 4}}), "0|4")
	if n := len(f.rows(tbl, table.Scan{Limit: 2})); n != 2 {
		t.Errorf("limit 2 gave %d rows", n)
	}
	for _, workers := range []int{1, 3} {
		if n := len(f.rows(tbl, table.Scan{Workers: workers})); n != 5 {
			t.Errorf("%d workers gave %d rows", workers, n)
		}
	}
}

func TestScanRefuses(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	f.mustWrite(tbl, ids("mon", "a", 1))
	for what, c := range map[string]struct {
		scan table.Scan
		kind tarnerr.Kind
	}{
		"column":         {table.Scan{Columns: []string{"none"}}, tarnerr.Invalid},
		"filter column":  {table.Scan{Where: expr.IsNull{Column: "none"}}, tarnerr.Invalid},
		"filter literal": {table.Scan{Where: expr.Compare{Column: "id", Op: expr.Eq, Value: "x"}}, tarnerr.Invalid},
		"limit":          {table.Scan{Limit: -1}, tarnerr.Invalid},
		"snapshot":       {table.Scan{SnapshotID: -1}, tarnerr.Invalid},
		"later snapshot": {table.Scan{SnapshotID: 9}, tarnerr.NotFound},
	} {
		_, err := tbl.Scan(f.ctx, c.scan)
		if err == nil || tarnerr.KindOf(err) != c.kind || !strings.Contains(err.Error(), "db.t") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := tbl.Read(f.ctx, table.Scan{}, table.Split{})
	wantKind(t, err, tarnerr.Invalid)
	_, err = tbl.Snapshot(f.ctx, 9)
	wantKind(t, err, tarnerr.NotFound)
}

// Splits and messages travel as bytes between processes.
func TestShippedSplitsAndMessages(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	writer, committer := f.open(fs), f.open(fs)
	w, err := writer.NewBatchWrite(f.ctx, table.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rec := f.batch(writer, ids("mon", "a", 1, 2, 3))
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	messages, err := w.Prepare(f.ctx)
	if err != nil || len(messages) != 2 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	_, err = w.Commit(f.ctx)
	wantKind(t, err, tarnerr.Closed)
	f.want(f.rows(writer, table.Scan{})) // nothing is visible yet

	var shipped []table.Message
	for _, m := range messages {
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.UnmarshalMessage(table.MessageVersion, data)
		if err != nil {
			t.Fatal(err)
		}
		shipped = append(shipped, got)
	}
	r, err := committer.Commit(f.ctx, table.Committable{User: "job", Identifier: 7, Messages: shipped})
	if err != nil || r.Rows != 3 || r.User != "job" || r.Identifier != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	left, err := committer.FilterCommitted(f.ctx, "job", []int64{6, 7, 8})
	if err != nil || !slices.Equal(left, []int64{8}) {
		t.Errorf("left %v, %v", left, err)
	}
	r, err = committer.Commit(f.ctx, table.Committable{User: "job", Identifier: 7, Messages: shipped})
	if err != nil || !r.Already || len(r.Snapshots) != 0 {
		t.Errorf("the same identifier again: %+v, %v", r, err)
	}

	plan, err := writer.Plan(f.ctx, table.Scan{})
	if err != nil || len(plan.Splits) != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	var got []string
	for _, s := range plan.Splits {
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		there, err := table.UnmarshalSplit(data)
		if err != nil {
			t.Fatal(err)
		}
		r, err := committer.Read(f.ctx, table.Scan{}, there)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f.drain(r)...)
	}
	slices.Sort(got)
	f.want(got, "mon|1|a", "mon|2|a", "mon|3|a")
}

func TestAbortedMessagesLeaveNothing(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	before := fs.Paths()
	tbl := f.open(fs)
	w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rec := f.batch(tbl, ids("mon", "a", 1, 2, 3))
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	messages, err := w.Prepare(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(fs.Paths()) != len(before)+1 {
		t.Errorf("Close removed what was prepared: %v", fs.Paths())
	}
	if err := tbl.AbortMessages(f.ctx, messages); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(fs.Paths(), before) {
		t.Errorf("left behind: %v", fs.Paths())
	}
}

func TestBatchWriteAbortAndClose(t *testing.T) {
	for _, end := range []string{"abort", "close"} {
		f := newFixture(t)
		fs := f.create(keySpec())
		before := fs.Paths()
		tbl := f.open(fs)
		w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Options: map[string]string{"write-buffer-size": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		rec := f.batch(tbl, ids("mon", "a", 1, 2, 3, 4, 5, 6)) // flushed row by row
		if err := w.Write(f.ctx, rec); err != nil {
			t.Fatal(err)
		}
		if end == "abort" {
			if err := w.Abort(f.ctx); err != nil {
				t.Fatal(err)
			}
			wantKind(t, w.Write(f.ctx, rec), tarnerr.Closed)
		}
		rec.Release()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(fs.Paths(), before) {
			t.Errorf("%s left behind %v", end, fs.Paths())
		}
	}
}

func TestDynamicOptions(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(keySpec()))
	for options, kind := range map[[2]string]tarnerr.Kind{
		{"bucket", "4"}:                  tarnerr.Invalid,
		{"merge-engine", "aggregation"}:  tarnerr.Invalid,
		{"write-buffer-size", "lots"}:    tarnerr.Invalid,
		{"changelog-file.format", "orc"}: tarnerr.Unsupported,
		{"path", "/elsewhere"}:           tarnerr.Invalid,
	} {
		_, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Options: map[string]string{options[0]: options[1]}})
		wantKind(t, err, kind, options[0])
	}
	w, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Options: map[string]string{"bucket": "2", "file.compression": "none"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, set := tbl.Schema().Options["file.compression"]; set {
		t.Error("a dynamic option changed the table")
	}
}

// A table that Tarn would write otherwise than Java is refused, and can be read.
func TestWritesRefusedByOption(t *testing.T) {
	f := newFixture(t)
	spec := keySpec()
	spec.Options["file.format"] = "orc"
	tbl := f.open(f.create(spec))
	f.rows(tbl, table.Scan{})
	_, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{})
	wantKind(t, err, tarnerr.Unsupported, "file.format", "orc", "db.t")
	_, err = tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "u"})
	wantKind(t, err, tarnerr.Unsupported, "file.format")
	_, err = tbl.Commit(f.ctx, table.Committable{User: "u", Identifier: 1})
	wantKind(t, err, tarnerr.Unsupported, "file.format")
}

// overlooks is a server that promises conditional writes and overlooks the condition.
type overlooks struct{ fileio.FileIO }

func (o overlooks) Capabilities() fileio.Capabilities {
	c := o.FileIO.Capabilities()
	c.Unproven = true
	return c
}

func (o overlooks) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	return o.Replace(ctx, path, data)
}

// A storage that breaks its promise is found out before the first row, with the remedy.
func TestWritesRefusedByStorage(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	before := fs.Paths()
	tbl := f.open(overlooks{fs})
	_, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{})
	wantKind(t, err, tarnerr.Unsupported, "If-None-Match", "lock", "catalog", "db.t")
	_, err = tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "u"})
	wantKind(t, err, tarnerr.Unsupported, "If-None-Match")
	_, err = tbl.Compact(f.ctx, table.CompactOptions{})
	wantKind(t, err, tarnerr.Unsupported, "If-None-Match")
	if after := fs.Paths(); !slices.Equal(before, after) {
		t.Errorf("files are %v", after)
	}
}

// Time travel reads under the schema of that time, the present under the latest.
func TestSchemaOfASnapshot(t *testing.T) {
	f := newFixture(t)
	fs := f.create(appendSpec())
	f.mustWrite(f.open(fs), ids("mon", "a", 1))
	store := schema.NewStore(fs, dir, env.Real())
	if _, err := store.Alter(f.ctx, schema.DropColumn{Path: []string{"v"}},
		schema.AddColumn{Path: []string{"w"}, Type: types.MustParse("INT")}); err != nil {
		t.Fatal(err)
	}
	tbl := f.open(fs)
	f.want(f.rows(tbl, table.Scan{}), "mon|1|(null)")
	f.want(f.rows(tbl, table.Scan{SnapshotID: 1}), "mon|1|a")
	f.want(f.rows(tbl, table.Scan{SnapshotID: 1, Where: expr.Compare{Column: "v", Op: expr.Eq, Value: "a"}, Columns: []string{"v"}}), "a")
	then, err := tbl.SchemaAt(f.ctx, 1)
	if err != nil || then.Index("v") < 0 || then.Index("w") >= 0 {
		t.Errorf("schema of snapshot 1: %+v, %v", then, err)
	}
	if now, err := tbl.SchemaAt(f.ctx, 0); err != nil || now != tbl.Schema() {
		t.Errorf("schema of now: %+v, %v", now, err)
	}
}

func TestEmptyCommits(t *testing.T) {
	f := newFixture(t)
	tbl := f.open(f.create(appendSpec()))
	for ignore, snapshots := range map[string]int{"": 0, "true": 0, "false": 1} {
		opts := table.WriteOptions{User: "u" + ignore}
		if ignore != "" {
			opts.Options = map[string]string{"snapshot.ignore-empty-commit": ignore}
		}
		w, err := tbl.NewBatchWrite(f.ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if r, err := w.Commit(f.ctx); err != nil || len(r.Snapshots) != snapshots || r.Status != table.Succeeded {
			t.Errorf("an empty batch, ignored %q: %+v, %v", ignore, r, err)
		}
		opts.User = "stream" + ignore
		s, err := tbl.NewStreamWrite(f.ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if r, err := s.Commit(f.ctx, 1); err != nil || len(r.Snapshots) != 1 {
			t.Errorf("an empty commit of a stream, ignored %q, makes one: %+v, %v", ignore, r, err)
		}
	}
}

func TestSystemTables(t *testing.T) {
	f := newFixture(t)
	fs := f.create(keySpec())
	f.mustWrite(f.open(fs), ids("mon", "a", 1, 2))
	f.mustWrite(f.open(fs), ids("tue", "b", 1))
	read := func(system string, scan table.Scan) []string {
		id := name
		id.System = system
		tbl, err := f.tryOpen(fs, id)
		if err != nil {
			t.Fatal(err)
		}
		return f.rows(tbl, scan)
	}
	f.want(read("snapshots", table.Scan{Columns: []string{"snapshot_id", "commit_kind", "total_record_count"}}), "1|APPEND|2", "2|APPEND|3")
	f.want(read("files", table.Scan{Columns: []string{"partition", "record_count"}, Where: expr.Compare{Column: "partition", Op: expr.Eq, Value: "{tue}"}}), "{tue}|1")
	if n := len(read("files", table.Scan{SnapshotID: 1})); n == 0 || n == len(read("files", table.Scan{})) {
		t.Errorf("%d files in snapshot 1", n)
	}
	f.want(read("options", table.Scan{}), "bucket|2")
	if n := len(read("schemas", table.Scan{Limit: 1})); n != 1 {
		t.Errorf("%d schemas", n)
	}
	id := name
	id.System = "audit_log"
	_, err := f.tryOpen(fs, id)
	wantKind(t, err, tarnerr.Unsupported, "audit_log")
}

func TestEvents(t *testing.T) {
	f := newFixture(t)
	var told []string
	f.events = &event.Listener{
		CommitBegin: func(i event.CommitBegin) { told = append(told, "begin "+i.Table) },
		AttemptEnd:  func(i event.AttemptEnd) { told = append(told, "attempt "+i.Outcome) },
		CommitEnd:   func(i event.CommitEnd) { told = append(told, "end "+i.Status) },
		ScanPlanned: func(i event.ScanPlanned) { told = append(told, "planned "+i.Table) },
		Warning:     func(i event.Warning) { told = append(told, "warning "+i.Doing+": "+i.Err.Error()) },
	}
	tbl := f.open(f.create(appendSpec()))
	f.mustWrite(tbl, ids("mon", "a", 1))
	f.rows(tbl, table.Scan{})
	want := []string{"begin db.t", "attempt committed", "end SUCCEEDED", "planned db.t"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
