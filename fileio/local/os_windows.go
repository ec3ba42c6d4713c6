package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

const (
	errReadOnly = windows.ERROR_WRITE_PROTECT
	errTooLong  = windows.ERROR_FILENAME_EXCED_RANGE
	errNotDir   = windows.ERROR_DIRECTORY
)

// native turns "/C:/w/t" into `C:\w\t`.
func native(p string) string {
	if len(p) >= 3 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
		if len(p) == 2 {
			p += "/"
		}
	}
	return filepath.FromSlash(strings.ReplaceAll(p, `\`, "/"))
}

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// unlink removes a file and never a directory, which os.Remove would.
func unlink(p string) error {
	st, err := os.Lstat(p)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return nil // no file has this name
	}
	return os.Remove(p)
}

// rmdir removes an empty directory and never a file.
func rmdir(p string) (gone bool, err error) {
	name, err := windows.UTF16PtrFromString(p)
	if err != nil {
		return false, err
	}
	switch err := windows.RemoveDirectory(name); err {
	case nil:
		return true, nil
	case windows.ERROR_DIR_NOT_EMPTY, windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND, windows.ERROR_DIRECTORY:
		return false, nil
	default:
		return false, err
	}
}

// moveNoReplace moves src to dst in one step; it fails when dst exists. The move
// is on the disk when it returns.
func moveNoReplace(src, dst string) error {
	return moveFile(src, dst, windows.MOVEFILE_WRITE_THROUGH)
}

func replace(src, dst string) error {
	return moveFile(src, dst, windows.MOVEFILE_WRITE_THROUGH|windows.MOVEFILE_REPLACE_EXISTING)
}

func moveFile(src, dst string, flags uint32) error {
	from, err := windows.UTF16PtrFromString(src)
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(dst)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(from, to, flags)
}

// syncDir does nothing: moves are written through, and Windows cannot sync a directory.
func syncDir(string) error { return nil }
