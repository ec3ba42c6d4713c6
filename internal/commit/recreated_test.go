package commit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// drop removes the table as DROP TABLE does.
func drop(t *testing.T, fs *mem.FS) {
	t.Helper()
	for _, p := range fs.Paths() {
		if !strings.HasPrefix(p, place.Dir+"/") {
			continue
		}
		if err := fs.Delete(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are all files of a storage with what is in them.
func contents(fs *mem.FS) []string {
	var out []string
	for _, p := range fs.Paths() {
		data, _ := fs.Get(p)
		out = append(out, p+" "+string(data))
	}
	return out
}

// A commit prepared for a table that was dropped since, and perhaps created
// again under its name, is refused and touches nothing: it lands in no other
// table and does not bring the old one back.
func TestTableDroppedBeforeCommit(t *testing.T) {
	ctx := context.Background()
	later := func() env.Env { return env.Seeded(8, time.Unix(1_800_000_000, 0).UTC()) }
	other := spec(true, nil)
	other.Fields = slices.Clone(other.Fields)
	other.Fields[0].Name, other.PrimaryKeys = "z", []string{"z"}
	for _, c := range []struct {
		name  string
		again func(t *testing.T, fs *mem.FS)
		kind  tarnerr.Kind
		word  string
	}{
		{"dropped", func(*testing.T, *mem.FS) {}, tarnerr.NotFound, "dropped"},
		{"created again with other columns", func(t *testing.T, fs *mem.FS) { create(t, fs, later(), other) }, tarnerr.Conflict, "created again"},
		{"created again with the same columns", func(t *testing.T, fs *mem.FS) { create(t, fs, later(), spec(false, nil)) }, tarnerr.Conflict, "created again"},
		// The new table has a commit of the same user and identifier: not this one.
		{"created and written again", func(t *testing.T, fs *mem.FS) {
			create(t, fs, later(), spec(false, nil))
			tb := open(t, fs, place, seeded(9))
			tb.put(tb.committer(), "u", 1, "new", 7)
			tb.put(tb.committer(), "u", 2, "new", 8)
		}, tarnerr.Conflict, "created again"},
	} {
		for _, earlier := range []int{0, 1} { // commits before the drop
			for _, identifier := range []int64{2, snapshot.BatchIdentifier} {
				t.Run(fmt.Sprint(c.name, "/", earlier, "/", identifier), func(t *testing.T) {
					fs := mem.New(mem.Posix)
					create(t, fs, seeded(1), spec(false, nil))
					tb := open(t, fs, place, seeded(2))
					committer := tb.committer()
					if earlier > 0 {
						tb.put(committer, "u", 1, "a", 1)
					}
					messages, err := tb.prepare(ctx, "b", 2)
					if err != nil {
						t.Fatal(err)
					}
					drop(t, fs)
					c.again(t, fs)
					before := contents(fs)
					for range 2 { // trying again changes nothing
						r, err := committer.Commit(ctx, commit.Request{User: "u", Identifier: identifier, Messages: messages})
						if tarnerr.KindOf(err) != c.kind || r.Status != commit.Failed || !strings.Contains(err.Error(), c.word) {
							t.Fatalf("status %s: %v", r.Status, err)
						}
					}
					if err := committer.AbortMessages(ctx, messages); err != nil {
						t.Error(err)
					}
					if !slices.Equal(contents(fs), before) {
						t.Errorf("files are %v", fs.Paths())
					}
				})
			}
		}
	}
}

// An altered table is the same one.
func TestTableAlteredBeforeCommit(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	tb := open(t, fs, place, seeded(2))
	if _, err := schema.NewStore(fs, place.Dir, seeded(3)).Alter(context.Background(), schema.SetOption{Key: "target-file-size", Value: "1 mb"}); err != nil {
		t.Fatal(err)
	}
	if r := tb.put(tb.committer(), "u", 1, "a", 1); r.Snapshots[0].SchemaID != 1 {
		t.Errorf("snapshot %+v", r.Snapshots[0])
	}
}

// failingOnce drops the table and creates it again while the first publish fails.
type failingOnce struct {
	commit.Publisher
	meanwhile func()
	err       error
}

func (p *failingOnce) Publish(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
	if p.meanwhile == nil {
		return p.Publisher.Publish(ctx, pub)
	}
	p.meanwhile()
	p.meanwhile = nil
	return commit.Unknown, p.err
}

// Between two tries: what failed for certain stays failed, what is in doubt
// stays in doubt, and the intent that a writer of the new table left under the
// same name is not touched.
func TestTableDroppedBetweenTries(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		kind, want tarnerr.Kind
		status     commit.Status
	}{
		{tarnerr.Unavailable, tarnerr.Conflict, commit.Failed},
		{tarnerr.Ambiguous, tarnerr.CommitStateUnknown, commit.Undecided},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			fs := mem.New(mem.Posix)
			create(t, fs, seeded(1), spec(false, nil))
			tb := open(t, fs, place, seeded(2))
			pub, err := commit.NewFilePublisher(fs, place)
			if err != nil {
				t.Fatal(err)
			}
			var before []string
			tb.pub = &failingOnce{Publisher: pub, err: tarnerr.New(c.kind, "publishing", "lost"), meanwhile: func() {
				drop(t, fs)
				create(t, fs, env.Seeded(8, time.Unix(1_800_000_000, 0).UTC()), spec(false, nil))
				crashed(t, fs)
				before = contents(fs)
			}}
			messages, err := tb.prepare(ctx, "b", 2)
			if err != nil {
				t.Fatal(err)
			}
			r, err := tb.committer().Commit(ctx, commit.Request{User: "u", Identifier: 1, Messages: messages})
			if tarnerr.KindOf(err) != c.want || r.Status != c.status || !strings.Contains(err.Error(), "created again") {
				t.Errorf("status %s: %v", r.Status, err)
			}
			if !slices.Equal(contents(fs), before) {
				t.Errorf("files are %v", fs.Paths())
			}
		})
	}
}

// crashed is a writer that leaves an intent of u's first commit in the table.
func crashed(t *testing.T, fs *mem.FS) {
	t.Helper()
	tb := open(t, fs, place, seeded(11))
	messages, err := tb.prepare(context.Background(), "new", 9)
	if err != nil {
		t.Fatal(err)
	}
	tb.pub = publisherOf(commit.Unknown, tarnerr.New(tarnerr.Internal, "publishing", "crashed"))
	if _, err := tb.committer().Commit(context.Background(), commit.Request{User: "u", Identifier: 1, Messages: messages}); tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(fs.Paths(), func(p string) bool { return strings.Contains(p, "/.tarn/") }) {
		t.Fatal("no intent is left")
	}
}

type answer struct {
	outcome commit.Outcome
	err     error
}

func publisherOf(o commit.Outcome, err error) commit.Publisher { return answer{o, err} }

func (a answer) Publish(context.Context, commit.Publication) (commit.Outcome, error) {
	return a.outcome, a.err
}

// A check that cannot be made fails the commit before any effect.
func TestTableCannotBeChecked(t *testing.T) {
	fs := mem.New(mem.Posix)
	create(t, fs, seeded(1), spec(false, nil))
	faulty := faultio.New(fs, nil)
	tb := open(t, faulty, place, seeded(2))
	messages, err := tb.prepare(context.Background(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	faulty.SetPlan(faultio.FailWhere(func(c faultio.Call) bool {
		return c.Method == "open" && strings.Contains(c.Path, "/schema/")
	}, faultio.Before, tarnerr.Unavailable))
	before := contents(fs)
	r, err := tb.committer().Commit(context.Background(), commit.Request{User: "u", Identifier: 1, Messages: messages})
	if tarnerr.KindOf(err) != tarnerr.Unavailable || r.Status != commit.Failed || !slices.Equal(contents(fs), before) {
		t.Errorf("%+v, %v", r, err)
	}
}
