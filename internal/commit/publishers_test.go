package commit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commit/publishertest"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// fileWorld is a table on a storage whose writes of snapshot files can go wrong.
func fileWorld(t *testing.T, fs fileio.FileIO, dir string, open func(fio fileio.FileIO, at layout.Table) (commit.Publisher, error)) publishertest.World {
	t.Helper()
	at := layout.Table{Dir: dir}
	faulty := faultio.New(fs, nil)
	p, err := open(faulty, at)
	if err != nil {
		t.Fatal(err)
	}
	return publishertest.World{
		Publisher: func() commit.Publisher { return p }, // it keeps nothing between calls
		At: func(id int64) *snapshot.Snapshot {
			data, err := fileio.ReadFile(context.Background(), fs, at.SnapshotFile(id))
			if tarnerr.KindOf(err) == tarnerr.NotFound {
				return nil
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := snapshot.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Fail: func(f publishertest.Fault) {
			done := false
			faulty.SetPlan(faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
				if done || !c.Changes() || !strings.Contains(c.Path, "/snapshot-") {
					return faultio.Fault{}
				}
				done = true
				switch f {
				case publishertest.Refuse:
					return faultio.Fault{When: faultio.Before}
				case publishertest.Drop:
					return faultio.Fault{When: faultio.Before, Kind: tarnerr.Ambiguous}
				}
				return faultio.Fault{When: faultio.After}
			}))
		},
	}
}

// One contract, all publishers.
func TestPublishers(t *testing.T) {
	file := commit.NewFilePublisher
	locked := func(fio fileio.FileIO, at layout.Table) (commit.Publisher, error) {
		return commit.NewLockedPublisher(fio, at, &publishertest.Lock{}, "db", "t"), nil
	}
	t.Run("local", func(t *testing.T) {
		publishertest.Run(t, func(t *testing.T) publishertest.World {
			return fileWorld(t, local.New(local.Options{Durability: fileio.OS}), t.TempDir(), file)
		})
	})
	for _, profile := range mem.Profiles {
		if profile != mem.NoConditional {
			t.Run("file/"+profile.String(), func(t *testing.T) {
				publishertest.Run(t, func(t *testing.T) publishertest.World { return fileWorld(t, mem.New(profile), "/w/t", file) })
			})
		}
		t.Run("lock/"+profile.String(), func(t *testing.T) {
			publishertest.Run(t, func(t *testing.T) publishertest.World { return fileWorld(t, mem.New(profile), "/w/t", locked) })
		})
	}
	for _, impatient := range []bool{false, true} {
		for _, uuids := range []bool{false, true} {
			t.Run(fmt.Sprintf("catalog/impatient=%v/uuids=%v", impatient, uuids), func(t *testing.T) {
				publishertest.Run(t, func(*testing.T) publishertest.World {
					c := &publishertest.Catalog{Impatient: impatient}
					return publishertest.World{
						Publisher: func() commit.Publisher { return commit.NewCatalogPublisher(c, uuids) }, At: c.At, Fail: c.Fail,
					}
				})
			})
		}
	}
}

// A storage without conditional create is refused, and the refusal says what to do.
func TestRefusedStorageNamesTheRemedy(t *testing.T) {
	_, err := commit.NewFilePublisher(mem.New(mem.NoConditional), layout.Table{Dir: "/w/t"})
	if tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "lock") || !strings.Contains(err.Error(), "catalog") || !strings.Contains(err.Error(), "conditional") {
		t.Error(err)
	}
}

// A lock that is lost while the snapshot is written leaves the outcome unknown,
// whatever the write said; without the lock nothing is written.
func TestLostLock(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.NoConditional)
	at := layout.Table{Dir: "/w/t"}
	next := publishertest.Next(nil, "mine")
	pub := commit.Publication{Table: "db.t", Next: next}

	outcome, err := commit.NewLockedPublisher(fs, at, &publishertest.Lock{Away: true}, "db", "t").Publish(ctx, pub)
	if outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Unavailable || len(fs.Paths()) != 0 {
		t.Errorf("%v, %v, %v", outcome, err, fs.Paths())
	}
	outcome, err = commit.NewLockedPublisher(fs, at, idle{}, "db", "t").Publish(ctx, pub)
	if outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Unavailable || len(fs.Paths()) != 0 {
		t.Errorf("%v, %v, %v", outcome, err, fs.Paths())
	}
	lost := &publishertest.Lock{Lost: func() bool { return true }}
	outcome, err = commit.NewLockedPublisher(fs, at, lost, "db", "t").Publish(ctx, pub)
	if outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Ambiguous {
		t.Errorf("%v, %v", outcome, err)
	}
	// The id holds another's snapshot: that is proof, with or without the lock.
	outcome, err = commit.NewLockedPublisher(fs, at, lost, "db", "t").Publish(ctx, commit.Publication{Table: "db.t", Next: publishertest.Next(nil, "late")})
	if outcome != commit.LostRace || err != nil {
		t.Errorf("%v, %v", outcome, err)
	}
}

// idle is a lock that never calls.
type idle struct{}

func (idle) Run(context.Context, string, string, func(context.Context) error) error { return nil }

// A catalog compares the base's uuid where there is one, and knows the table.
func TestCatalogCompares(t *testing.T) {
	ctx := context.Background()
	c := &publishertest.Catalog{}
	uuid := "b9e5a8d2-0000-4000-8000-000000000001"
	base := publishertest.Next(nil, "base")
	base.UUID = &uuid
	pub := func(base, next *snapshot.Snapshot) commit.Publication {
		return commit.Publication{Table: "db.t", TableUUID: publishertest.TableUUID, Base: base, Next: next}
	}
	p := commit.NewCatalogPublisher(c, true)
	if outcome, err := p.Publish(ctx, pub(nil, base)); outcome != commit.Committed {
		t.Fatal(outcome, err)
	}
	stale := *base
	other := "b9e5a8d2-0000-4000-8000-000000000002"
	stale.UUID = &other // rolled back and made again since it was read
	outcome, err := p.Publish(ctx, pub(&stale, publishertest.Next(&stale, "mine")))
	if outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Ambiguous || c.At(2) != nil {
		t.Errorf("%v, %v", outcome, err)
	}
	if outcome, err := p.Publish(ctx, pub(base, publishertest.Next(base, "mine"))); outcome != commit.Committed {
		t.Error(outcome, err)
	}
	wrong := pub(base, publishertest.Next(base, "mine"))
	wrong.TableUUID = "another"
	if outcome, err := p.Publish(ctx, wrong); outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Conflict {
		t.Errorf("%v, %v", outcome, err)
	}
}

// The snapshots of a catalog that compares uuids have each their own, those of others
// have none, as Java 1.4.2 writes them.
func TestSnapshotsHaveUUIDs(t *testing.T) {
	for _, compares := range []bool{true, false} {
		fs := mem.New(mem.ObjectStore)
		create(t, fs, seeded(1), spec(false, nil))
		catalog := &publishertest.Catalog{Changed: func(id int64, s *snapshot.Snapshot) { fs.Put(place.SnapshotFile(id), s.Marshal()) }}
		tb := open(t, fs, place, seeded(2))
		tb.uuid, tb.pub = publishertest.TableUUID, commit.NewCatalogPublisher(catalog, compares)
		c := tb.committer()
		seen := map[string]bool{}
		for id := range int64(3) {
			tb.put(c, "u", id+1, "a", id)
		}
		for _, s := range snapshots(t, fs) {
			if s.UUID != nil {
				seen[*s.UUID] = true
			}
		}
		if want := map[bool]int{true: 3, false: 0}[compares]; len(seen) != want {
			t.Errorf("compares=%v: uuids %v", compares, seen)
		}
	}
}

// A committer over a lock, on a storage that cannot create conditionally: racing
// processes all land.
func TestCommitsUnderALock(t *testing.T) {
	const writers, n = 3, 10
	fs, made := mem.New(mem.NoConditional), mem.New(mem.Posix)
	create(t, made, seeded(1), spec(false, map[string]string{"commit.max-retries": "100"})) // elsewhere: a schema file needs conditional create, too
	for _, p := range made.Paths() {
		data, err := fileio.ReadFile(context.Background(), made, p)
		if err == nil {
			err = fs.Replace(context.Background(), p, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lock := &publishertest.Lock{}
	done := make(chan error, writers)
	for w := range writers {
		tb := open(t, fs, place, env.Real()) // losers wait: a seeded clock would let them burn their retries
		tb.pub = commit.NewLockedPublisher(fs, place, lock, "db", "t")
		go func() { done <- commitMany(tb, w, n) }()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	checkMany(t, fs, place, writers, n)
	check(t, fs, 0)
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

// unproven is one that keeps it.
type unproven struct{ fileio.FileIO }

func (o unproven) Capabilities() fileio.Capabilities { return overlooks(o).Capabilities() }

// What a storage only promises is tried out before the first publish, once.
func TestPromisesAreProbed(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	at := layout.Table{Dir: "/w/t"}
	pub := commit.Publication{Table: "db.t", Next: publishertest.Next(nil, "mine")}
	p, err := commit.NewFilePublisher(overlooks{fs}, at)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := p.Publish(ctx, pub)
	if outcome != commit.Unknown || tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "If-None-Match") || len(fs.Paths()) != 0 {
		t.Errorf("%v, %v, %v", outcome, err, fs.Paths())
	}
	count := layer.Count(unproven{fs})
	if p, err = commit.NewFilePublisher(count, at); err != nil {
		t.Fatal(err)
	}
	var calls []int64
	var base *snapshot.Snapshot
	for i := range 3 {
		count.Reset()
		next := publishertest.Next(base, fmt.Sprint("u", i))
		if outcome, err := p.Publish(ctx, commit.Publication{Table: "db.t", Base: base, Next: next}); outcome != commit.Committed {
			t.Fatal(outcome, err)
		}
		base, calls = next, append(calls, count.Total())
	}
	if fmt.Sprint(calls) != "[5 1 1]" || len(fs.Paths()) != 3 {
		t.Errorf("calls %v, files %v", calls, fs.Paths())
	}
}

// Who is about to write learns it before; in one process one try does for a table.
func TestPromisesAreProbedBeforeWriting(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, seeded(1), spec(true, nil))
	before := len(fs.Paths())
	committer := func(fio fileio.FileIO, groups *commit.Groups, pub commit.Publisher) *commit.Committer {
		t.Helper()
		tb := open(t, fio, place, seeded(2))
		tb.groups, tb.pub = groups, pub
		return tb.committer()
	}
	if err := committer(overlooks{fs}, new(commit.Groups), nil).Prove(ctx); tarnerr.KindOf(err) != tarnerr.Unsupported || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("%v", err)
	}
	locked := commit.NewLockedPublisher(overlooks{fs}, place, &publishertest.Lock{}, "db", "t")
	if err := committer(overlooks{fs}, new(commit.Groups), locked).Prove(ctx); err != nil {
		t.Errorf("under a lock: %v", err)
	}
	count, groups := layer.Count(unproven{fs}), new(commit.Groups)
	var calls []int64
	for range 3 {
		c := committer(count, groups, nil)
		count.Reset()
		if err := c.Prove(ctx); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, count.Total())
	}
	if fmt.Sprint(calls) != "[4 0 0]" || len(fs.Paths()) != before {
		t.Errorf("calls %v, files %v", calls, fs.Paths())
	}
}

// Through a catalog that cannot roll back, a compaction in the way stays: its
// snapshot is the catalog's, and its file is not replaced behind the catalog's back.
func TestCatalogsKeepTheirSnapshots(t *testing.T) {
	fs, req := deletion(t)
	file := place.SnapshotFile(3)
	before, err := fileio.ReadFile(context.Background(), fs, file)
	if err != nil {
		t.Fatal(err)
	}
	tb := open(t, fs, place, seeded(700))
	tb.pub = commit.NewCatalogPublisher(&publishertest.Catalog{}, false)
	r, err := tb.committer().Commit(context.Background(), req)
	if tarnerr.KindOf(err) != tarnerr.Conflict || len(r.RolledBack) != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	after, err := fileio.ReadFile(context.Background(), fs, file)
	if err != nil || string(before) != string(after) {
		t.Errorf("the compaction's snapshot was replaced: %v", err)
	}
}
