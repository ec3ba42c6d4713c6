package local

import "golang.org/x/sys/unix"

// moveNoReplace moves src to dst in one step; it fails when dst exists.
func moveNoReplace(src, dst string) error {
	for {
		err := unix.RenamexNp(src, dst, unix.RENAME_EXCL)
		switch err {
		case unix.EINTR:
			continue
		case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
			return linkNoReplace(src, dst)
		case nil:
			return nil
		}
		return err
	}
}
