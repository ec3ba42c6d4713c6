package lookup

import (
	"context"
	"encoding/binary"
	"path"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Config says what is looked up in a table.
type Config struct {
	Source *run.Source
	// Columns are fields of Source.Table and system fields: what rows are found as.
	Columns []types.Field
	// Key are the fields of the key, all among Columns.
	Key []types.Field
	// Asked are the columns of the key in the batches that are asked with.
	Asked []int
	// Live marks the rows of a batch that count; nil: all do. Where it is not given all
	// rows count. It is called side by side.
	Live func(rec arrow.RecordBatch) []bool
	// Files keeps local files of the table; nil: data files are read each time.
	Files *Files
	Mem   memory.Allocator
}

// Reader looks up keys of one table. Immutable and safe for concurrent use.
type Reader struct {
	cfg    Config
	schema *arrow.Schema
	layout string // of rows found, by which local files are told apart

	asked, rows, bounds *merge.Order
	keys                []int // among Columns
	keyTypes            []types.Type
	keySchema           *arrow.Schema
	codec               blockCodec
}

// New prepares look-ups. It does no I/O.
func New(cfg Config) (*Reader, error) {
	const op = "preparing look-ups"
	if cfg.Mem == nil {
		cfg.Mem = memory.DefaultAllocator
	}
	r := &Reader{cfg: cfg}
	var err error
	if r.schema, err = types.ArrowSchema(cfg.Columns); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if r.keySchema, err = types.ArrowSchema(cfg.Key); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	if len(cfg.Asked) != len(cfg.Key) {
		return nil, tarnerr.New(tarnerr.Internal, op, "keys of another length", "asked", len(cfg.Asked), "key", len(cfg.Key))
	}
	var asked, rows, bounds []merge.Column
	for i, k := range cfg.Key {
		at := slices.IndexFunc(cfg.Columns, func(f types.Field) bool { return f.Name == k.Name })
		if at < 0 {
			return nil, tarnerr.New(tarnerr.Internal, op, "a column of the key is not among the columns", "column", k.Name)
		}
		r.keys, r.keyTypes = append(r.keys, at), append(r.keyTypes, k.Type)
		asked = append(asked, merge.Column{Index: cfg.Asked[i], Type: k.Type})
		rows = append(rows, merge.Column{Index: at, Type: k.Type})
		bounds = append(bounds, merge.Column{Index: i, Type: k.Type})
	}
	for _, o := range []struct {
		to   **merge.Order
		cols []merge.Column
	}{{&r.asked, asked}, {&r.rows, rows}, {&r.bounds, bounds}} {
		if *o.to, err = merge.NewOrder(o.cols); err != nil {
			return nil, tarnerr.Trace(op, err)
		}
	}
	if r.codec, err = newBlockCodec(r.schema, cfg.Mem); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	r.layout = layoutOf(cfg.Columns)
	return r, nil
}

func layoutOf(fields []types.Field) string {
	var b []byte
	for _, f := range fields {
		b = append(b, f.Name...)
		b = append(b, 0)
		b = append(b, f.Type.String()...)
		b = appendIDs(b, f)
	}
	return string(b)
}

// appendIDs appends the ids of a field and of all members in it, in their order: a
// member that was dropped and added again has another one.
func appendIDs(b []byte, f types.Field) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(f.ID))
	for _, inner := range []*types.Type{f.Type.Key, f.Type.Element} {
		if inner != nil {
			b = appendIDs(b, types.Field{Type: *inner})
		}
	}
	for _, member := range f.Type.Fields {
		b = appendIDs(b, member)
	}
	return b
}

// Schema is that of rows found.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Drop gives up what is kept of data files of a bucket directory that are live no
// more.
func (r *Reader) Drop(dir string, files []*datafile.Meta) {
	if r.cfg.Files == nil || len(files) == 0 {
		return
	}
	paths := make(map[string]bool, len(files))
	for _, f := range files {
		paths[path.Join(dir, f.FileName)] = true
	}
	r.cfg.Files.store.drop(paths)
}

// Bucket is files of a bucket that are looked into, each level a sorted run. It
// keeps files open from one Get to the next. Not safe for concurrent use.
type Bucket struct {
	r      *Reader
	dir    string
	source run.Source
	read   *layer.Counter // what is read of data files
	levels [][]*file      // from the lowest on
	bounds arrow.RecordBatch
	ends   *merge.Keys // of bounds: first and last key of each file
	last   binaryrow.Row

	asked arrow.RecordBatch // the last key asked for
	there *merge.Keys       // of asked
}

// file is a data file looked into.
type file struct {
	meta   *datafile.Meta
	bounds int // rows of Bucket.bounds: the first key, and behind it the last
	cursor *cursor
	local  *localFile // nil: not asked for yet, or none
}

// Bucket looks into files of a bucket directory. No key above last is asked for,
// an encoded key; nil: any may be. Nothing is read before the first Get.
func (r *Reader) Bucket(dir string, files []*datafile.Meta, last binaryrow.Row) *Bucket {
	b := &Bucket{r: r, dir: dir, source: *r.cfg.Source, last: last}
	b.read = layer.Count(r.cfg.Source.FileIO)
	b.source.FileIO = b.read
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(x, y *datafile.Meta) int { return int(x.Level) - int(y.Level) })
	for i, m := range files {
		if i == 0 || m.Level != files[i-1].Level {
			b.levels = append(b.levels, nil)
		}
		at := len(b.levels) - 1
		b.levels[at] = append(b.levels[at], &file{meta: m, bounds: 2 * i})
	}
	return b
}

// Keys are keys to look up, ascending, each once. Calls whose keys ascend from one
// to the next cost least.
type Keys struct {
	Sources []arrow.RecordBatch // borrowed for the call
	Refs    []batch.Ref
}

// None is the ref of a key that has no row.
const None = ^batch.Ref(0)

// Rows are rows found.
type Rows struct {
	Batches []arrow.RecordBatch
	Refs    []batch.Ref // of each key: its row, or None
}

// Release frees the rows.
func (r *Rows) Release() {
	for _, b := range r.Batches {
		b.Release()
	}
	r.Batches = nil
}

// Get finds the row of each key in the lowest level that has one, deletes included.
// The caller releases the rows.
func (b *Bucket) Get(ctx context.Context, keys Keys) (*Rows, error) {
	out := &Rows{Refs: make([]batch.Ref, len(keys.Refs))}
	for i := range out.Refs {
		out.Refs[i] = None
	}
	if err := b.get(ctx, keys, out); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

func (b *Bucket) get(ctx context.Context, keys Keys, out *Rows) error {
	if len(keys.Refs) == 0 || len(b.levels) == 0 {
		return nil
	}
	const op = "looking up rows"
	if err := b.bind(); err != nil {
		return tarnerr.Trace(op, err)
	}
	q := newQuery(b.r, keys, out)
	left := make([]int, len(keys.Refs))
	for i := range left {
		left[i] = i
	}
	if err := b.ascend(q, left); err != nil {
		return tarnerr.Trace(op, err)
	}
	for l, level := range b.levels {
		if l > 0 {
			left = slices.DeleteFunc(left, func(i int) bool { return out.Refs[i] != None })
		}
		for _, f := range level {
			in := b.within(q, left, f)
			if len(in) == 0 {
				continue
			}
			if err := b.look(ctx, q, in, f); err != nil {
				return tarnerr.Trace(op, err, "file", f.meta.FileName)
			}
		}
	}
	return nil
}

// bind makes the first and last keys of the files ready to compare.
func (b *Bucket) bind() error {
	if b.ends != nil {
		return nil
	}
	rb := array.NewRecordBuilder(b.r.cfg.Mem, b.r.keySchema)
	defer rb.Release()
	for _, level := range b.levels {
		for _, f := range level {
			for _, key := range []binaryrow.Row{f.meta.MinKey, f.meta.MaxKey} {
				values, err := binaryrow.Decode(key, b.r.keyTypes)
				if err != nil {
					return tarnerr.Trace("reading key range", err, "file", f.meta.FileName)
				}
				for i, v := range values {
					if err := types.AppendValue(rb.Field(i), b.r.keyTypes[i], v); err != nil {
						return tarnerr.Trace("reading key range", err, "file", f.meta.FileName)
					}
				}
			}
		}
	}
	b.bounds = rb.NewRecordBatch()
	var err error
	b.ends, err = b.r.bounds.Load(b.bounds)
	return err
}

// ascend begins anew with walks over files when keys are asked for again that were
// passed, and notes how far this Get goes.
func (b *Bucket) ascend(q *query, all []int) error {
	if err := q.load(all); err != nil {
		return err
	}
	if b.there != nil && q.compare(0, b.there, 0) <= 0 {
		if err := b.rewind(); err != nil {
			return err
		}
	}
	last := q.keys.Refs[len(all)-1]
	rec, err := batch.Gather(b.r.cfg.Mem, b.r.keySchema, q.keys.Sources, b.r.cfg.Asked, []batch.Ref{last})
	if err != nil {
		return err
	}
	b.forget()
	b.asked = rec
	b.there, err = b.r.bounds.Load(rec)
	return err
}

func (b *Bucket) rewind() (first error) {
	for _, level := range b.levels {
		for _, f := range level {
			if f.cursor == nil {
				continue
			}
			if err := f.cursor.close(); first == nil {
				first = err
			}
			f.cursor = nil
		}
	}
	return first
}

func (b *Bucket) forget() {
	if b.asked != nil {
		b.asked.Release()
		b.asked, b.there = nil, nil
	}
}

// within are the keys that lie in the key range of a file.
func (b *Bucket) within(q *query, left []int, f *file) []int {
	from := sort.Search(len(left), func(i int) bool { return q.compare(left[i], b.ends, f.bounds) >= 0 })
	n := sort.Search(len(left)-from, func(i int) bool { return q.compare(left[from+i], b.ends, f.bounds+1) > 0 })
	return left[from : from+n]
}

// path is where a data file would lie if it lay in the bucket's directory: what it
// is known by.
func (b *Bucket) path(f *file) string { return path.Join(b.dir, f.meta.FileName) }

// look finds keys of the range of a file: in its local file where it has one, unless
// it is being walked over already.
func (b *Bucket) look(ctx context.Context, q *query, in []int, f *file) error {
	files := b.r.cfg.Files
	if files == nil {
		return b.direct(ctx, q, in, f)
	}
	if f.local == nil && f.cursor == nil {
		var err error
		if f.local, err = b.local(ctx, f); err != nil {
			return err
		}
	}
	if f.local != nil {
		if done, err := b.inLocal(ctx, q, in, f); done || err != nil {
			return err
		}
	}
	before, found := b.read.BytesRead(), q.found
	if err := b.direct(ctx, q, in, f); err != nil {
		return err
	}
	files.spent(b.path(f), b.r.layout, f.meta, b.read.BytesRead()-before, q.found-found)
	return nil
}

// inLocal looks into the local file of a file, unless the file itself costs less now
// or there is no memory. A temporary file that cannot be read is no reason to fail:
// then nothing was done.
func (b *Bucket) inLocal(ctx context.Context, q *query, in []int, f *file) (done bool, err error) {
	h, err := f.local.opened(ctx)
	if err == nil {
		worth := h != nil
		if worth {
			worth, err = f.local.worth(q, in, h, f.meta)
		}
		if err != nil || !worth {
			return false, err
		}
	}
	batches, found := len(q.out.Batches), q.found
	if err == nil {
		err = f.local.get(ctx, h, b.r, q, in)
	}
	if err == nil || ctx.Err() != nil {
		return true, err
	}
	for _, i := range in {
		q.out.Refs[i] = None
	}
	for _, rec := range q.out.Batches[batches:] {
		rec.Release()
	}
	q.out.Batches, q.found = q.out.Batches[:batches], found
	f.local.fail(err)
	f.local = nil
	return false, nil
}

// Close frees what is kept. Calling it again does nothing.
func (b *Bucket) Close() error {
	first := b.rewind()
	for _, level := range b.levels {
		for _, f := range level {
			if f.local != nil {
				f.local.release()
				f.local = nil
			}
		}
	}
	b.forget()
	if b.bounds != nil {
		b.bounds.Release()
		b.bounds, b.ends = nil, nil
	}
	return tarnerr.Trace("looking up rows", first)
}

// Memory is about how much looking into files takes at a time, in bytes.
func Memory(files []*datafile.Meta) (n int64) {
	largest := map[int32]int64{}
	for _, f := range files {
		largest[f.Level] = max(largest[f.Level], f.FileSize)
	}
	for _, size := range largest {
		n += min(blowUp*size, perFile)
	}
	return n
}

const (
	// perFile is the most that reading a data file takes, blowUp decoded bytes for one of it.
	perFile = 4 << 20
	blowUp  = 4
)
