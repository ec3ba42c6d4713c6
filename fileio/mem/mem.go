package mem

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Profile is the kind of storage a FS behaves like.
type Profile uint8

const (
	// Posix has directories, rename and conditional create. A file is visible,
	// unfinished, from Create on, and stays when its writer dies.
	Posix Profile = iota
	// ObjectStore has conditional create and no rename. A file is visible from
	// Close on; a directory is there as long as something is below it.
	ObjectStore
	// NoConditional is an object store without conditional create: nothing may
	// be committed on it without a catalog.
	NoConditional
)

// Profiles lists all profiles, for tests that run on each.
var Profiles = []Profile{Posix, ObjectStore, NoConditional}

// String names the profile in test names.
func (p Profile) String() string {
	return [...]string{"posix", "object-store", "no-conditional"}[p]
}

// FS is a file system in memory. Safe for concurrent use.
type FS struct {
	profile Profile
	now     func() time.Time

	mu    sync.RWMutex
	files map[string]object
	dirs  map[string]struct{} // made on purpose; on Posix also by files
}

// An object's data is never changed below its length, only appended to or replaced.
type object struct {
	data []byte
	mod  int64
}

var _ fileio.FileIO = (*FS)(nil)

// Option configures a FS.
type Option func(*FS)

// WithClock sets where modification times come from; without it they are 0.
func WithClock(now func() time.Time) Option { return func(fs *FS) { fs.now = now } }

// New returns an empty file system.
func New(p Profile, opts ...Option) *FS {
	fs := &FS{profile: p, files: map[string]object{}, dirs: map[string]struct{}{}}
	for _, o := range opts {
		o(fs)
	}
	return fs
}

// Put stores data as path, whatever was there, without any check. It takes data over.
func (fs *FS) Put(path string, data []byte) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.store(path, data)
}

// Get returns the content of path; it must not be changed.
func (fs *FS) Get(path string) ([]byte, bool) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	o, ok := fs.files[path]
	return o.data, ok
}

// Remove removes the files named, as if someone else had.
func (fs *FS) Remove(paths ...string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, p := range paths {
		delete(fs.files, p)
	}
}

// Paths returns the paths of all files, sorted.
func (fs *FS) Paths() []string {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return slices.Sorted(maps.Keys(fs.files))
}

// Clone returns an independent copy of the file system as it is now.
func (fs *FS) Clone() *FS {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	c := &FS{profile: fs.profile, now: fs.now, files: make(map[string]object, len(fs.files)), dirs: maps.Clone(fs.dirs)}
	for p, o := range fs.files {
		o.data = slices.Clip(o.data) // an open writer of either side appends to its own copy
		c.files[p] = o
	}
	return c
}

// Capabilities implements fileio.FileIO.
func (fs *FS) Capabilities() fileio.Capabilities {
	return fileio.Capabilities{
		ConditionalCreate: fs.profile != NoConditional,
		Rename:            fs.profile == Posix,
		Durable:           true,
	}
}

// URI implements fileio.FileIO.
func (fs *FS) URI(path string) string { return "mem:" + path }

// CreateIfAbsent implements fileio.FileIO.
func (fs *FS) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	const op = "creating file if absent"
	if err := fileio.CheckCall(ctx, op, path); err != nil {
		return err
	}
	if fs.profile == NoConditional {
		return tarnerr.New(tarnerr.Unsupported, op, "the storage has no conditional create", "path", path).
			WithHint("Use a storage with conditional create, or a catalog that commits.")
	}
	data = slices.Clone(data)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.checkFree(op, path); err != nil {
		return err
	}
	fs.store(path, data)
	return nil
}

// Replace implements fileio.FileIO.
func (fs *FS) Replace(ctx context.Context, path string, data []byte) error {
	const op = "replacing file"
	if err := fileio.CheckCall(ctx, op, path); err != nil {
		return err
	}
	data = slices.Clone(data)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.checkParents(op, path); err != nil {
		return err
	}
	fs.store(path, data)
	return nil
}

// Delete implements fileio.FileIO.
func (fs *FS) Delete(ctx context.Context, paths ...string) error {
	for _, p := range paths {
		if err := fileio.CheckCall(ctx, "deleting file", p); err != nil {
			return err
		}
	}
	fs.Remove(paths...)
	return nil
}

// Stat implements fileio.FileIO.
func (fs *FS) Stat(ctx context.Context, path string) (fileio.Info, error) {
	const op = "reading file status"
	o, err := fs.lookup(ctx, op, path)
	if err != nil {
		return fileio.Info{}, err
	}
	return fileio.Info{Path: path, Size: int64(len(o.data)), ModMilli: o.mod}, nil
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
	if fs.profile != Posix {
		return tarnerr.New(tarnerr.Unsupported, op, "the storage has no rename", "from", src, "to", dst)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	file, isFile := fs.files[src]
	if !isFile && !fs.isDir(src) {
		return tarnerr.New(tarnerr.NotFound, op, "no such file or directory", "from", src, "to", dst)
	}
	if strings.HasPrefix(dst, src+"/") {
		return tarnerr.New(tarnerr.Invalid, op, "a directory cannot move into itself", "from", src, "to", dst)
	}
	if err := fs.checkFree(op, dst); err != nil {
		return err
	}
	fs.makeDirs(parent(dst))
	if isFile {
		delete(fs.files, src)
		fs.files[dst] = file
		return nil
	}
	moveBelow(fs.files, src, dst)
	moveBelow(fs.dirs, src, dst)
	return nil
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
	fs.mu.Lock()
	defer fs.mu.Unlock()
	maps.DeleteFunc(fs.files, func(p string, _ object) bool { return within(p, dir) })
	maps.DeleteFunc(fs.dirs, func(p string, _ struct{}) bool { return within(p, dir) })
	return nil
}

// RemoveDir implements fileio.DirRemover, in the Posix profile.
func (fs *FS) RemoveDir(ctx context.Context, dir string) (gone bool, err error) {
	if err := fileio.CheckCall(ctx, "removing empty directory", dir); err != nil {
		return false, err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if _, there := fs.dirs[dir]; !there || fs.profile != Posix {
		return false, nil
	}
	for p := range fs.files {
		if strings.HasPrefix(p, dir+"/") {
			return false, nil
		}
	}
	for p := range fs.dirs {
		if strings.HasPrefix(p, dir+"/") {
			return false, nil
		}
	}
	delete(fs.dirs, dir)
	return true, nil
}

// MakeDir implements fileio.FileIO.
func (fs *FS) MakeDir(ctx context.Context, dir string) error {
	const op = "making directory"
	if err := fileio.CheckCall(ctx, op, dir); err != nil {
		return err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err := fs.checkParents(op, dir+"/x"); err != nil {
		return err
	}
	fs.makeDirs(dir)
	return nil
}

// lookup finds a file.
func (fs *FS) lookup(ctx context.Context, op, path string) (object, error) {
	if err := fileio.CheckCall(ctx, op, path); err != nil {
		return object{}, err
	}
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	o, ok := fs.files[path]
	if !ok {
		return object{}, tarnerr.New(tarnerr.NotFound, op, "no such file", "path", path)
	}
	return o, nil
}

// store sets a file's content. Called with the lock held.
func (fs *FS) store(path string, data []byte) {
	var mod int64
	if fs.now != nil {
		mod = fs.now().UnixMilli()
	}
	fs.files[path] = object{data, mod}
	if fs.profile == Posix {
		fs.makeDirs(parent(path))
	}
}

// checkFree refuses a path that is taken or lies below a file.
func (fs *FS) checkFree(op, path string) error {
	_, taken := fs.files[path]
	if taken || fs.profile == Posix && fs.isDir(path) {
		return tarnerr.New(tarnerr.AlreadyExists, op, "path is taken", "path", path)
	}
	return fs.checkParents(op, path)
}

// checkParents refuses, where there are directories, a path below a file.
func (fs *FS) checkParents(op, path string) error {
	if fs.profile != Posix {
		return nil
	}
	for d := parent(path); d != "/"; d = parent(d) {
		if _, ok := fs.files[d]; ok {
			return tarnerr.New(tarnerr.AlreadyExists, op, "a file is in the way", "path", d)
		}
	}
	return nil
}

// makeDirs notes dir and all above it. Called with the lock held.
func (fs *FS) makeDirs(dir string) {
	for d := dir; d != "/"; d = parent(d) {
		if _, ok := fs.dirs[d]; ok {
			return
		}
		fs.dirs[d] = struct{}{}
	}
}

func (fs *FS) isDir(dir string) bool {
	if _, ok := fs.dirs[dir]; ok {
		return true
	}
	for p := range fs.files {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

func moveBelow[V any](m map[string]V, src, dst string) {
	for p, v := range maps.Clone(m) {
		if within(p, src) {
			delete(m, p)
			m[dst+strings.TrimPrefix(p, src)] = v
		}
	}
}

// within reports that p is dir or below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 {
		return "/"
	}
	return p[:i]
}
