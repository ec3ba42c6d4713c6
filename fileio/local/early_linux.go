package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// sendEarly asks the kernel to start writing a range of the file and does not
// wait. It proves nothing: the sync at the end does, and also reports what went
// wrong with these bytes, because a start without waiting takes no error away.
func sendEarly(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
