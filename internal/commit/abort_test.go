package commit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/tarnerr"
)

// What the table has is not aborted, whoever believes that its commit has failed.
func TestCommittedFilesAreNotAborted(t *testing.T) {
	ctx := context.Background()
	for _, d := range deeds {
		if d.name != "append and compact" {
			continue
		}
		fs, req := d.stage(t)
		tb := open(t, fs, place, seeded(800))
		c := tb.committer()
		if r, err := c.Commit(ctx, req); err != nil || len(r.Snapshots) != 2 {
			t.Fatalf("%v, %+v", err, r)
		}
		before := fs.Paths()
		for name, messages := range map[string][]*commitmsg.Message{"all": req.Messages, "the compaction": commit.Compactions(req.Messages)} {
			if err := c.AbortMessages(ctx, messages); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "committed") {
				t.Errorf("aborting %s: %v", name, err)
			}
		}
		if got := fs.Paths(); !slices.Equal(got, before) {
			t.Errorf("files %v, were %v", got, before)
		}

		// A restart that does not ask what was committed, long after: others have come
		// since, the records of commits are gone. Its compaction conflicts with itself,
		// and its files are the table's.
		other := open(t, fs, place, seeded(801))
		other.put(other.committer(), "other", 1, "o", 9)
		for _, p := range fs.Paths() {
			if strings.Contains(p, "/.tarn/") {
				fs.Remove(p)
			}
		}
		late := open(t, fs, place, seeded(802)).committer()
		r, err := late.Commit(ctx, req)
		if err != nil || r.Compaction == nil {
			t.Fatalf("%v, %+v", err, r)
		}
		if err := late.AbortMessages(ctx, commit.Compactions(req.Messages)); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("aborting a compaction that conflicts with itself: %v", err)
		}
		// Files that are nobody's go.
		other.restore = nothingHeld{} // the table has a file twice now
		spare, err := other.prepare(ctx, "x", 5)
		if err != nil {
			t.Fatal(err)
		}
		before = slices.DeleteFunc(fs.Paths(), func(p string) bool { return strings.HasSuffix(p, spare[0].NewFiles[0].FileName) })
		if err := late.AbortMessages(ctx, spare); err != nil {
			t.Error(err)
		}
		if got := fs.Paths(); !slices.Equal(got, before) {
			t.Errorf("files %v, want %v", got, before)
		}
	}
}
