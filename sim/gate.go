package sim

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/tarnerr"
)

var errCrashed = errors.New("the process has crashed")

// gate is the storage as one process sees it: each call waits until the
// scheduler admits it, and fails as the scheduler decides, by the plan of the
// faulty storage below.
type gate struct {
	p      *process
	shared *mem.FS
	faulty *faultio.FS
	fault  faultio.Fault // of the call being made
}

var _ fileio.FileIO = (*gate)(nil)

func newGate(p *process, shared *mem.FS) *gate {
	g := &gate{p: p, shared: shared}
	g.faulty = faultio.New(shared, faultio.PlanFunc(func(faultio.Call) faultio.Fault {
		f := g.fault
		g.fault = faultio.Fault{}
		return f
	}))
	return g
}

// run makes one call. effect makes it through the faulty storage; late, nil for
// calls that cannot be late, on the storage itself after everybody has given up.
func (g *gate) run(ctx context.Context, method, path string, effect func() error, late func()) error {
	if g.p.isDead() {
		return crashed(method, path)
	}
	if ctx.Err() != nil {
		return effect() // refuses before anything is asked of the storage
	}
	c := &call{
		p: g.p, client: clientIn(ctx), method: method, path: path, late: late,
		changes: faultio.Call{Method: method}.Changes(), verdict: make(chan verdict, 1),
	}
	s := g.p.s.scheduler
	v, admitted := s.wait(ctx, c)
	if !admitted {
		s.trace.call(s.steps.Load(), c, "nobody waits any longer")
		return g.gaveUp(c, ctx.Err())
	}
	if g.p.isDead() { // of two calls of a process that waited, the other one killed it
		return crashed(method, path)
	}
	var err error
	if v.late {
		err = tarnerr.New(tarnerr.Ambiguous, "calling "+method, "no reply", "path", path)
	} else {
		g.fault = v.fault
		err = effect()
		g.fault = faultio.Fault{}
	}
	end := ""
	if err != nil && err != io.EOF {
		end = tarnerr.KindOf(err).String()
	}
	switch {
	case v.late:
		end += ", it may come later"
	case v.fault.When != faultio.Never:
		end += ", injected " + v.fault.When.String()
	}
	if v.crash {
		end += ", crash"
	}
	s.trace.call(s.steps.Load(), c, end)
	if v.crash {
		g.p.die()
		return crashed(method, path)
	}
	return err
}

func crashed(method, path string) error {
	return tarnerr.Wrap(tarnerr.Unavailable, "calling "+method, errCrashed, "path", path)
}

// gaveUp is the error of a call whose context ended while it was under way.
func (g *gate) gaveUp(c *call, cause error) error {
	kind := tarnerr.Unavailable
	if c.changes {
		kind = tarnerr.Ambiguous
	}
	return tarnerr.Wrap(kind, "calling "+c.method, cause, "path", c.path)
}

// Capabilities implements fileio.FileIO.
func (g *gate) Capabilities() fileio.Capabilities { return g.faulty.Capabilities() }

// URI implements fileio.FileIO.
func (g *gate) URI(path string) string { return g.faulty.URI(path) }

// Open implements fileio.FileIO.
func (g *gate) Open(ctx context.Context, path string) (f fileio.File, err error) {
	err = g.run(ctx, "open", path, func() error {
		f, err = g.faulty.Open(ctx, path)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return &gateFile{f, g, path}, nil
}

// Create implements fileio.FileIO.
func (g *gate) Create(ctx context.Context, path string) (w fileio.Writer, err error) {
	g.p.made(path)
	err = g.run(ctx, "create", path, func() error {
		w, err = g.faulty.Create(ctx, path)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return &gateWriter{w, g, path, context.WithValue(context.Background(), clientKey{}, clientIn(ctx))}, nil
}

// CreateIfAbsent implements fileio.FileIO.
func (g *gate) CreateIfAbsent(ctx context.Context, path string, data []byte) error {
	g.p.made(path)
	data = slices.Clone(data)
	return g.run(ctx, "create-if-absent", path,
		func() error { return g.faulty.CreateIfAbsent(ctx, path, data) },
		func() { _ = g.shared.CreateIfAbsent(context.Background(), path, data) })
}

// Replace implements fileio.FileIO.
func (g *gate) Replace(ctx context.Context, path string, data []byte) error {
	g.p.made(path)
	data = slices.Clone(data)
	return g.run(ctx, "replace", path,
		func() error { return g.faulty.Replace(ctx, path, data) },
		func() { _ = g.shared.Replace(context.Background(), path, data) })
}

// Delete implements fileio.FileIO.
func (g *gate) Delete(ctx context.Context, paths ...string) error {
	first := ""
	if len(paths) > 0 {
		first = paths[0]
	}
	return g.run(ctx, "delete", first, func() error { return g.faulty.Delete(ctx, paths...) }, nil)
}

// List implements fileio.FileIO.
func (g *gate) List(ctx context.Context, dir string, opts fileio.ListOptions) (page fileio.Page, err error) {
	err = g.run(ctx, "list", dir, func() error {
		page, err = g.faulty.List(ctx, dir, opts)
		return err
	}, nil)
	return page, err
}

// Stat implements fileio.FileIO.
func (g *gate) Stat(ctx context.Context, path string) (info fileio.Info, err error) {
	err = g.run(ctx, "stat", path, func() error {
		info, err = g.faulty.Stat(ctx, path)
		return err
	}, nil)
	return info, err
}

// Rename implements fileio.FileIO.
func (g *gate) Rename(ctx context.Context, src, dst string) error {
	return g.run(ctx, "rename", dst, func() error { return g.faulty.Rename(ctx, src, dst) }, nil)
}

// DeleteAll implements fileio.FileIO.
func (g *gate) DeleteAll(ctx context.Context, dir string) error {
	return g.run(ctx, "delete-all", dir, func() error { return g.faulty.DeleteAll(ctx, dir) }, nil)
}

// MakeDir implements fileio.FileIO.
func (g *gate) MakeDir(ctx context.Context, dir string) error {
	return g.run(ctx, "make-dir", dir, func() error { return g.faulty.MakeDir(ctx, dir) }, nil)
}

type gateFile struct {
	fileio.File
	g    *gate
	path string
}

func (f *gateFile) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	err = f.g.run(ctx, "read", f.path, func() error {
		n, err = f.File.ReadAt(ctx, p, off)
		return err
	}, nil)
	return n, err
}

type gateWriter struct {
	inner fileio.Writer
	g     *gate
	path  string
	ctx   context.Context // of all calls: they have none of their own
}

func (w *gateWriter) Write(p []byte) (n int, err error) {
	err = w.g.run(w.ctx, "write", w.path, func() error {
		n, err = w.inner.Write(p)
		return err
	}, nil)
	return n, err
}

func (w *gateWriter) Close() error {
	return w.g.run(w.ctx, "close", w.path, func() error { return w.inner.Close() }, nil)
}

func (w *gateWriter) Abort() error {
	return w.g.run(w.ctx, "abort", w.path, func() error { return w.inner.Abort() }, nil)
}
