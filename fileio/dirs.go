package fileio

import "context"

// DirRemover is a FileIO whose directories are things of their own, not just parts
// of names.
type DirRemover interface {
	// RemoveDir removes a directory that is empty, in one step: what comes into it
	// meanwhile keeps it. It tells whether the directory is gone. One that is not
	// empty, or not there, is no error.
	RemoveDir(ctx context.Context, dir string) (gone bool, err error)
}

// RemoveEmptyDir removes a directory that is empty, where fio or the FileIO it wraps
// (Unwrap) is a [DirRemover]; elsewhere it does nothing.
func RemoveEmptyDir(ctx context.Context, fio FileIO, dir string) (gone bool, err error) {
	for {
		switch f := fio.(type) {
		case DirRemover:
			return f.RemoveDir(ctx, dir)
		case interface{ Unwrap() FileIO }:
			fio = f.Unwrap()
		default:
			return false, nil
		}
	}
}
