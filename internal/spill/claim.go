package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// A claim is a directory `tarn-spill-PID-UUID` beside a file of that name with
// `.lock` behind it. The file is locked as long as its process lives: the system
// drops the lock with the process, however that ends. The lock comes before the
// directory and goes after it, so that a directory without a lock file is none of
// ours.
const (
	claimPrefix = "tarn-spill-"
	lockSuffix  = ".lock"
)

type claim struct {
	dir  string
	lock *os.File
}

// newClaim makes a directory of this process below root.
func newClaim(root string, e env.Env) (*claim, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Invalid, "finding temporary directory", err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, osError(err)
	}
	// A sweep may take the file between its making and its lock: then another name.
	const tries = 16
	for range tries {
		dir := filepath.Join(root, fmt.Sprintf("%s%d-%s", claimPrefix, os.Getpid(), e.UUID()))
		f, err := os.OpenFile(dir+lockSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, osError(err)
		}
		held, err := tryLock(f)
		if err == nil && held && stillThere(f, dir+lockSuffix) {
			if err = os.Mkdir(dir, 0o700); err == nil {
				return &claim{dir, f}, nil
			}
		}
		f.Close()
		if err != nil {
			os.Remove(dir + lockSuffix)
			return nil, osError(err)
		}
	}
	return nil, tarnerr.New(tarnerr.Unavailable, "making temporary directory", "other processes removed it each time")
}

// stillThere reports that the file under the name is the one that is open.
func stillThere(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(mine, there)
}

// release removes the directory and gives the lock back.
func (c *claim) release() error {
	err := os.RemoveAll(c.dir)
	if err == nil {
		err = os.Remove(c.lock.Name())
	}
	if e := c.lock.Close(); err == nil {
		err = e
	}
	return osError(err)
}

// sweep removes the directories below root whose processes are gone.
func sweep(root string) {
	locks, err := filepath.Glob(filepath.Join(root, claimPrefix+"*"+lockSuffix))
	if err != nil {
		return
	}
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if held, err := tryLock(f); err == nil && held && stillThere(f, name) {
			if os.RemoveAll(strings.TrimSuffix(name, lockSuffix)) == nil {
				os.Remove(name)
			}
		}
		f.Close()
	}
}

func osError(err error) error {
	if err == nil {
		return nil
	}
	kind := tarnerr.Unavailable
	switch {
	case errors.Is(err, fs.ErrPermission):
		kind = tarnerr.Denied
	case errors.Is(err, errors.ErrUnsupported):
		kind = tarnerr.Unsupported
	}
	return tarnerr.Wrap(kind, "using temporary directory", err).
		WithHint("Point Config.SpillDir at a local directory that can be written.")
}
