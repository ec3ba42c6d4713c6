package manifest

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// Java looks at a manifest's size every so many entries only.
const rollEvery = 1000

// WriteManifests writes entries, in order, into one or more new manifests of
// about the target size and describes them; none without entries. After an
// error nothing of them is left: their names were known to nobody.
func (s *Store) WriteManifests(ctx context.Context, entries []Entry) ([]FileMeta, error) {
	w := s.newRoller()
	for i := range entries {
		if err := w.write(ctx, &entries[i]); err != nil {
			w.abort(ctx)
			return nil, err
		}
	}
	return w.close(ctx)
}

// roller writes entries into a sequence of manifests.
type roller struct {
	store *Store
	done  []FileMeta

	file    *outFile
	summary summary
}

func (s *Store) newRoller() *roller { return &roller{store: s} }

// open begins a manifest where none is under construction.
func (w *roller) open(ctx context.Context) error {
	if w.file != nil {
		return nil
	}
	f, err := w.store.create(ctx, w.store.cfg.Names.Manifest(), entrySchema())
	if err != nil {
		return tarnerr.Trace("writing manifest", err)
	}
	w.file, w.summary = f, newSummary(w.store.cfg.Partition)
	return nil
}

// full reports that the manifest under construction has about the target size.
func (w *roller) full() bool {
	return weight(w.file.size, w.summary.entries()) >= w.store.cfg.TargetSize
}

func (w *roller) write(ctx context.Context, e *Entry) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	if e.File == nil {
		return tarnerr.New(tarnerr.Internal, "writing manifest", "entry without a file")
	}
	if err := w.summary.add(e); err != nil {
		return tarnerr.Trace("writing manifest", err, "file", e.File.FileName)
	}
	w.file.records = appendEntry(w.file.records, e)
	if err := w.file.added(1); err != nil {
		return tarnerr.Trace("writing manifest", err, "path", w.file.path)
	}
	if w.summary.entries()%w.store.rollEvery == 0 && w.full() {
		return w.finish()
	}
	return nil
}

// finish closes the manifest under construction.
func (w *roller) finish() error {
	f := w.file
	if err := f.finish(); err != nil {
		return tarnerr.Trace("writing manifest", err, "path", f.path)
	}
	w.file = nil
	meta, err := w.summary.meta(f.name, f.size)
	if err != nil {
		return tarnerr.Trace("writing manifest", err, "path", f.path)
	}
	w.done = append(w.done, meta)
	return nil
}

// close finishes and returns what was written.
func (w *roller) close(ctx context.Context) ([]FileMeta, error) {
	if w.file != nil {
		if err := w.finish(); err != nil {
			w.abort(ctx)
			return nil, err
		}
	}
	return w.done, nil
}

// abort removes what was written.
func (w *roller) abort(ctx context.Context) {
	if w.file != nil {
		w.file.out.Abort()
		w.file = nil
	}
	w.store.forget(ctx, w.done)
	w.done = nil
}

// forget removes manifests that this store wrote and no snapshot names. What
// cannot be removed is left to orphan clean-up.
func (s *Store) forget(ctx context.Context, metas []FileMeta) {
	if len(metas) == 0 {
		return
	}
	if s.closing != nil {
		_ = s.closing.Wait() // what is still being closed would come back
	}
	paths := make([]string, len(metas))
	for i, m := range metas {
		paths[i] = s.cfg.Table.ManifestFile(m.FileName)
	}
	_ = s.cfg.FileIO.Delete(context.WithoutCancel(ctx), paths...)
}

// WriteList writes a manifest list, which may be empty, and returns its name and size.
func (s *Store) WriteList(ctx context.Context, metas []FileMeta) (name string, size int64, err error) {
	name = s.cfg.Names.ManifestList()
	size, err = s.writeWhole(ctx, name, listSchema(), len(metas), func(dst []byte, i int) []byte { return appendFileMeta(dst, &metas[i]) })
	if err == nil {
		s.cfg.Lists.put(name, metas)
	}
	return name, size, tarnerr.Trace("writing manifest list", err)
}

// WriteIndex writes an index manifest and returns its name and size.
func (s *Store) WriteIndex(ctx context.Context, entries []IndexEntry) (name string, size int64, err error) {
	name = s.cfg.Names.IndexManifest()
	size, err = s.writeWhole(ctx, name, indexSchema(), len(entries), func(dst []byte, i int) []byte { return appendIndexEntry(dst, &entries[i]) })
	return name, size, tarnerr.Trace("writing index manifest", err)
}

func (s *Store) writeWhole(ctx context.Context, name, schema string, n int, record func(dst []byte, i int) []byte) (int64, error) {
	f, err := s.create(ctx, name, schema)
	if err != nil {
		return 0, err
	}
	for i := range n {
		f.records = record(f.records, i)
		if err := f.added(1); err != nil {
			f.out.Abort()
			return 0, tarnerr.Trace("writing Avro container", err, "path", f.path)
		}
	}
	if err := f.finish(); err != nil {
		return 0, tarnerr.Trace("writing Avro container", err, "path", f.path)
	}
	return f.size, nil
}

// outFile is a container under construction.
type outFile struct {
	containerWriter
	name, path string
	out        fileio.Writer
	closing    *errgroup.Group // nil = finish closes it
}

func (s *Store) create(ctx context.Context, name, schema string) (*outFile, error) {
	marker, err := s.marker()
	if err != nil {
		return nil, err
	}
	path := s.cfg.Table.ManifestFile(name)
	out, err := s.cfg.FileIO.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &outFile{name: name, path: path, out: out, closing: s.closing}
	f.containerWriter = containerWriter{zstd: s.zstd, codec: s.codec, marker: marker, write: func(b []byte) error {
		_, err := out.Write(b)
		return err
	}}
	if err := f.begin(schema); err != nil {
		out.Abort()
		return nil, tarnerr.Trace("writing Avro container", err, "path", path)
	}
	return f, nil
}

// finish writes the last block and closes the file, or has it closed beside what
// follows, or gives it up.
func (f *outFile) finish() error {
	if err := f.flush(); err != nil {
		f.out.Abort()
		return err
	}
	if f.closing == nil {
		return f.out.Close()
	}
	f.closing.Go(func() error { return tarnerr.Trace("writing Avro container", f.out.Close(), "path", f.path) })
	return nil
}
