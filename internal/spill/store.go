package spill

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// Store makes temporary files below one directory. Safe for concurrent use.
type Store struct {
	fio   fileio.FileIO
	names atomic.Int64
	bytes atomic.Int64

	// Of stores with a directory of their own in root, claimed with the first file.
	root string
	env  env.Env

	mu     sync.Mutex
	dir    string
	claim  *claim
	closed bool
}

// NewStore makes files in dir of fio, which belongs to the store alone.
func NewStore(fio fileio.FileIO, dir string) *Store { return &Store{fio: fio, dir: dir} }

// OpenStore makes files below root, a directory of this machine that any number of
// processes may share. Nothing is done before the first file is made: then the store
// takes a directory of its own, and removes those whose owners are gone.
func OpenStore(root string, e env.Env) *Store {
	return &Store{fio: local.New(local.Options{Durability: fileio.OS}), root: root, env: e}
}

// Bytes is what the store's files take on disk now.
func (s *Store) Bytes() int64 { return s.bytes.Load() }

// Close removes all files and the store's own directory. Nothing may use its files
// any more.
func (s *Store) Close() error {
	s.mu.Lock()
	dir, c := s.dir, s.claim
	s.closed, s.claim = true, nil
	s.mu.Unlock()
	if dir == "" {
		return nil
	}
	err := s.fio.DeleteAll(context.Background(), dir)
	if c != nil {
		err = errors.Join(err, c.release())
	}
	return tarnerr.Trace("removing temporary files", err, "directory", dir)
}

// Place names a new file of another kind in the store's directory, which its maker
// writes, reads and deletes. It goes with the store at the latest.
func (s *Store) Place(kind string) (fileio.FileIO, string, error) {
	dir, err := s.directory()
	if err != nil {
		return nil, "", err
	}
	return s.fio, path.Join(dir, fmt.Sprintf("%s-%d", kind, s.names.Add(1))), nil
}

// next names a new file.
func (s *Store) next() (string, error) {
	dir, err := s.directory()
	if err != nil {
		return "", err
	}
	return path.Join(dir, fmt.Sprintf("spill-%d.arrow", s.names.Add(1))), nil
}

// directory is where the files lie.
func (s *Store) directory() (string, error) {
	const op = "making temporary directory"
	s.mu.Lock()
	dir, closed := s.dir, s.closed
	s.mu.Unlock()
	if closed {
		return "", tarnerr.New(tarnerr.Closed, op, "the temporary files are gone", "directory", dir)
	}
	if dir != "" {
		return dir, nil
	}
	c, err := newClaim(s.root, s.env)
	if err != nil {
		return "", tarnerr.Trace(op, err, "directory", s.root)
	}
	s.mu.Lock()
	if s.dir == "" && !s.closed {
		s.dir, s.claim, c = filepath.ToSlash(c.dir), c, nil
	}
	dir = s.dir
	s.mu.Unlock()
	if c != nil { // another one was quicker
		if err := c.release(); err != nil {
			return "", tarnerr.Trace(op, err)
		}
		return s.directory()
	}
	// What dead processes left is no reason to fail.
	sweep(s.root)
	return dir, nil
}
