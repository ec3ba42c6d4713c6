package commit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// stageUndone is a table of two files with a commit that is about to be made to it.
// writes lets a writer build upon the latest snapshot, a compaction; before it
// publishes, a deletion undoes that, and the writer brings it back.
func stageUndone(t *testing.T, prepare func(w *world) commit.Request) (fs *mem.FS, inner commit.Publisher, req commit.Request, writes func()) {
	t.Helper()
	ctx := context.Background()
	var removal commit.Request
	d := deed{name: "undone", prepare: func(w *world) commit.Request {
		f := w.files["f1"]
		m := w.like(f)
		m.DeletedFiles, m.NewFiles = []*datafile.Meta{f}, w.made("a", 2).NewFiles
		removal = commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{m}}
		return prepare(w)
	}}
	fs, req = d.stage(t)
	writer := open(t, fs, place, seeded(700))
	messages, err := writer.prepare(ctx, "w", 7)
	if err != nil {
		t.Fatal(err)
	}
	if inner, err = commit.NewFilePublisher(fs, place); err != nil {
		t.Fatal(err)
	}
	writer.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (outcome commit.Outcome, err error) {
		remover := open(t, fs, place, seeded(701))
		remover.env = &interposed{Env: seeded(702), on: func() { outcome, err = inner.Publish(ctx, pub) }}
		if _, err := remover.committer().Commit(ctx, removal); !errors.Is(err, tarnerr.Conflict) {
			t.Errorf("the deletion: %v", err)
		}
		return outcome, err
	})
	return fs, inner, req, func() {
		if _, err := writer.committer().Commit(ctx, commit.Request{User: "w", Identifier: 1, Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}
}

// A compaction lands and nobody tells its committer. Before that one looks, a
// writer has built upon the compaction, a deletion has undone it, and the writer
// has brought it back. The compaction is committed: neither its files nor its
// manifests may be deleted, which the writer's snapshot needs.
func TestCompactionUndoneWhileInDoubt(t *testing.T) {
	ctx := context.Background()
	for _, id := range []int64{1, snapshot.BatchIdentifier} {
		t.Run(fmt.Sprint(id), func(t *testing.T) {
			fs, inner, compaction, writes := stageUndone(t, func(w *world) commit.Request {
				return commit.Request{User: "compactor", Identifier: id, Messages: []*commitmsg.Message{w.compacted(0)}}
			})
			compactor := open(t, fs, place, seeded(703))
			compactor.opts.ManifestMergeMinCount = 2
			compactor.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
				if o, err := inner.Publish(ctx, pub); o != commit.Committed {
					t.Fatal(o, err)
				}
				writes()
				return commit.Unknown, tarnerr.New(tarnerr.Ambiguous, "publishing snapshot", "no reply")
			})
			c := compactor.committer()
			r, err := c.Commit(ctx, compaction)
			if err != nil || r.Status != commit.Succeeded {
				t.Errorf("%v, %+v", err, r)
				if r.Status == commit.Failed { // as a compactor does
					if err := c.AbortMessages(ctx, compaction.Messages); err != nil {
						t.Error(err)
					}
				}
			}
			if s := snapshots(t, fs); len(s) != 4 || s[2].CommitKind != snapshot.Compact || s[2].DeltaRecordCount != 0 {
				t.Fatalf("snapshots %+v", s)
			}
			if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=a", "2=b", "3=b", "7=w"}) {
				t.Errorf("rows %v", got)
			}
		})
	}
}

// A compaction of file 1 has read the table; another one compacts files 1 and 2, a
// writer builds upon that, a deletion undoes it, the writer brings it back. The
// changes since no longer tell that file 1 is gone, so the first compaction must
// not go by them when it tries again: its rows would be there twice.
func TestRetryPastAnUndoneCompaction(t *testing.T) {
	ctx := context.Background()
	var others commit.Request
	fs, inner, compaction, writes := stageUndone(t, func(w *world) commit.Request {
		others = commit.Request{User: "other", Identifier: 1, Messages: []*commitmsg.Message{w.compacted(0)}}
		f := w.files["f1"]
		m := w.like(f)
		m.CompactBefore, m.CompactAfter = []*datafile.Meta{f}, []*datafile.Meta{w.rewritten([]pair{{1, "a"}, {2, "a"}})}
		return commit.Request{User: "compactor", Identifier: 1, Messages: []*commitmsg.Message{m}}
	})
	compactor := open(t, fs, place, seeded(713))
	compactor.pub = &interruptedPublisher{inner, func() {
		if _, err := open(t, fs, place, seeded(714)).committer().Commit(ctx, others); err != nil {
			t.Fatal(err)
		}
		writes()
	}}
	r, err := compactor.committer().Commit(ctx, compaction)
	if !errors.Is(err, tarnerr.Conflict) {
		t.Errorf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=a", "2=b", "3=b", "7=w"}) {
		t.Errorf("rows %v", got)
	}
}
