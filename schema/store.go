package schema

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// Store holds the schema files of one table or branch. Safe for concurrent use.
type Store struct {
	fio fileio.FileIO
	dir string // the table's, or the branch's, directory
	env env.Env

	mu     sync.Mutex // guards what follows, never held across I/O
	cached map[int64]file
	latest int64 // -1 before the first listing
}

// file is a schema with the bytes it was read from or written as.
type file struct {
	schema *Schema
	data   []byte
}

// NewStore opens the schemas below tableDir. Nothing is read yet.
func NewStore(fio fileio.FileIO, tableDir string, env env.Env) *Store {
	return &Store{fio: fio, dir: strings.TrimSuffix(tableDir, "/"), env: env, cached: map[int64]file{}, latest: -1}
}

// Path is the schema file with the id given.
func (s *Store) Path(id int64) string { return s.dir + "/schema/schema-" + strconv.FormatInt(id, 10) }

// IDs lists the ids of all schema files, ascending. Files that are no schema
// (temporary ones of other writers) are passed over.
func (s *Store) IDs(ctx context.Context) ([]int64, error) {
	return numbered(ctx, s.fio, s.dir+"/schema", "schema-")
}

func numbered(ctx context.Context, fio fileio.FileIO, dir, prefix string) ([]int64, error) {
	var ids []int64
	for e, err := range fileio.All(ctx, fio, dir, fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace("listing "+strings.TrimSuffix(prefix, "-")+" files", err, "dir", dir)
		}
		name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
		suffix, ok := strings.CutPrefix(name, prefix)
		if !ok || e.IsDir {
			continue
		}
		if id, err := strconv.ParseInt(suffix, 10, 64); err == nil && id >= 0 && suffix[0] != '+' {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Get reads the schema with the id given; schema files never change, so each
// is read once. NotFound when there is none.
func (s *Store) Get(ctx context.Context, id int64) (*Schema, error) {
	s.mu.Lock()
	hit := s.cached[id].schema
	s.mu.Unlock()
	if hit != nil {
		return hit, nil
	}
	path := s.Path(id)
	const op = "reading schema"
	data, err := fileio.ReadFile(ctx, s.fio, path)
	if err != nil && tarnerr.KindOf(err) == tarnerr.NotFound {
		return nil, tarnerr.Wrap(tarnerr.NotFound, op, err, "path", path).
			WithHint("Unless the table was dropped or rolled back, restore the file from a copy.")
	}
	if err != nil {
		return nil, tarnerr.Trace(op, err, "path", path)
	}
	got, err := Parse(data)
	if err == nil && got.ID != id {
		err = tarnerr.New(tarnerr.Corrupt, op, "the file holds another id", "id", got.ID)
	}
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.KindOf(err), op, err, "path", path).
			WithHint("Restore the file from a copy: rows written under this schema cannot be read without.")
	}
	s.mu.Lock()
	s.cached[id] = file{got, data}
	s.mu.Unlock()
	return got, nil
}

// Verify reads the file of a schema once more and compares it with what was read
// before: as schema files never change, another content means that the table was
// dropped and created again (Conflict), and no file that it was dropped, or its
// schema rolled back (NotFound). A schema that was not read before is read now.
func (s *Store) Verify(ctx context.Context, id int64) error {
	const op = "verifying schema"
	s.mu.Lock()
	known := s.cached[id].data
	s.mu.Unlock()
	if known == nil {
		_, err := s.Get(ctx, id)
		return err
	}
	path := s.Path(id)
	data, err := fileio.ReadFile(ctx, s.fio, path)
	if err != nil {
		return tarnerr.Trace(op, err, "path", path)
	}
	if !bytes.Equal(data, known) {
		return tarnerr.New(tarnerr.Conflict, op, "the file is not the one that was read before", "path", path)
	}
	return nil
}

// Latest is the newest schema; NotFound when the table has none. The first call
// lists the folder, later ones probe for the next id.
func (s *Store) Latest(ctx context.Context) (*Schema, error) {
	s.mu.Lock()
	id := s.latest
	s.mu.Unlock()
	if id < 0 {
		return s.relist(ctx)
	}
	for {
		ok, err := fileio.Exists(ctx, s.fio, s.Path(id+1))
		if err != nil {
			return nil, tarnerr.Trace("looking for the next schema", err, "path", s.Path(id+1))
		}
		if !ok {
			break
		}
		id++
	}
	return s.remember(ctx, id)
}

// relist finds the newest schema by listing. Alter needs it: a probe would not
// see that a rollback took schemas away.
func (s *Store) relist(ctx context.Context) (*Schema, error) {
	ids, err := s.IDs(ctx)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, tarnerr.New(tarnerr.NotFound, "reading latest schema", "there is no schema file, so no table", "path", s.dir)
	}
	return s.remember(ctx, ids[len(ids)-1])
}

func (s *Store) remember(ctx context.Context, id int64) (*Schema, error) {
	got, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.latest = id
	s.mu.Unlock()
	return got, nil
}

// Create writes the table's first schema. AlreadyExists when it has one.
func (s *Store) Create(ctx context.Context, spec Spec) (*Schema, error) {
	first, err := NewSchema(spec, s.env.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	if _, err := s.relist(ctx); err == nil {
		return nil, tarnerr.New(tarnerr.AlreadyExists, "creating table", "there is a table already", "path", s.dir).
			WithHint("Choose another name, or alter the table.")
	} else if tarnerr.KindOf(err) != tarnerr.NotFound {
		return nil, err
	}
	if err := s.checkBranches(ctx, first); err != nil {
		return nil, err
	}
	won, err := s.publish(ctx, first)
	if err != nil {
		return nil, err
	}
	if !won {
		return nil, tarnerr.New(tarnerr.AlreadyExists, "creating table", "another process created it just now", "path", s.dir).
			WithHint("Choose another name, or use that table.")
	}
	return first, nil
}

// Alter applies changes to the latest schema and publishes the result as the
// next one. When another process altered the table meanwhile, the changes are
// applied and validated again on what it made.
func (s *Store) Alter(ctx context.Context, changes ...Change) (*Schema, error) {
	for {
		latest, err := s.relist(ctx)
		if err != nil {
			return nil, err
		}
		hasSnapshots, err := s.hasSnapshots(ctx, changes)
		if err != nil {
			return nil, err
		}
		next, err := Apply(latest, changes, hasSnapshots)
		if err != nil {
			return nil, tarnerr.Trace("altering table", err, "path", s.dir)
		}
		next.TimeMillis = s.env.Now().UnixMilli()
		if err := s.checkBranches(ctx, next); err != nil {
			return nil, err
		}
		won, err := s.publish(ctx, next)
		if err != nil {
			return nil, err
		}
		if won {
			return next, nil
		}
	}
}

// publish writes a schema file if its id is free. false means another's schema
// has the id. After an ambiguous failure the same bytes are written again: they
// then either win or meet themselves.
func (s *Store) publish(ctx context.Context, next *Schema) (bool, error) {
	const tries = 3
	data, path := next.JSON(), s.Path(next.ID)
	ambiguous := false
	for try := 1; ; try++ {
		err := s.fio.CreateIfAbsent(ctx, path, data)
		switch {
		case err == nil:
			s.keep(next, data)
			return true, nil
		case tarnerr.KindOf(err) == tarnerr.AlreadyExists:
			if !ambiguous {
				return false, nil
			}
			there, err := fileio.ReadFile(ctx, s.fio, path)
			if err != nil {
				return false, tarnerr.Trace("publishing schema", err, "path", path)
			}
			if bytes.Equal(there, data) {
				s.keep(next, data)
				return true, nil
			}
			return false, nil
		case tarnerr.KindOf(err) != tarnerr.Ambiguous:
			return false, tarnerr.Trace("publishing schema", err, "path", path)
		case try == tries || ctx.Err() != nil:
			return false, tarnerr.Wrap(tarnerr.CommitStateUnknown, "publishing schema", err, "path", path).
				WithHint("Look at the table's schemas before you repeat the change: it may have been made.")
		}
		ambiguous = true
	}
}

func (s *Store) keep(next *Schema, data []byte) {
	s.mu.Lock()
	s.cached[next.ID] = file{next, data}
	s.latest = next.ID
	s.mu.Unlock()
}

// hasSnapshots looks for data only when a change depends on it.
func (s *Store) hasSnapshots(ctx context.Context, changes []Change) (bool, error) {
	needed := slices.ContainsFunc(changes, func(c Change) bool {
		switch c.(type) {
		case SetOption, RemoveOption:
			return true
		}
		return false
	})
	if !needed {
		return false, nil
	}
	ids, err := numbered(ctx, s.fio, s.dir+"/snapshot", "snapshot-")
	return len(ids) > 0, err
}

// checkBranches refuses options that name branches without a schema.
func (s *Store) checkBranches(ctx context.Context, next *Schema) error {
	fallback, primary := next.Options["scan.fallback-branch"], next.Options["scan.primary-branch"]
	if strings.TrimSpace(fallback) != "" && strings.TrimSpace(primary) != "" {
		return invalid("both a fallback branch and a primary branch are given", "scan.fallback-branch", fallback, "scan.primary-branch", primary).
			WithHint("Remove one of the two options.")
	}
	for _, key := range []string{"scan.fallback-branch", "scan.primary-branch"} {
		branch := strings.TrimSpace(next.Options[key])
		if branch == "" {
			continue
		}
		dir := s.dir
		if i := strings.LastIndex(dir, "/branch/branch-"); i >= 0 {
			dir = dir[:i]
		}
		if branch != "main" {
			dir += "/branch/branch-" + branch
		}
		ids, err := numbered(ctx, s.fio, dir+"/schema", "schema-")
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return invalid("the branch does not exist", "option", key, "branch", branch).
				WithHint("Create the branch first, or remove the option.")
		}
	}
	return nil
}
