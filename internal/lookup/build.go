package lookup

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/tarnerr"
)

// buildMemory is about what making a local file takes beside its filter: a batch of
// the data file and the pages behind it.
const buildMemory = perFile + 1<<20

const (
	leastBlockRows = 16
	mostBlockRows  = 4096
)

// errUnfit says that a data file can have no local one.
var errUnfit = errors.New("the keys do not ascend")

// local gives the local file of a data file where there is one, and makes it when it
// is worth it. Only the end of ctx is an error: without it there is the data file.
func (b *Bucket) local(ctx context.Context, f *file) (*localFile, error) {
	files := b.r.cfg.Files
	l, build := files.want(b.path(f), b.r.layout, f.meta)
	if l == nil {
		return nil, nil
	}
	if build {
		err := b.build(ctx, l, f)
		l.store.made(l, err)
		if err != nil {
			l.release()
			if ctx.Err() != nil {
				return nil, err
			}
			files.warn("making local file for look-ups", err)
			return nil, nil
		}
	}
	return l, nil
}

// made notes how making a file ended. After an error it must be earned again.
func (s *Store) made(l *localFile, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.owed = 0
	switch {
	case err == nil:
		l.state = built
		l.builtAt = s.built.PushFront(l)
		s.use.Built++
		return
	case errors.Is(err, errUnfit):
		l.state = unfit
	default:
		l.state = unbuilt
	}
	s.use.Failed++
}

// build makes the local file of a data file.
func (b *Bucket) build(ctx context.Context, l *localFile, f *file) (err error) {
	files := b.r.cfg.Files
	w := &builder{r: b.r, files: files, rows: leastBlockRows}
	need := int64(buildMemory)
	if files.opts.Filter {
		need += filterSize(f.meta.RowCount, files.opts.FalsePositives)
	}
	held, ok := l.store.reserve(need)
	if !ok {
		return tarnerr.New(tarnerr.Unavailable, "reserving memory", "the budget is in use", "bytes", need)
	}
	if held != nil {
		defer held.Release()
	}
	if files.opts.Filter {
		w.filter = newFilter(f.meta.RowCount, files.opts.FalsePositives)
	}
	fio, path, err := l.store.temporary.Place("lookup")
	if err != nil {
		return err
	}
	if w.out, err = fio.Create(ctx, path); err != nil {
		return tarnerr.Trace("creating temporary file", err, "file", path)
	}
	if err = b.copy(ctx, w, f); err == nil {
		err = w.finish()
	}
	if err == nil {
		l.fio, l.path, l.size, l.tail = fio, path, w.size, w.tail
		return nil
	}
	w.out.Abort()
	fio.Delete(context.WithoutCancel(ctx), path) // what is left goes with the store
	files.shrink(w.size)
	return err
}

// shrink undoes grow.
func (f *Files) shrink(n int64) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.table(f.table).disk -= n
}

func (b *Bucket) copy(ctx context.Context, w *builder, f *file) error {
	in, err := b.source.Open(ctx, b.dir, f.meta, run.Request{
		Columns: b.r.cfg.Columns, BatchRows: directRows, Workers: 1, Mem: batch.Recycled(b.r.cfg.Mem),
	})
	if err != nil {
		return err
	}
	for err == nil {
		var rec arrow.RecordBatch
		if rec, err = in.Next(ctx); err == nil {
			err = w.write(rec)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if e := in.Close(); err == nil {
		err = e
	}
	return err
}

// builder writes a local file.
type builder struct {
	r       *Reader
	files   *Files
	out     fileio.Writer
	size    int64
	index   index
	filter  *filter // nil: none
	tail    tail
	rows    int // of the next block
	encoder encoder
	last    []byte // the key before

	plain        bytes.Buffer
	first, key   []byte
	packed, part []byte
}

// write appends rows, cut into blocks.
func (w *builder) write(rec arrow.RecordBatch) error {
	if err := w.encoder.bind(rec, w.r.keys); err != nil {
		return err
	}
	for from, n := 0, int(rec.NumRows()); from < n; {
		to := min(from+w.rows, n)
		for i := from; i < to; i++ {
			w.key = w.encoder.append(w.key[:0], i)
			if len(w.index.ends)+i > 0 && bytes.Compare(w.last, w.key) >= 0 {
				return tarnerr.Wrap(tarnerr.Unsupported, "making local file", errUnfit)
			}
			if w.last = append(w.last[:0], w.key...); i == from {
				w.first = append(w.first[:0], w.key...)
			}
			if w.filter != nil {
				w.filter.add(filterHash(w.key))
			}
		}
		part := batch.Slice(rec, int64(from), int64(to))
		err := w.block(part)
		part.Release()
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// block appends one block.
func (w *builder) block(rec arrow.RecordBatch) error {
	plain, err := w.r.codec.encode(&w.plain, rec)
	if err != nil {
		return err
	}
	n, err := w.put(plain)
	if err != nil {
		return err
	}
	rows := int(rec.NumRows())
	w.index.add(w.first, rows, n, len(plain))
	w.rows = min(max(blockBytes*rows/len(plain), leastBlockRows), mostBlockRows)
	return nil
}

// put compresses bytes and appends them.
func (w *builder) put(plain []byte) (int, error) {
	var err error
	if w.packed, err = w.files.codec.Compress(w.packed[:0], plain); err != nil {
		return 0, err
	}
	w.part = checked(w.part[:0], w.packed)
	return len(w.part), w.append(w.part)
}

func (w *builder) append(b []byte) error {
	if err := w.files.grow(int64(len(b))); err != nil {
		return err
	}
	w.size += int64(len(b))
	_, err := w.out.Write(b)
	return tarnerr.Trace("writing temporary file", err)
}

// finish appends index and filter.
func (w *builder) finish() (err error) {
	w.tail.indexAt = w.size
	plain := w.index.append(nil)
	w.tail.indexLen = len(plain)
	if w.tail.indexSmall, err = w.put(plain); err != nil {
		return err
	}
	if w.filter != nil {
		part := checked(nil, w.filter.append(nil))
		w.tail.filterLen = len(part)
		if err := w.append(part); err != nil {
			return err
		}
	}
	return tarnerr.Trace("finishing temporary file", w.out.Close())
}
