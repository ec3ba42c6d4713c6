package local

import (
	"context"
	"os"
	"path"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// Options configure a local FileIO. The zero value is ready to use.
type Options struct {
	// Durability is when a write counts as done; Fsync when left out.
	Durability fileio.Durability
	// Env names temporary files; env.Real when nil.
	Env env.Env
}

// FS is the local file system. Safe for concurrent use.
type FS struct {
	durable bool
	env     env.Env
	// What makes a file, and the names in a directory, outlive a crash. They are
	// called when durable is set only.
	fsync    func(*os.File) error
	fsyncDir func(dir string) error
}

var _ fileio.FileIO = (*FS)(nil)

// New returns the local file system.
func New(opts Options) *FS {
	if opts.Env == nil {
		opts.Env = env.Real()
	}
	return &FS{durable: opts.Durability == fileio.Fsync, env: opts.Env, fsync: (*os.File).Sync, fsyncDir: syncDir}
}

// Capabilities implements fileio.FileIO.
func (fs *FS) Capabilities() fileio.Capabilities {
	return fileio.Capabilities{ConditionalCreate: true, Rename: true, Durable: fs.durable}
}

// URI implements fileio.FileIO: "file:" and the path, as Java prints it.
func (fs *FS) URI(p string) string { return "file:" + p }

// Stat implements fileio.FileIO.
func (fs *FS) Stat(ctx context.Context, p string) (fileio.Info, error) {
	const op = "reading file status"
	if err := fileio.CheckCall(ctx, op, p); err != nil {
		return fileio.Info{}, err
	}
	st, err := os.Stat(native(p))
	if err != nil {
		return fileio.Info{}, classify(op, err, p)
	}
	if st.IsDir() {
		return fileio.Info{}, isDirectory(op, p)
	}
	return info(p, st), nil
}

// Delete implements fileio.FileIO. It goes on after a failure and reports the first.
func (fs *FS) Delete(ctx context.Context, paths ...string) error {
	const op = "deleting file"
	var first error
	for _, p := range paths {
		err := fileio.CheckCall(ctx, op, p)
		if err == nil {
			if err = unlink(native(p)); err != nil {
				err = classify(op, err, p)
				if tarnerr.KindOf(err) == tarnerr.NotFound {
					err = nil
				}
			}
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// DeleteAll implements fileio.FileIO.
func (fs *FS) DeleteAll(ctx context.Context, dir string) error {
	const op = "deleting directory"
	if err := fileio.CheckCall(ctx, op, dir); err != nil {
		return err
	}
	if dir == "/" {
		return tarnerr.New(tarnerr.Invalid, op, "refusing to delete the root", "path", dir)
	}
	if err := os.RemoveAll(native(dir)); err != nil {
		return classify(op, err, dir)
	}
	return nil
}

// RemoveDir implements fileio.DirRemover.
func (fs *FS) RemoveDir(ctx context.Context, dir string) (gone bool, err error) {
	const op = "removing empty directory"
	if err := fileio.CheckCall(ctx, op, dir); err != nil {
		return false, err
	}
	if gone, err = rmdir(native(dir)); err != nil {
		err = classify(op, err, dir)
	}
	return gone, err
}

// MakeDir implements fileio.FileIO.
func (fs *FS) MakeDir(ctx context.Context, dir string) error {
	const op = "making directory"
	if err := fileio.CheckCall(ctx, op, dir); err != nil {
		return err
	}
	if err := fs.makeDirs(dir); err != nil {
		return classify(op, err, dir)
	}
	return nil
}

// Rename implements fileio.FileIO.
func (fs *FS) Rename(ctx context.Context, src, dst string) error {
	const op = "renaming"
	if err := fileio.CheckCall(ctx, op, src); err != nil {
		return err
	}
	if err := fileio.CheckPath(op, dst); err != nil {
		return err
	}
	if _, err := os.Lstat(native(src)); err != nil {
		return tarnerr.Trace(op, classify("reading file status", err, src), "to", dst)
	}
	if err := fs.makeDirs(path.Dir(dst)); err != nil {
		return classify(op, err, dst)
	}
	if err := moveNoReplace(native(src), native(dst)); err != nil {
		return tarnerr.Trace(op, classify("moving without replacing", err, dst), "from", src)
	}
	for _, d := range []string{path.Dir(dst), path.Dir(src)} {
		if err := fs.syncDir(d); err != nil {
			return tarnerr.Wrap(tarnerr.Ambiguous, op, err, "from", src, "to", dst)
		}
	}
	return nil
}

func isDirectory(op, p string) error {
	return tarnerr.New(tarnerr.NotFound, op, "a directory is no file", "path", p)
}

func info(p string, st os.FileInfo) fileio.Info {
	i := fileio.Info{Path: p, ModMilli: st.ModTime().UnixMilli(), IsDir: st.IsDir()}
	if !i.IsDir {
		i.Size = st.Size()
	}
	return i
}
