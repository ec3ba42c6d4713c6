//go:build unix

package local

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	errReadOnly = unix.EROFS
	errTooLong  = unix.ENAMETOOLONG
	errNotDir   = unix.ENOTDIR
)

func native(p string) string { return p }

func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// unlink removes a file and never a directory, which os.Remove would.
func unlink(p string) error {
	for {
		err := unix.Unlink(p)
		switch err {
		case unix.EINTR:
			continue
		case nil:
			return nil
		case unix.EISDIR, unix.EPERM:
			if st, stErr := os.Lstat(p); stErr == nil && st.IsDir() {
				return nil // no file has this name
			}
		}
		return err
	}
}

// rmdir removes an empty directory and never a file.
func rmdir(p string) (gone bool, err error) {
	for {
		switch err := unix.Rmdir(p); err {
		case unix.EINTR:
		case nil:
			return true, nil
		case unix.ENOTEMPTY, unix.EEXIST, unix.ENOENT, unix.ENOTDIR:
			return false, nil
		default:
			return false, err
		}
	}
}

func replace(src, dst string) error {
	if err := os.Rename(src, dst); err != nil {
		return linkCause(err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	// Some file systems cannot sync a directory; they write names through.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// linkNoReplace moves src to dst by what every Unix has: link and unlink for a
// file, an exclusive mkdir and a rename over it for a directory.
func linkNoReplace(src, dst string) error {
	st, err := os.Lstat(src)
	if err != nil {
		return err
	}
	if st.IsDir() {
		if err := os.Mkdir(dst, 0o777); err != nil {
			return err
		}
		if err := unix.Rename(src, dst); err != nil {
			unix.Rmdir(dst)
			return err
		}
		return nil
	}
	if err := os.Link(src, dst); err != nil {
		// A network file system may repeat a call that was done: dst is then ours.
		if d, stErr := os.Lstat(dst); stErr != nil || !os.SameFile(st, d) {
			return linkCause(err)
		}
	}
	// The move is done; a name left behind is what orphan clean-up removes.
	_ = unlink(src)
	return nil
}

func linkCause(err error) error {
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
