package write

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Writer takes rows into one table. Not safe for concurrent use.
//
// Rows are buffered and flushed as memory demands; Prepare flushes the rest and
// hands over all files since the last Prepare. After a failed Write or Prepare
// only Abort and Close are of use, unless the error is of a batch that was
// refused as a whole (its kind is Invalid): then nothing of it was taken.
type Writer struct {
	cfg    Config
	set    settings
	fields []types.Field
	keyed  bool

	conform *conformer
	check   *checker
	kinds   kindRules
	router  *router
	order   *orderer // of key tables
	spec    *run.FileSpec
	changes *run.FileSpec // of changelog files; nil where none are written
	// of key tables: the columns of their files, and which of the buffer are keys
	fileSchema *arrow.Schema
	keyColumns []int

	// turn is taken by each call, and by others of the pool who make this writer
	// give way. What follows belongs to who has it.
	turn     chan struct{}
	pool     *Pool
	buffer   buffer
	reserved *budget.Reservation // nil before the first row and without a budget
	scratch  []uint32
	grown    uint64 // when it took rows last, by the clock of the pool
	aged     uint64 // see age
	agedRows int
	failed   error
	closed   bool

	// What is on disk, the oldest first; its columns; rows of a block.
	runs        []*spilled
	spillSchema *arrow.Schema
	blockRows   int
	codec       *spill.Codec

	// Compactions of key tables: what picks them, whether Prepare waits for them,
	// whether the next one compacts everything.
	universal  *lsm.Universal
	wait, full bool
}

// New starts a writer. It does no I/O.
func New(cfg Config) (*Writer, error) {
	if cfg.Mem == nil {
		cfg.Mem = memory.DefaultAllocator
	}
	cfg.Workers = max(1, cfg.Workers)
	s := cfg.Schema
	set, err := settingsOf(s, cfg.Options)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		cfg: cfg, set: set, fields: s.Fields, keyed: s.HasPrimaryKey(), turn: make(chan struct{}, 1), pool: cfg.Pool,
		codec: spill.NewCodec(set.Spill.Compression, set.Spill.ZstdLevel), universal: &lsm.Universal{Compaction: set.Compaction},
	}
	if w.pool == nil {
		w.pool = newPool(cfg.Workers)
	}
	if set.Bucket < 1 && (w.keyed || set.Bucket != -1) {
		return nil, tarnerr.New(tarnerr.Unsupported, "opening writer", "dynamic and postponed buckets", "bucket", set.Bucket).
			WithHint("Create the table with a fixed number of buckets: bucket=N with N of at least 1.")
	}
	if w.conform, err = newConformer(s.Fields, cfg.Mem); err != nil {
		return nil, tarnerr.Trace("opening writer", err)
	}
	w.check = newChecker(s.Fields, w.orderingColumns())
	w.kinds = kindRules{
		field: s.Index(set.RowKindField), ignoreDelete: set.IgnoreDelete,
		ignoreUpdateBefore: set.IgnoreUpdateBefore, appendOnly: !w.keyed,
		firstRow: w.keyed && set.MergeEngine == "first-row",
	}
	if set.RowKindField != "" && w.kinds.field < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, "opening writer", "rowkind.field names no column", "column", set.RowKindField)
	}
	if err := w.newRouter(); err != nil {
		return nil, err
	}
	if w.keyed {
		if err := w.newOrder(); err != nil {
			return nil, err
		}
	}
	if err := w.newSpec(); err != nil {
		return nil, tarnerr.Trace("opening writer", err)
	}
	if err := w.layOutFiles(); err != nil {
		return nil, err
	}
	if w.buffer.schema, err = w.bufferSchema(); err != nil {
		return nil, err
	}
	w.buffer.mem = cfg.Mem
	if err := w.layOutSpills(); err != nil {
		return nil, err
	}
	return w, nil
}

// orderingColumns are those in which NaN would break the order of rows or the
// choice of a bucket.
func (w *Writer) orderingColumns() []string {
	s := w.cfg.Schema
	return slices.Concat(s.PrimaryKeys, s.PartitionKeys, s.BucketKeys(), w.set.SequenceFields)
}

// The buffer of a key table has the row kind before the table's columns.
const (
	bufferKind   = 0
	bufferValues = 1
)

// columns are the positions of the named columns in the buffer.
func (w *Writer) columns(names []string) ([]int, error) {
	first := 0
	if w.keyed {
		first = bufferValues
	}
	out := make([]int, len(names))
	for i, n := range names {
		at := w.cfg.Schema.Index(n)
		if at < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "opening writer", "the table has no such column", "column", n)
		}
		out[i] = first + at
	}
	return out, nil
}

func (w *Writer) newRouter() error {
	s, set := w.cfg.Schema, &w.set
	partition, err := w.columns(s.PartitionKeys)
	if err != nil {
		return err
	}
	var b *bucket.Assigner
	if set.Bucket >= 1 {
		if b, err = bucket.New(set.BucketFunction, s.Select(s.BucketKeys()), set.Bucket); err != nil {
			return tarnerr.Trace("opening writer", err)
		}
	}
	names := layout.NewPartitioner(s.Select(s.PartitionKeys), set.PartitionDefault, set.PartitionLegacyName)
	w.router = newRouter(partition, b, int32(set.Bucket), w.cfg.Place, names)
	return nil
}

func (w *Writer) newOrder() error {
	s, set := w.cfg.Schema, &w.set
	ordered := func(names []string) ([]merge.Column, error) {
		at, err := w.columns(names)
		if err != nil {
			return nil, err
		}
		out := make([]merge.Column, len(at))
		for i, c := range at {
			out[i] = merge.Column{Index: c, Type: s.Fields[c-bufferValues].Type}
		}
		return out, nil
	}
	keys, err := ordered(s.TrimmedPrimaryKeys())
	if err != nil {
		return err
	}
	rules, err := merge.NewRules(s, &set.Options)
	if err != nil {
		return tarnerr.Trace("opening writer", err)
	}
	w.order = &orderer{descending: set.SequenceDescending, rules: rules}
	if w.order.keys, err = merge.NewOrder(keys); err != nil {
		return tarnerr.Trace("opening writer", err)
	}
	w.order.sequence, err = ordered(set.SequenceFields)
	return err
}

func (w *Writer) newSpec() error {
	spec, err := run.SpecOf(w.cfg.Schema, &w.cfg.Options, 0, datafile.Append)
	if err != nil {
		return err
	}
	spec.FileIO, spec.Format, spec.Env, spec.Mem = w.cfg.FileIO, w.cfg.Format, w.cfg.Env, w.cfg.Mem
	spec.Names, spec.Ending = layout.NewNamer(w.cfg.Env), w.cfg.Format.Name()
	w.spec = &spec
	return w.newChangelog()
}

func (w *Writer) bufferSchema() (*arrow.Schema, error) {
	if !w.keyed {
		return w.conform.schema, nil
	}
	return types.ArrowSchema(slices.Concat([]types.Field{types.ValueKindField()}, w.fields))
}

// Write takes a batch, which is borrowed for the call; see the package's
// contract on columns and kinds at [table.BatchWrite].
func (w *Writer) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.leave(ctx)
	if err := w.usable("writing batch"); err != nil {
		return err
	}
	if rec.NumRows() == 0 {
		return nil
	}
	rows, err := w.accept(rec)
	if err != nil || rows == nil {
		return err
	}
	defer rows.Release()
	return w.fail(w.take(ctx, rows))
}

// accept checks a batch and returns its rows in the buffer's columns, nil when
// none is left. It has no effect on the writer.
func (w *Writer) accept(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if err := checkArrays(rec); err != nil {
		return nil, err
	}
	conformed, err := w.conform.conform(rec)
	if err != nil {
		return nil, err
	}
	defer conformed.Release()
	if err := w.check.check(conformed); err != nil {
		return nil, err
	}
	filled, err := w.conform.fillDefaults(conformed)
	if err != nil {
		return nil, err
	}
	defer filled.Release()
	var given arrow.Array
	if at := rec.Schema().FieldIndices(types.KindColumn); len(at) > 0 {
		given = rec.Column(at[0])
	}
	kinds, keep, err := w.kinds.kinds(w.cfg.Mem, filled, given)
	if err != nil {
		return nil, err
	}
	if kinds != nil {
		defer kinds.Release()
	}
	rows := w.withKinds(filled, kinds)
	if keep == nil {
		return rows, nil
	}
	defer rows.Release()
	return batch.Filter(w.cfg.Mem, rows, keep)
}

// withKinds puts the kinds before the columns, +I for all when kinds is nil.
// The caller releases the result.
func (w *Writer) withKinds(rec arrow.RecordBatch, kinds *array.Int8) arrow.RecordBatch {
	if !w.keyed {
		rec.Retain()
		return rec
	}
	if kinds == nil {
		kinds = batch.Int8s(w.cfg.Mem, int(rec.NumRows()), func(out []int8) { clear(out) })
		defer kinds.Release()
	}
	cols := slices.Concat([]arrow.Array{kinds}, rec.Columns())
	return array.NewRecordBatch(w.buffer.schema, cols, rec.NumRows())
}

// take buffers rows and flushes when the buffer or the budget is full. A batch
// too large for either goes in by halves.
func (w *Writer) take(ctx context.Context, rows arrow.RecordBatch) error {
	n := cost(rows)
	if rows.NumRows() > 1 && n > w.capacity() {
		half := rows.NumRows() / 2
		for _, part := range [][2]int64{{0, half}, {half, rows.NumRows()}} {
			s := batch.Slice(rows, part[0], part[1])
			err := w.take(ctx, s)
			s.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
	for w.buffer.rows() > 0 && w.buffer.bytes+n > w.set.WriteBufferSize {
		if _, err := w.makeRoom(ctx); err != nil {
			return err
		}
	}
	if err := w.pool.grow(ctx, w, n, w.makeRoom); err != nil {
		return err
	}
	var err error
	if w.scratch, err = w.router.route(rows, w.scratch[:0]); err != nil {
		return err
	}
	w.grown = w.pool.clock.Add(1)
	err = w.buffer.add(rows, w.scratch, n, w.grown)
	w.pool.note(w)
	return err
}

// capacity is the most one batch may take: half the budget leaves room for the
// flush of it.
func (w *Writer) capacity() int64 {
	most := max(1, w.set.WriteBufferSize)
	if b := w.pool.budget; b != nil {
		most = min(most, b.Limit()/2)
	}
	return most
}

// makeRoom makes the buffer give way for more rows of the same writer, which may have to
// wait for compactions.
func (w *Writer) makeRoom(ctx context.Context) (bool, error) {
	gave, err := w.giveWay(ctx, true)
	if err == nil {
		err = w.failed
	}
	if err == nil && gave {
		err = w.triggerAll(ctx, false, false)
	}
	if err == nil {
		err = w.unstall(ctx)
	}
	return gave, err
}

// Prepare flushes and returns a message per bucket that gained files since the
// last Prepare, or whose files were compacted, in the order the buckets were first
// written to. The files belong to the messages from then on.
func (w *Writer) Prepare(ctx context.Context) ([]*commitmsg.Message, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.leave(ctx)
	if err := w.usable("preparing commit"); err != nil {
		return nil, err
	}
	if err := w.flush(ctx, true, true); err != nil {
		return nil, w.fail(err)
	}
	if err := w.finishOpen(ctx); err != nil {
		return nil, w.fail(err)
	}
	if err := w.settle(ctx); err != nil {
		return nil, w.fail(err)
	}
	var out []*commitmsg.Message
	for _, g := range w.router.groups {
		n := int32(w.set.Bucket)
		m := &commitmsg.Message{Partition: g.partition, Bucket: g.bucket, TotalBuckets: &n, NewFiles: g.files, ChangelogFiles: g.changelog}
		if g.tree != nil {
			g.tree.done.Take(m)
		}
		if !m.IsEmpty() {
			out = append(out, m)
		}
		g.files, g.changelog = nil, nil
	}
	return out, nil
}

// Abort drops what is buffered and removes the files that no Prepare has handed
// over. The writer can go on only when it had not failed.
func (w *Writer) Abort(ctx context.Context) error {
	if err := w.enter(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer w.exit()
	return w.abort(ctx)
}

func (w *Writer) abort(ctx context.Context) error {
	w.drop()
	first := w.uproot(ctx)
	var paths []string
	for _, g := range w.router.groups {
		if g.open != nil {
			if err := g.open.Abort(ctx); first == nil {
				first = err
			}
			g.open = nil
		}
		for _, f := range slices.Concat(g.files, g.changelog) {
			paths = append(paths, w.cfg.Place.DataFile(g.spec, g.bucket, f.FileName))
		}
		g.files, g.changelog = nil, nil
	}
	if len(paths) > 0 {
		if err := w.cfg.FileIO.Delete(ctx, paths...); first == nil {
			first = err
		}
	}
	return tarnerr.Trace("aborting write", first, "table", w.cfg.Table)
}

// Close frees the writer's memory. Files not handed over by Prepare are removed.
func (w *Writer) Close() error {
	ctx := context.Background()
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.exit()
	if w.closed {
		return nil
	}
	err := w.abort(ctx)
	w.closed = true
	return err
}

// empty frees the memory of the buffer.
func (w *Writer) empty() {
	w.buffer.reset()
	if w.reserved != nil {
		w.reserved.Release()
		w.pool.note(w)
	}
}

// drop gives up the rows that are in no data file.
func (w *Writer) drop() {
	w.empty()
	w.dropRuns()
}

func (w *Writer) usable(op string) error {
	switch {
	case w.closed:
		return tarnerr.New(tarnerr.Closed, op, "the writer is closed", "table", w.cfg.Table)
	case w.failed != nil:
		return tarnerr.Trace(op, w.failed, "table", w.cfg.Table)
	}
	return nil
}

// fail remembers that the writer has lost rows it had taken.
func (w *Writer) fail(err error) error {
	if err != nil && w.failed == nil {
		w.failed = err
		w.drop()
	}
	return err
}
