package local

import "golang.org/x/sys/unix"

// moveNoReplace moves src to dst in one step; it fails when dst exists.
func moveNoReplace(src, dst string) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, src, unix.AT_FDCWD, dst, unix.RENAME_NOREPLACE)
		switch err {
		case unix.EINTR:
			continue
		case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP: // NFS, old kernels, some FUSE file systems
			return linkNoReplace(src, dst)
		case nil:
			return nil
		}
		return err
	}
}
