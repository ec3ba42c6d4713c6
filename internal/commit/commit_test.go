package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

func TestCommitOfBothKinds(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		for _, profile := range []mem.Profile{mem.Posix, mem.ObjectStore} {
			t.Run(profile.String(), func(t *testing.T) {
				fs := mem.New(profile)
				create(t, fs, seeded(1), spec(keyed, nil))
				tb := open(t, fs, place, seeded(2))
				c := tb.committer()
				tb.put(c, "u", 1, "a", 1, 2)
				r := tb.put(c, "u", 2, "b", 2, 3)
				want := []string{"1=a", "2=a", "2=b", "3=b"}
				if keyed {
					want = []string{"1=a", "2=b", "3=b"}
				}
				if d := cmp.Diff(want, rows(t, fs, place)); d != "" {
					t.Error(d)
				}
				check(t, fs, 0)
				if r.Status != commit.Succeeded || r.Base != 1 || r.FilesAdded != 1 || r.Rows != 2 || r.Bytes == 0 || len(r.Attempts) != 1 || r.IDs()[0] != 2 {
					t.Errorf("report %+v", r)
				}
				hint, _ := fs.Get(place.LatestHint())
				first, _ := fs.Get(place.EarliestHint())
				if string(hint) != "2" || string(first) != "1" {
					t.Errorf("hints %q and %q", hint, first)
				}
			})
		}
	}
}

// The snapshot has the fields that Java 1.4.2 writes, no others.
func TestSnapshotFields(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(true, nil))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	messages, err := tb.prepare(context.Background(), "a", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	mark := int64(500)
	if _, err := c.Commit(context.Background(), commit.Request{
		User: "u", Identifier: 7, Messages: messages, Watermark: &mark, Properties: map[string]string{"p": "q"},
	}); err != nil {
		t.Fatal(err)
	}
	got, _ := fs.Get(place.SnapshotFile(1))
	s, err := snapshot.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	want := &snapshot.Snapshot{
		Version: 3, ID: 1, SchemaID: 0, BaseManifestList: s.BaseManifestList, BaseManifestListSize: s.BaseManifestListSize,
		DeltaManifestList: s.DeltaManifestList, DeltaManifestListSize: s.DeltaManifestListSize, CommitUser: "u",
		CommitIdentifier: 7, CommitKind: snapshot.Append, TimeMillis: s.TimeMillis, TotalRecordCount: 2, DeltaRecordCount: 2,
		Watermark: &mark, Properties: map[string]string{"p": "q"}, NextRowID: &zero,
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	// Watermarks never go back; properties are of one snapshot; totals add up.
	if messages, err = tb.prepare(context.Background(), "b", 3); err != nil {
		t.Fatal(err)
	}
	low := int64(400)
	r, err := c.Commit(context.Background(), commit.Request{User: "u", Identifier: 8, Messages: messages, Watermark: &low})
	if err != nil {
		t.Fatal(err)
	}
	next := r.Snapshots[0]
	if *next.Watermark != 500 || next.Properties != nil || next.TotalRecordCount != 3 || next.DeltaRecordCount != 1 {
		t.Errorf("second snapshot %+v", next)
	}
	if next.UUID != nil || !strings.HasSuffix(string(got), "\n  \"nextRowId\" : 0\n}") {
		t.Errorf("snapshot file %s", got)
	}
}

// The schema id is the latest one when committing, not the writer's; table
// statistics are taken over while it is theirs.
func TestInheritance(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	tb.put(c, "u", 1, "a", 1)
	name := "stat-x-0"
	fs.Put(place.StatisticsFile(name), []byte(`{"snapshotId" : 1, "schemaId" : 0}`))
	data, _ := fs.Get(place.SnapshotFile(1))
	s, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s.Statistics = &name
	fs.Put(place.SnapshotFile(1), s.Marshal())

	if r := tb.put(c, "u", 2, "b", 2); r.Snapshots[0].Statistics == nil || *r.Snapshots[0].Statistics != name {
		t.Errorf("statistics were not taken over: %+v", r.Snapshots[0])
	}
	if _, err := schema.NewStore(fs, place.Dir, seeded(3)).Alter(ctx, schema.SetOption{Key: "target-file-size", Value: "1 mb"}); err != nil {
		t.Fatal(err)
	}
	r := tb.put(c, "u", 3, "c", 3)
	if got := r.Snapshots[0]; got.SchemaID != 1 || got.Statistics != nil {
		t.Errorf("schema %d, statistics %v", got.SchemaID, got.Statistics)
	}
}

// Steady commits of one process: what the storage is asked. Java needs 29 calls
// for an append table and 35 for a key table.
func TestStorageCallsOfACommit(t *testing.T) {
	for _, c := range []struct {
		keyed       bool
		first, next int64
		calls       string
	}{
		{keyed: false, first: 15, next: 12, calls: "open=2 create=4 create-if-absent=2 replace=2 stat=2"},
		{keyed: true, first: 18, next: 12, calls: "open=2 create=4 create-if-absent=2 replace=2 stat=2"},
	} {
		fs := mem.New(mem.ObjectStore)
		create(t, fs, seeded(1), spec(c.keyed, nil))
		before := open(t, fs, place, seeded(2))
		before.put(before.committer(), "other", 1, "a", 1)

		count := layer.Count(fs)
		tb := open(t, count, place, seeded(3))
		w, cm := tb.writer(), tb.committer()
		step := func(id int64) int64 {
			count.Reset()
			rec := tb.rec("b", 1, 2, 3)
			defer rec.Release()
			if err := w.Write(context.Background(), rec); err != nil {
				t.Fatal(err)
			}
			messages, err := w.Prepare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cm.Commit(context.Background(), commit.Request{User: "u", Identifier: id, Messages: messages}); err != nil {
				t.Fatal(err)
			}
			return count.Total()
		}
		if got := step(1); got != c.first {
			t.Errorf("keyed=%v: the first commit of a process asks %d times, want %d: %v", c.keyed, got, c.first, count)
		}
		if got := step(2); got != c.next || count.Calls(layer.List) != 0 {
			t.Errorf("keyed=%v: a commit asks %d times, want %d: %v", c.keyed, got, c.next, count)
		}
		if got := count.String(); !strings.HasPrefix(got, c.calls) {
			t.Errorf("keyed=%v: %s, want %s", c.keyed, got, c.calls)
		}
		w.Close()
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	messages, err := tb.prepare(ctx, "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	file := messages[0].NewFiles
	with := func(change func(m *commitmsg.Message)) []*commitmsg.Message {
		m := *messages[0]
		change(&m)
		return []*commitmsg.Message{&m}
	}
	paths := fs.Paths()
	for name, r := range map[string]struct {
		req  commit.Request
		kind tarnerr.Kind
	}{
		"twice":         {commit.Request{User: "u", Messages: append(messages, messages...)}, tarnerr.Invalid},
		"no user":       {commit.Request{Messages: messages}, tarnerr.Invalid},
		"back in place": {commit.Request{User: "u", Messages: with(func(m *commitmsg.Message) { m.CompactBefore, m.CompactAfter = file, file })}, tarnerr.Invalid},
		"no column":     {commit.Request{User: "u", Overwrite: &commit.Overwrite{Partitions: []map[string]string{{"x": "1"}}}}, tarnerr.Invalid},
	} {
		report, err := c.Commit(ctx, r.req)
		if err == nil || tarnerr.KindOf(err) != r.kind || report.Status != commit.Failed {
			t.Errorf("%s: %v, report %+v", name, err, report)
		}
	}
	if d := cmp.Diff(paths, fs.Paths()); d != "" {
		t.Errorf("a refused commit left something: %s", d)
	}

	bare := mem.New(mem.NoConditional)
	for _, p := range fs.Paths() {
		data, _ := fs.Get(p)
		bare.Put(p, data)
	}
	if _, err := open(t, bare, place, seeded(3)).newCommitter(); tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "catalog") {
		t.Errorf("a storage without conditional create: %v", err)
	}
}

func TestEmptyCommits(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: 1})
	if err != nil || r.Status != commit.Succeeded || len(r.Snapshots) != 0 {
		t.Errorf("nothing to commit: %+v, %v", r, err)
	}
	r, err = c.Commit(ctx, commit.Request{User: "u", Identifier: 1, Empty: true})
	if err != nil || len(r.Snapshots) != 1 {
		t.Errorf("an empty snapshot: %+v, %v", r, err)
	}
	check(t, fs, 0)
}

// One identifier of a stream commits once, whoever tries again.
func TestIdentifierCommitsOnce(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	tb.put(tb.committer(), "u", 5, "a", 1)
	messages, err := tb.prepare(ctx, "again", 1)
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, fs, place, seeded(3))
	var end event.CommitEnd
	again.listener = &event.Listener{CommitEnd: func(e event.CommitEnd) { end = e }}
	later := again.committer()
	r, err := later.Commit(ctx, commit.Request{User: "u", Identifier: 5, Messages: messages})
	if err != nil || !r.Already || len(r.Snapshots) != 0 || !end.Already {
		t.Errorf("%+v, %v, told %+v", r, err, end)
	}
	if err := later.AbortMessages(ctx, messages); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1=a"}, rows(t, fs, place)); d != "" {
		t.Error(d)
	}
	check(t, fs, 0)

	if id, ok, err := later.LastCommitted(ctx, "u"); id != 5 || !ok || err != nil {
		t.Errorf("last committed %d, %v, %v", id, ok, err)
	}
	if _, ok, err := later.LastCommitted(ctx, "nobody"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for _, f := range []struct {
		user     string
		in, want []int64
	}{
		{"u", []int64{3, 5, 6, 9}, []int64{6, 9}},
		{"u", []int64{1}, nil},
		{"u", nil, nil},
		{"nobody", []int64{1, 2}, []int64{1, 2}},
	} {
		if got, err := later.FilterCommitted(ctx, f.user, f.in); err != nil || cmp.Diff(f.want, got) != "" {
			t.Errorf("%v of %s: %v, %v", f.in, f.user, got, err)
		}
	}
	if _, err := later.FilterCommitted(ctx, "u", []int64{2, 2}); tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("identifiers that do not ascend: %v", err)
	}
}

// Batch commits of one user share an identifier and are not taken for each other.
func TestBatchCommitsOfOneUser(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	tb.put(c, "u", snapshot.BatchIdentifier, "a", 1)
	tb.put(c, "u", snapshot.BatchIdentifier, "b", 2)
	if d := cmp.Diff([]string{"1=a", "2=b"}, rows(t, fs, place)); d != "" {
		t.Error(d)
	}
}

func TestAbortMessages(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(true, nil))
	tb := open(t, fs, place, seeded(2))
	before := fs.Paths()
	messages, err := tb.prepare(ctx, "a", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	side := "x.index"
	messages[0].NewFiles[0].ExtraFiles = []string{side}
	fs.Put(place.DataFile("", 0, side), nil)
	// A file that was only moved to another level stays.
	kept := &datafile.Meta{FileName: "kept.parquet", Level: 5}
	fs.Put(place.DataFile("", 0, kept.FileName), nil)
	// One that the messages brought, and merged or moved on the way, goes.
	fresh := messages[0].NewFiles[0]
	messages[0].CompactBefore = []*datafile.Meta{{FileName: kept.FileName}, fresh}
	messages[0].CompactAfter = []*datafile.Meta{kept, fresh}
	if err := tb.committer().AbortMessages(ctx, messages); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(append([]string{place.DataFile("", 0, kept.FileName)}, before...), fs.Paths()); d != "" {
		t.Error(d)
	}
}

type callback struct {
	name string
	err  error
	seen []int64
}

func (c *callback) Name() string { return c.name }
func (c *callback) Landed(_ context.Context, l commit.Landed) error {
	c.seen = append(c.seen, l.Snapshot.ID)
	return c.err
}

// A failed callback is in the result and turns nothing into an error.
func TestCallbacks(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	bad, good := &callback{name: "bad", err: errors.New("no")}, &callback{name: "good"}
	tb.calls = []commit.Callback{bad, good}
	var warned []string
	var ends []event.CommitEnd
	tb.listener = &event.Listener{
		Warning:   func(w event.Warning) { warned = append(warned, w.Doing) },
		CommitEnd: func(e event.CommitEnd) { ends = append(ends, e) },
	}
	r := tb.put(tb.committer(), "u", 1, "a", 1)
	if want := []commit.CallbackOutcome{{Name: "bad", Snapshot: 1, Err: bad.err}, {Name: "good", Snapshot: 1}}; !slices.Equal(r.Callbacks, want) || r.Status != commit.Succeeded {
		t.Errorf("report %+v", r)
	}
	if len(good.seen) != 1 || len(warned) != 1 || len(ends) != 1 || ends[0].Status != "SUCCEEDED" || ends[0].Snapshots[0] != 1 {
		t.Errorf("seen %v, warned %v, ends %+v", good.seen, warned, ends)
	}
}

// A message goes to another process as bytes and is committed there: it needs
// nothing of its writer (INV-WRITE-4).
func TestMessageAsBytes(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(true, nil))
	messages, err := open(t, fs, place, seeded(2)).prepare(ctx, "a", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var received []*commitmsg.Message
	for _, m := range messages {
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back commitmsg.Message
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		received = append(received, &back)
	}
	if d := cmp.Diff(messages, received, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if _, err := open(t, fs, place, seeded(3)).committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: received}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1=a", "2=a"}, rows(t, fs, place)); d != "" {
		t.Error(d)
	}
}
