package snapshot

import (
	"context"
	"errors"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Stores without an atomic rename let a reader see half of a snapshot file that
// another writer is about to finish, so a file that does not parse is read again.
const (
	parseAttempts = 10
	parseWait     = 200 * time.Millisecond
)

// Store reads the snapshots of one table or branch. Safe for concurrent use.
type Store struct {
	fio   fileio.FileIO
	table layout.Table
	env   env.Env
	// The newest snapshot seen by this process, 0 = none. As long as it is the
	// newest of all, looking for that one takes no reading of the hint.
	seen *atomic.Int64
}

// NewStore returns the store of a table on the machine's clock.
func NewStore(fio fileio.FileIO, table layout.Table) *Store {
	return &Store{fio: fio, table: table, env: env.Real(), seen: new(atomic.Int64)}
}

// WithEnv is the same store waiting on another clock.
func (s *Store) WithEnv(e env.Env) *Store {
	return &Store{fio: s.fio, table: s.table, env: e, seen: s.seen}
}

// OfBranch is the store of a branch of the same table.
func (s *Store) OfBranch(name string) *Store {
	return &Store{fio: s.fio, table: s.table.WithBranch(name), env: s.env, seen: new(atomic.Int64)}
}

// Layout is the table whose snapshots these are.
func (s *Store) Layout() layout.Table { return s.table }

// Latest reads the newest snapshot, nil when the table has none.
func (s *Store) Latest(ctx context.Context) (*Snapshot, error) {
	snap, err := s.latest(ctx)
	if err != nil {
		return nil, tarnerr.Trace("finding latest snapshot", err)
	}
	if snap != nil {
		s.seen.Store(snap.ID)
	}
	return snap, nil
}

func (s *Store) latest(ctx context.Context) (*Snapshot, error) {
	id, err := s.probe(ctx)
	if err != nil {
		return nil, err
	}
	if id > 0 {
		// Read after its successor was found missing: retention removes the older
		// first, so a snapshot that is there still had no successor then.
		snap, err := s.read(ctx, id)
		if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
			return snap, err
		}
		if id == s.seen.Swap(0) { // rolled back, or expired with many after it
			return s.latest(ctx)
		}
	}
	for {
		ids, err := s.list(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		// What expires between the listing and the reading is older than what is left.
		snap, err := s.read(ctx, ids[len(ids)-1])
		if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
			return snap, err
		}
	}
}

// LatestID is the id of the newest snapshot, 0 when the table has none.
func (s *Store) LatestID(ctx context.Context) (int64, error) {
	const op = "finding latest snapshot"
	id, err := s.probe(ctx)
	if err != nil {
		return 0, tarnerr.Trace(op, err)
	}
	if id > 0 {
		ok, err := s.exists(ctx, id)
		if err != nil {
			return 0, tarnerr.Trace(op, err)
		}
		if ok {
			return id, nil
		}
		if id == s.seen.Swap(0) {
			return s.LatestID(ctx)
		}
	}
	ids, err := s.list(ctx)
	if err != nil || len(ids) == 0 {
		return 0, tarnerr.Trace(op, err)
	}
	return ids[len(ids)-1], nil
}

// probe looks forward from the newest snapshot seen so far, or from the LATEST
// hint when that one has a successor. The id it returns is followed by none, but
// may itself be gone: rolled back, or expired. 0 = there is no hint.
func (s *Store) probe(ctx context.Context) (int64, error) {
	seen := s.seen.Load()
	if seen > 0 && seen < math.MaxInt64 {
		followed, err := s.exists(ctx, seen+1)
		if err != nil || !followed {
			return seen, err
		}
	}
	hint, err := s.hint(ctx, s.table.LatestHint())
	if err != nil || hint == 0 {
		return 0, err
	}
	// Snapshots follow each other without gaps: double the step until one is
	// missing, then halve the interval between the last seen and the first missing.
	seen, missing := hint, int64(0)
	for step := int64(1); missing == 0; step *= 2 {
		if seen > math.MaxInt64-step {
			return 0, nil
		}
		ok, err := s.exists(ctx, seen+step)
		switch {
		case err != nil:
			return 0, err
		case ok:
			seen += step
		default:
			missing = seen + step
		}
	}
	for missing-seen > 1 {
		mid := seen + (missing-seen)/2
		ok, err := s.exists(ctx, mid)
		switch {
		case err != nil:
			return 0, err
		case ok:
			seen = mid
		default:
			missing = mid
		}
	}
	return seen, nil
}

// Earliest reads the oldest snapshot, nil when the table has none.
func (s *Store) Earliest(ctx context.Context) (*Snapshot, error) {
	const op = "finding earliest snapshot"
	hint, err := s.hint(ctx, s.table.EarliestHint())
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if hint > 0 {
		snap, err := s.read(ctx, hint)
		if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
			return snap, tarnerr.Trace(op, err)
		}
	}
	ids, err := s.list(ctx)
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	for _, id := range ids {
		snap, err := s.read(ctx, id)
		if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
			return snap, tarnerr.Trace(op, err)
		}
	}
	return nil, nil
}

// EarliestID is the id of the oldest snapshot, 0 when the table has none.
func (s *Store) EarliestID(ctx context.Context) (int64, error) {
	const op = "finding earliest snapshot"
	hint, err := s.hint(ctx, s.table.EarliestHint())
	if err != nil {
		return 0, tarnerr.Trace(op, err)
	}
	if hint > 0 {
		ok, err := s.exists(ctx, hint)
		if err != nil {
			return 0, tarnerr.Trace(op, err)
		}
		if ok {
			return hint, nil
		}
	}
	ids, err := s.list(ctx)
	if err != nil || len(ids) == 0 {
		return 0, tarnerr.Trace(op, err)
	}
	return ids[0], nil
}

// Get reads the snapshot of an id. One that retention has removed, because older
// ones are gone and newer ones are there, is Expired; any other that does not
// exist is NotFound.
func (s *Store) Get(ctx context.Context, id int64) (*Snapshot, error) {
	snap, err := s.read(ctx, id)
	if err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
		return snap, err
	}
	earliest, listErr := s.EarliestID(ctx)
	if listErr != nil {
		return nil, listErr
	}
	if id > 0 && id < earliest {
		return nil, tarnerr.New(tarnerr.Expired, "reading snapshot", "retention has removed it", "snapshot", id, "earliest", earliest).
			WithHint("Read snapshot %d or a later one, or a tag.", earliest)
	}
	return nil, tarnerr.New(tarnerr.NotFound, "reading snapshot", "no such snapshot", "snapshot", id, "path", s.table.SnapshotFile(id)).
		WithHint("The system table $snapshots lists those that are there.")
}

// Exists reports whether the snapshot file of an id is there.
func (s *Store) Exists(ctx context.Context, id int64) (bool, error) { return s.exists(ctx, id) }

// IDs lists the ids of all snapshots, ascending. It lists the directory.
func (s *Store) IDs(ctx context.Context) ([]int64, error) {
	ids, err := s.list(ctx)
	return ids, tarnerr.Trace("listing snapshots", err)
}

// All iterates over the snapshots that exist when it begins, oldest first. It
// lists the directory once; what expires in the meantime is passed over.
func (s *Store) All(ctx context.Context) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		ids, err := s.list(ctx)
		if err != nil {
			yield(nil, tarnerr.Trace("listing snapshots", err))
			return
		}
		for _, id := range ids {
			snap, err := s.read(ctx, id)
			if err != nil && tarnerr.KindOf(err) == tarnerr.NotFound {
				continue
			}
			if !yield(snap, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) exists(ctx context.Context, id int64) (bool, error) {
	return fileio.Exists(ctx, s.fio, s.table.SnapshotFile(id))
}

// read reads one snapshot file, again for a while when it does not parse.
func (s *Store) read(ctx context.Context, id int64) (*Snapshot, error) {
	file := s.table.SnapshotFile(id)
	for attempt := 1; ; attempt++ {
		data, err := fileio.ReadFile(ctx, s.fio, file)
		if err != nil {
			return nil, err
		}
		snap, err := Parse(data)
		if err == nil && snap.ID != id {
			err = tarnerr.New(tarnerr.Corrupt, "reading snapshot", "file holds the snapshot of another id", "id", snap.ID)
		}
		if err == nil {
			return snap, nil
		}
		err = tarnerr.Trace("reading snapshot", err, "path", file)
		if tarnerr.KindOf(err) != tarnerr.Corrupt || attempt == parseAttempts {
			return nil, err
		}
		if s.env.Sleep(ctx, parseWait) != nil {
			return nil, err
		}
	}
}

// list returns the ids in the snapshot directory, ascending. Names of other
// files (hints, other writers' temporary files) are passed over.
func (s *Store) list(ctx context.Context) ([]int64, error) {
	var ids []int64
	for e, err := range fileio.All(ctx, s.fio, s.table.SnapshotDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, err
		}
		if id, ok := layout.ParseVersion(layout.SnapshotPrefix, path.Base(e.Path)); ok && !e.IsDir {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// hint reads a hint file; 0 when there is none or it holds no positive number.
func (s *Store) hint(ctx context.Context, file string) (int64, error) {
	data, err := fileio.ReadFile(ctx, s.fio, file)
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return 0, nil
		}
		return 0, err
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || id < 0 {
		return 0, nil
	}
	return id, nil
}

// Writing a hint may collide with another writer on stores that limit it; it is
// worth few attempts, because a stale hint only costs probing.
const hintAttempts = 3

// WriteLatestHint notes id as the newest snapshot, once it is published.
func (s *Store) WriteLatestHint(ctx context.Context, id int64) error {
	s.seen.Store(id)
	return s.writeHint(ctx, s.table.LatestHint(), id)
}

// WriteEarliestHint notes id as the oldest snapshot.
func (s *Store) WriteEarliestHint(ctx context.Context, id int64) error {
	return s.writeHint(ctx, s.table.EarliestHint(), id)
}

func (s *Store) writeHint(ctx context.Context, file string, id int64) error {
	for attempt := 1; ; attempt++ {
		err := s.fio.Replace(ctx, file, strconv.AppendInt(nil, id, 10))
		if err == nil {
			return nil
		}
		kind := tarnerr.KindOf(err)
		if attempt == hintAttempts || kind != tarnerr.Unavailable && kind != tarnerr.Ambiguous || errors.Is(err, context.Canceled) {
			return tarnerr.Trace("writing snapshot hint", err, "path", file, "snapshot", id)
		}
		wait := 500*time.Millisecond + time.Duration(s.env.Float64()*float64(time.Second))
		if s.env.Sleep(ctx, wait) != nil {
			return tarnerr.Trace("writing snapshot hint", err, "path", file, "snapshot", id)
		}
	}
}
