package commitlog

import (
	"cmp"
	"context"
	"iter"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Store keeps the records of one table or branch. Safe for concurrent use.
type Store struct {
	fio     fileio.FileIO
	place   layout.Table
	workers int
}

// NewStore opens the records of a table; no I/O. Of many, workers are read side
// by side.
func NewStore(fio fileio.FileIO, place layout.Table, workers int) *Store {
	return &Store{fio, place, max(1, workers)}
}

// Path is where the record of a commit lies.
func (s *Store) Path(r Record) string { return r.Path(s.place) }

// Begin makes an intent durable. When there is a record of the same commit
// already it returns that and records nothing.
func (s *Store) Begin(ctx context.Context, r Record) (earlier *Record, err error) {
	const op = "recording commit intent"
	data, err := r.marshal()
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	file := s.Path(r)
	if !s.fio.Capabilities().ConditionalCreate {
		// Only a lock or a catalog commits here, and it alone decides races.
		if earlier, err := s.Read(ctx, file); earlier != nil || err != nil {
			return earlier, err
		}
		return nil, tarnerr.Trace(op, s.fio.Replace(ctx, file, data), "path", file)
	}
	for {
		err := s.fio.CreateIfAbsent(ctx, file, data)
		if err == nil || tarnerr.KindOf(err) != tarnerr.AlreadyExists {
			return nil, tarnerr.Trace(op, err, "path", file)
		}
		// Gone again means that it has just been removed.
		if earlier, err := s.Read(ctx, file); earlier != nil || err != nil {
			return earlier, err
		}
	}
}

// Put records r in place of what was recorded of the same commit. The caller
// knows that the outcome of that does not matter any more, or is r's.
func (s *Store) Put(ctx context.Context, r Record) error { return s.PutAt(ctx, s.Path(r), r) }

// PutAt is Put for a record whose names of files, and so its path, are gone.
func (s *Store) PutAt(ctx context.Context, file string, r Record) error {
	const op = "recording commit"
	data, err := r.marshal()
	if err != nil {
		return tarnerr.Trace(op, err)
	}
	return tarnerr.Trace(op, s.fio.Replace(ctx, file, data), "path", file)
}

// Read returns the record at file, nil when there is none.
func (s *Store) Read(ctx context.Context, file string) (*Record, error) {
	const op = "reading commit record"
	data, err := fileio.ReadFile(ctx, s.fio, file)
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return nil, nil
		}
		return nil, tarnerr.Trace(op, err, "path", file)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, tarnerr.Trace(op, err, "path", file)
	}
	return r, nil
}

// Found is a record and where it lies.
type Found struct {
	Path string
	Record
}

// readAhead is how many records are read at a time.
const readAhead = 64

// All yields all records, the one written longest ago first. It lists their
// directory. A record that cannot be read comes with its path and an error, and
// those behind it follow; a listing that fails ends it.
func (s *Store) All(ctx context.Context) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		files, err := s.list(ctx)
		if err != nil {
			yield(Found{}, err)
			return
		}
		for some := range slices.Chunk(files, readAhead) {
			records, errs := s.readAll(ctx, some)
			for i, r := range records {
				switch {
				case errs[i] != nil:
					if !yield(Found{Path: some[i].Path}, errs[i]) {
						return
					}
				case r != nil:
					if !yield(Found{some[i].Path, *r}, nil) {
						return
					}
				}
			}
		}
	}
}

// list lists the files of records, the one written longest ago first.
func (s *Store) list(ctx context.Context) ([]fileio.Info, error) {
	var files []fileio.Info
	dir := Dir(s.place)
	for f, err := range fileio.All(ctx, s.fio, dir, fileio.ListOptions{}) {
		if err != nil {
			return nil, tarnerr.Trace("listing commit records", err, "path", dir)
		}
		name := path.Base(f.Path)
		if strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".") {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b fileio.Info) int {
		return cmp.Or(cmp.Compare(a.ModMilli, b.ModMilli), cmp.Compare(a.Path, b.Path))
	})
	return files, nil
}

// readAll reads some records side by side; nil for those that are gone.
func (s *Store) readAll(ctx context.Context, files []fileio.Info) ([]*Record, []error) {
	records, errs := make([]*Record, len(files)), make([]error, len(files))
	if s.workers == 1 {
		for i, f := range files {
			records[i], errs[i] = s.Read(ctx, f.Path)
		}
		return records, errs
	}
	var g errgroup.Group
	g.SetLimit(s.workers)
	for i, f := range files {
		g.Go(func() error {
			records[i], errs[i] = s.Read(ctx, f.Path)
			return nil
		})
	}
	g.Wait() // errors are in errs
	return records, errs
}

// Keep says how many records of ended commits are kept.
type Keep struct {
	Count     int   // the newest ones
	AgeMillis int64 // and of them those written within so many milliseconds
}

// Surplus lists the paths of records that keep does not keep, at most limit, the
// oldest first. Records of commits that are pending are always kept, and so is
// what cannot be read.
func (s *Store) Surplus(ctx context.Context, keep Keep, nowMillis int64, limit int) ([]string, error) {
	files, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(files) && (len(files)-n > keep.Count || files[n].ModMilli < nowMillis-keep.AgeMillis) {
		n++
	}
	var out []string
	for some := range slices.Chunk(files[:n], readAhead) {
		records, _ := s.readAll(ctx, some)
		for i, r := range records {
			if r != nil && !r.Pending() && len(out) < limit {
				out = append(out, some[i].Path)
			}
		}
		if len(out) == limit {
			break
		}
	}
	return out, ctx.Err()
}
