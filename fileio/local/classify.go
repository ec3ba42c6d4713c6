package local

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tarnlake/tarn/tarnerr"
)

// classify turns a failure of a call that had no effect, or none that matters,
// into an error of Tarn. Callers past the point of effect use Ambiguous instead.
func classify(op string, err error, p string) error {
	var own *tarnerr.Error
	if errors.As(err, &own) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return tarnerr.Wrap(tarnerr.AlreadyExists, op, cause(err), "path", p)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		return tarnerr.Wrap(tarnerr.NotFound, op, cause(err), "path", p)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return tarnerr.Wrap(tarnerr.Denied, op, cause(err), "path", p).
			WithHint("Give this user the right to read and write below the warehouse.")
	case errors.Is(err, fs.ErrClosed):
		return tarnerr.Wrap(tarnerr.Closed, op, cause(err), "path", p)
	case isFull(err):
		return tarnerr.Wrap(tarnerr.Unavailable, op, cause(err), "path", p).
			WithHint("Free space on the disk, or raise the quota or the limit of a file's size, then try again.")
	case errors.Is(err, errTooLong), errors.Is(err, syscall.EINVAL):
		return tarnerr.Wrap(tarnerr.Invalid, op, cause(err), "path", p).
			WithHint("The file system does not take this name.")
	}
	return tarnerr.Wrap(tarnerr.Unavailable, op, cause(err), "path", p)
}

// cause drops the call and path that os errors carry: the error says both already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
