package commit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
)

// A compaction of file 1 has read the table; another one compacts files 1 and 2, a
// writer builds upon that, a deletion undoes it, the writer brings it back. The
// changes since no longer tell that file 1 is gone, so the first compaction must
// not go by them when it tries again: its rows would be there twice.
func TestRetryPastAnUndoneCompaction(t *testing.T) {
	ctx := context.Background()
	var removal, others commit.Request
	d := deed{name: "undone base", prepare: func(w *world) commit.Request {
		f := w.files["f1"]
		m := w.like(f)
		m.DeletedFiles, m.NewFiles = []*datafile.Meta{f}, w.made("a", 2).NewFiles
		removal = commit.Request{User: "u", Identifier: 1, Messages: []*commitmsg.Message{m}}
		others = commit.Request{User: "other", Identifier: 1, Messages: []*commitmsg.Message{w.compacted(0)}}
		m = w.like(f)
		m.CompactBefore, m.CompactAfter = []*datafile.Meta{f}, []*datafile.Meta{w.rewritten([]pair{{1, "a"}, {2, "a"}})}
		return commit.Request{User: "compactor", Identifier: 1, Messages: []*commitmsg.Message{m}}
	}}
	fs, compaction := d.stage(t)
	writer := open(t, fs, place, seeded(710))
	messages, err := writer.prepare(ctx, "w", 7)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	writer.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (outcome commit.Outcome, err error) {
		remover := open(t, fs, place, seeded(711))
		remover.env = &interposed{Env: seeded(712), on: func() { outcome, err = inner.Publish(ctx, pub) }}
		if _, err := remover.committer().Commit(ctx, removal); !errors.Is(err, tarnerr.Conflict) {
			t.Errorf("the deletion: %v", err)
		}
		return outcome, err
	})
	compactor := open(t, fs, place, seeded(713))
	compactor.pub = &interruptedPublisher{inner, func() {
		if _, err := open(t, fs, place, seeded(714)).committer().Commit(ctx, others); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.committer().Commit(ctx, commit.Request{User: "w", Identifier: 1, Messages: messages}); err != nil {
			t.Fatal(err)
		}
	}}
	r, err := compactor.committer().Commit(ctx, compaction)
	if !errors.Is(err, tarnerr.Conflict) {
		t.Errorf("%v, %+v", err, r)
	}
	if got := rows(t, fs, place); !slices.Equal(got, []string{"1=a", "2=a", "2=b", "3=b", "7=w"}) {
		t.Errorf("rows %v", got)
	}
}
