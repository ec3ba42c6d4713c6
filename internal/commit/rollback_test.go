package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// deletion stages a table whose two files a job has compacted, and a deletion of
// key 1 from the first that was prepared before.
func deletion(t *testing.T) (*mem.FS, commit.Request) {
	t.Helper()
	for _, d := range deeds {
		if d.name == "rollback" {
			fs, req := d.stage(t)
			return fs, req
		}
	}
	t.Fatal("no such deed")
	return nil, commit.Request{}
}

// A writer has built its snapshot upon the compaction when that is undone, and
// publishes then. Had the id been given out again, its rows would be lost, or
// those of the deletion. So it brings the compaction back, and the deletion is
// refused.
func TestRollbackMeetsAWriter(t *testing.T) {
	ctx := context.Background()
	fs, req := deletion(t)
	writer := open(t, fs, place, seeded(600))
	messages, err := writer.prepare(ctx, "w", 7)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	// The writer is about to publish; the deletion begins, undoes the compaction and
	// waits to try again; only then the writer's snapshot lands.
	var deleted error
	writer.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (outcome commit.Outcome, err error) {
		remover := open(t, fs, place, seeded(601))
		remover.env = &interposed{Env: seeded(602), on: func() { outcome, err = inner.Publish(ctx, pub) }}
		_, deleted = remover.committer().Commit(ctx, req)
		return outcome, err
	})
	r, err := writer.committer().Commit(ctx, commit.Request{User: "w", Identifier: 1, Messages: messages})
	if err != nil || len(r.Attempts) != 1 || r.IDs()[0] != 4 {
		t.Fatalf("%v, %+v", err, r)
	}
	if !errors.Is(deleted, tarnerr.Conflict) {
		t.Errorf("the deletion: %v", deleted)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=a", "2=b", "3=b", "7=w"}) {
		t.Errorf("rows %v", got)
	}
	if s := snapshots(t, fs); len(s) != 4 || s[2].CommitKind != snapshot.Compact || s[2].DeltaRecordCount != 0 || s[3].TotalRecordCount != 5 {
		t.Errorf("snapshots %+v", s)
	}
}

type publisherFunc func(context.Context, commit.Publication) (commit.Outcome, error)

func (f publisherFunc) Publish(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
	return f(ctx, pub)
}

// What was merged for a try upon the compaction is not taken for one without it.
func TestRollbackAfterAMerge(t *testing.T) {
	ctx := context.Background()
	fs, req := deletion(t)
	tb := open(t, fs, place, seeded(610))
	tb.opts.ManifestMergeMinCount = 2
	var end event.CommitEnd
	tb.listener = &event.Listener{CommitEnd: func(e event.CommitEnd) { end = e }}
	r, err := tb.committer().Commit(ctx, req)
	if err != nil || !slices.Equal(r.RolledBack, []int64{3}) || r.Base != 3 || r.IDs()[0] != 4 {
		t.Fatalf("%v, %+v", err, r)
	}
	gone := req.Messages[0].DeletedFiles[0].FileSize
	if !slices.Equal(end.RolledBack, r.RolledBack) || r.Rewritten == 0 || end.Rewritten != r.Rewritten || r.BytesGone != gone || end.BytesDeleted != gone || end.Already {
		t.Errorf("%+v, told %+v", r, end)
	}
	if e := records(t, fs)["u-1-OVERWRITE"].End; e == nil || e.BytesDeleted != gone || e.Rewritten != r.Rewritten || !slices.Equal(e.RolledBack, r.RolledBack) {
		t.Errorf("record %+v", e)
	}
	if r.Attempts[0].Outcome != "rolled back" || !strings.Contains(r.Attempts[0].Cause, "check=file-deletion") {
		t.Errorf("attempts %+v", r.Attempts)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"2=a", "2=b", "3=b"}) {
		t.Errorf("rows %v", got)
	}
	// The compactor, asking what became of its commit, finds it committed: it changed
	// no row and is not to be repeated under that name.
	c := open(t, fs, place, seeded(611)).committer()
	if r, err := c.ResolveNamed(ctx, "compactor", 1, 0); err != nil || len(r) != 1 || r[0].Kind != snapshot.Compact || r[0].Snapshot != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := c.FilterCommitted(ctx, "compactor", []int64{1, 2}); err != nil || !slices.Equal(left, []int64{2}) {
		t.Errorf("%v, %v", left, err)
	}
}

// A catalog that commits rolls back itself.
type catalogRollback struct {
	fs   *mem.FS
	seen []int64
	err  error
}

func (c *catalogRollback) Rollback(_ context.Context, latest, before *snapshot.Snapshot) error {
	c.seen = append(c.seen, latest.ID, before.ID)
	if c.err == nil {
		c.fs.Remove(place.SnapshotFile(latest.ID))
		c.fs.Put(place.LatestHint(), []byte("2"))
	}
	return c.err
}

func TestRollbackByACatalog(t *testing.T) {
	ctx := context.Background()
	fs, req := deletion(t)
	tb := open(t, fs, place, seeded(620))
	rb := &catalogRollback{fs: fs}
	tb.rollback = rb
	r, err := tb.committer().Commit(ctx, req)
	if err != nil || r.IDs()[0] != 3 || r.Base != 2 || !slices.Equal(rb.seen, []int64{3, 2}) {
		t.Fatalf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"2=a", "2=b", "3=b"}) {
		t.Errorf("rows %v", got)
	}

	// One that refuses leaves the conflict; one that cannot be reached is asked again.
	for kind, asked := range map[tarnerr.Kind]int{tarnerr.Denied: 1, tarnerr.Unavailable: 3} {
		fs, req = deletion(t)
		tb = open(t, fs, place, seeded(621))
		tb.opts.CommitMaxRetries = 2
		rb = &catalogRollback{fs: fs, err: tarnerr.New(kind, "rolling back", "not now")}
		tb.rollback = rb
		r, err = tb.committer().Commit(ctx, req)
		if !errors.Is(err, tarnerr.Conflict) || len(rb.seen) != 2*asked || len(r.RolledBack) != 0 || r.Status != commit.Failed {
			t.Errorf("%v: %v, %+v", kind, err, r)
		}
		if err := tb.committer().AbortMessages(ctx, req.Messages); err != nil {
			t.Error(err)
		}
		if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=a", "2=b", "3=b"}) {
			t.Errorf("rows %v", got)
		}
	}
}

// Aborting removes what the messages made, index files too, and leaves what they
// only wanted to remove (case 198).
func TestAbortOfEachKind(t *testing.T) {
	ctx := context.Background()
	w := &world{T: t, keyed: true}
	w.begin(spec(true, nil))
	f := w.made("a", 1)
	w.messages["f1"], w.files["f1"] = f, f.NewFiles[0]
	if _, err := w.committer("u").Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{f}}); err != nil {
		t.Fatal(err)
	}
	w.fs.Put(place.IndexFile("index-old"), []byte("i"))
	before := w.fs.Paths()
	m := w.made("b", 2)
	changes := w.made("b", 2).NewFiles[0]
	m.ChangelogFiles = []*datafile.Meta{changes}
	m.CompactBefore, m.CompactAfter = f.NewFiles, []*datafile.Meta{w.rewritten([]pair{{1, "a"}}), f.NewFiles[0].Upgrade(3)}
	index := func(name string) []manifest.IndexEntry {
		w.fs.Put(place.IndexFile(name), []byte("i"))
		return []manifest.IndexEntry{{IndexType: "HASH", FileName: name, FileSize: 1}}
	}
	m.NewIndex, m.CompactNewIndex, m.DeletedIndex = index("index-1"), index("index-2"), index("index-old")
	if err := w.committer("u").AbortMessages(ctx, []*commitmsg.Message{m}); err != nil {
		t.Fatal(err)
	}
	if got := w.fs.Paths(); !slices.Equal(got, before) {
		t.Errorf("files\n%v\nwant\n%v", got, before)
	}
}
