package faultio

import (
	"context"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// FS is a FileIO whose calls fail as its plan says. Safe for concurrent use.
type FS struct {
	inner fileio.FileIO

	mu       sync.Mutex
	plan     Plan
	calls    []Call
	injected int
}

var _ fileio.FileIO = (*FS)(nil)

// New wraps fio with plan; nil is None.
func New(fio fileio.FileIO, plan Plan) *FS {
	if plan == nil {
		plan = None()
	}
	return &FS{inner: fio, plan: plan}
}

// SetPlan changes the plan from the next call on. Numbers of calls go on.
func (fs *FS) SetPlan(plan Plan) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.plan = plan
}

// Count is the number of calls so far, which a sweep enumerates.
func (fs *FS) Count() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.calls)
}

// Calls lists the calls so far.
func (fs *FS) Calls() []Call {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Clone(fs.calls)
}

// Injected is the number of calls that were made to fail.
func (fs *FS) Injected() int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.injected
}

// decide numbers a call and asks the plan.
func (fs *FS) decide(method, path string) (Fault, Call) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	c := Call{N: len(fs.calls) + 1, Method: method, Path: path}
	fs.calls = append(fs.calls, c)
	f := fs.plan.Decide(c)
	if f.When == Halfway && method != "write" {
		f.When = After
	}
	if f.When == After && !c.Changes() {
		f.When = Before // a read that fails has read nothing
	}
	if f.When != Never {
		fs.injected++
	}
	return f, c
}

func (f Fault) err(c Call) error {
	kind := f.Kind
	if kind == tarnerr.Internal {
		kind = tarnerr.Ambiguous
		if f.When == Before || c.Method == "write" {
			kind = tarnerr.Unavailable // bytes of an unfinished file are no effect
		}
	}
	cause := f.Cause
	if cause == "" {
		cause = "injected fault"
	}
	return tarnerr.New(kind, "calling "+c.Method, cause, "path", c.Path, "call", c.N, "when", f.When)
}

// run makes a call fail as planned around do.
func (fs *FS) run(method, path string, do func() error) error {
	f, c := fs.decide(method, path)
	if f.When == Before {
		return f.err(c)
	}
	if err := do(); err != nil {
		return err // the call failed by itself: that is fault enough
	}
	if f.When != Never {
		return f.err(c)
	}
	return nil
}

// Capabilities implements fileio.FileIO.
func (fs *FS) Capabilities() fileio.Capabilities { return fs.inner.Capabilities() }

// URI implements fileio.FileIO.
func (fs *FS) URI(path string) string { return fs.inner.URI(path) }

// Open implements fileio.FileIO.
func (fs *FS) Open(ctx context.Context, path string) (fileio.File, error) {
	var f fileio.File
	err := fs.run("open", path, func() (err error) {
		f, err = fs.inner.Open(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{f, fs, path}, nil
}

// Create implements fileio.FileIO. After a fault with effect the file stays,
// empty where files are visible before Close.
func (fs *FS) Create(ctx context.Context, path string) (fileio.Writer, error) {
	var w fileio.Writer
	err := fs.run("create", path, func() (err error) {
		w, err = fs.inner.Create(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &writer{inner: w, fs: fs, path: path}, nil
}

// CreateIfAbsent implements fileio.FileIO.
func (fs *FS) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	return fs.run("create-if-absent", path, func() error { return fs.inner.CreateIfAbsent(ctx, path, data) })
}

// Replace implements fileio.FileIO.
func (fs *FS) Replace(ctx context.Context, path string, data []byte) error {
	return fs.run("replace", path, func() error { return fs.inner.Replace(ctx, path, data) })
}

// Delete implements fileio.FileIO.
func (fs *FS) Delete(ctx context.Context, paths ...string) error {
	var first string
	if len(paths) > 0 {
		first = paths[0]
	}
	return fs.run("delete", first, func() error { return fs.inner.Delete(ctx, paths...) })
}

// List implements fileio.FileIO.
func (fs *FS) List(ctx context.Context, dir string, opts fileio.ListOptions) (page fileio.Page, err error) {
	err = fs.run("list", dir, func() (err error) {
		page, err = fs.inner.List(ctx, dir, opts)
		return err
	})
	return page, err
}

// Stat implements fileio.FileIO.
func (fs *FS) Stat(ctx context.Context, path string) (info fileio.Info, err error) {
	err = fs.run("stat", path, func() (err error) {
		info, err = fs.inner.Stat(ctx, path)
		return err
	})
	return info, err
}

// Rename implements fileio.FileIO.
func (fs *FS) Rename(ctx context.Context, src, dst string) error {
	return fs.run("rename", dst, func() error { return fs.inner.Rename(ctx, src, dst) })
}

// DeleteAll implements fileio.FileIO.
func (fs *FS) DeleteAll(ctx context.Context, dir string) error {
	return fs.run("delete-all", dir, func() error { return fs.inner.DeleteAll(ctx, dir) })
}

// MakeDir implements fileio.FileIO.
func (fs *FS) MakeDir(ctx context.Context, dir string) error {
	return fs.run("make-dir", dir, func() error { return fs.inner.MakeDir(ctx, dir) })
}

// RemoveDir implements fileio.DirRemover.
func (fs *FS) RemoveDir(ctx context.Context, dir string) (gone bool, err error) {
	err = fs.run("remove-dir", dir, func() (err error) {
		gone, err = fileio.RemoveEmptyDir(ctx, fs.inner, dir)
		return err
	})
	return gone, err
}
