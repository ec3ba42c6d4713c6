package compact

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/changelog"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/types"
)

// decision is what becomes of the rows of some keys: what each had before, what
// is merged, what comes out. Source: paimon-core mergetree/compact
// FullChangelogMergeFunctionWrapper, LookupChangelogMergeFunctionWrapper and
// FirstRowMergeFunctionWrapper.
type decision struct {
	*producer
	traced  *merge.Traced
	top     int32
	sources []arrow.RecordBatch // of the trace, then of own
	own     []arrow.RecordBatch

	keys []key
	rows merge.Rows // what is merged

	out   arrow.RecordBatch // what comes out, nil when nothing does
	kinds []int8            // of out
	at    []int             // the key of each row of out
}

// key is one key.
type key struct {
	rows   []int // among the rows of the trace, those that are merged, from the oldest on
	before batch.Ref
	// had: before is a row the key had; live: one that was no delete.
	had, live bool
	// looked: the row before is to be looked up below the compaction; found: there is one.
	looked, found bool
	untouched     bool // nothing happened to the key
	silent        bool // what happens is none of the changelog's business
}

func (d *decision) release() {
	for _, rec := range d.own {
		rec.Release()
	}
	if d.out != nil {
		d.out.Release()
	}
}

// choose finds the rows of keys [from, to) that are merged, and what is before them
// as far as it is among them.
func (d *decision) choose(from, to int) {
	begin := 0
	if from > 0 {
		begin = d.traced.Ends[from-1]
	}
	var room []int // for the rows of all keys
	if from < to {
		room = make([]int, d.traced.Ends[to-1]-begin)
	}
	for _, end := range d.traced.Ends[from:to] {
		k := key{rows: room[: 0 : end-begin]}
		room = room[end-begin:]
		if d.lookup {
			d.highest(&k, begin, end)
		} else {
			d.toTop(&k, begin, end)
		}
		d.keys = append(d.keys, k)
		begin = end
	}
}

// toTop compares with the row of the highest level. One alone is no change.
func (d *decision) toTop(k *key, begin, end int) {
	for i := begin; i < end; i++ {
		k.rows = append(k.rows, i)
		if d.traced.Levels[i] == d.top {
			d.had(k, i)
		}
	}
	k.untouched = k.had && end-begin == 1
}

// highest compares rows of level 0 with the row of the lowest level above it. Rows
// of levels higher still are older than it, and part of it.
func (d *decision) highest(k *key, begin, end int) {
	high, fresh := -1, false
	for i := begin; i < end; i++ {
		switch l := d.traced.Levels[i]; {
		case l <= 0:
			fresh = true
		case high < 0 || l < d.traced.Levels[high]:
			high = i
		}
	}
	for i := begin; i < end; i++ {
		// Of first-row all rows count, the oldest is the first one.
		if d.engine == merge.FirstRow || d.traced.Levels[i] <= 0 || i == high {
			k.rows = append(k.rows, i)
		}
	}
	k.silent = !fresh
	if high >= 0 {
		d.had(k, high)
	} else {
		k.looked = true
	}
}

func (d *decision) had(k *key, i int) {
	k.before, k.had, k.live = d.traced.Refs[i], true, d.traced.Kinds[i]&1 == 0
}

// found notes the row that a lookup found, in a source of its own.
func (d *decision) found(key int, ref batch.Ref, kind int8) {
	k := &d.keys[key]
	k.before, k.had, k.found, k.live = ref, true, true, kind&1 == 0
}

// place lays out the rows that are merged, with what was looked up where its age
// puts it.
func (d *decision) place(cfg merge.Config) error {
	var ages *ages
	for i := range d.keys {
		k := &d.keys[i]
		at := len(k.rows)
		if k.found {
			if ages == nil {
				ages = newAges(cfg, d.sources)
			}
			for j, r := range k.rows {
				c, err := ages.compare(k.before, d.traced.Refs[r])
				if err != nil {
					return err
				}
				if c < 0 {
					at = j
					break
				}
			}
		}
		for j, r := range k.rows {
			if k.found && j == at {
				d.add(k.before, d.kindOf(k.before, cfg))
			}
			d.add(d.traced.Refs[r], d.traced.Kinds[r])
		}
		if k.found && at == len(k.rows) {
			d.add(k.before, d.kindOf(k.before, cfg))
		}
		d.rows.Ends = append(d.rows.Ends, len(d.rows.Refs))
	}
	return nil
}

func (d *decision) add(ref batch.Ref, kind int8) {
	d.rows.Refs, d.rows.Kinds = append(d.rows.Refs, ref), append(d.rows.Kinds, kind)
}

func (d *decision) kindOf(ref batch.Ref, cfg merge.Config) int8 {
	return d.sources[ref.Source()].Column(cfg.Kind).(*array.Int8).Value(ref.Row())
}

// merge makes the rows that come out.
func (d *decision) merge(r *Rewriter, fold *merge.Folder) error {
	var err error
	if fold == nil {
		err = d.last(r)
	} else {
		var last []int32
		if d.out, last, err = fold.Fold(d.sources, d.rows); err == nil {
			key := 0
			for _, i := range last[:rowsOf(d.out)] {
				for int(i) >= d.rows.Ends[key] {
					key++
				}
				d.at = append(d.at, key)
			}
		}
	}
	if err != nil || d.out == nil {
		return err
	}
	d.kinds = d.out.Column(r.merge.Kind).(*array.Int8).Int8Values()
	return nil
}

func rowsOf(rec arrow.RecordBatch) int {
	if rec == nil {
		return 0
	}
	return int(rec.NumRows())
}

// last takes the last row of each key.
func (d *decision) last(r *Rewriter) (err error) {
	var refs []batch.Ref
	from := 0
	for key, end := range d.rows.Ends {
		for i := end - 1; i >= from; i-- {
			if r.merge.IgnoreDelete && d.rows.Kinds[i]&1 == 1 && (d.lookup || end-from > 1) {
				continue
			}
			refs, d.at = append(refs, d.rows.Refs[i]), append(d.at, key)
			break
		}
		from = end
	}
	if len(refs) > 0 {
		d.out, err = batch.Gather(batch.Recycled(r.cfg.Mem), r.schema, d.sources, nil, refs)
	}
	return err
}

// write writes what comes out.
func (d *decision) write(ctx context.Context, w *rowWriter, dropDeletes bool) error {
	if d.out == nil {
		return nil
	}
	keep := make([]bool, len(d.kinds))
	for i, kind := range d.kinds {
		keep[i] = !dropDeletes || kind&1 == 0
	}
	rec, err := batch.Filter(batch.Recycled(w.r.cfg.Mem), d.out, keep)
	if err != nil || rec == nil {
		return err
	}
	defer rec.Release()
	return w.write(ctx, rec)
}

// tell writes what has changed.
func (d *decision) tell(ctx context.Context, w *rowWriter) error {
	sources := d.sources
	if d.out != nil {
		sources = append(slices.Clip(sources), d.out)
	}
	var refs []batch.Ref
	var kinds []types.RowKind
	tell := func(ref batch.Ref, kind types.RowKind) {
		if kind != changelog.None {
			refs, kinds = append(refs, ref), append(kinds, kind)
		}
	}
	n := 0
	for i := range d.keys {
		k := &d.keys[i]
		after, row := false, 0
		if n < len(d.at) && d.at[n] == i {
			after, row = d.kinds[n]&1 == 0, n
			n++
		}
		if k.untouched || k.silent || d.engine == merge.FirstRow && k.had {
			continue
		}
		is := batch.NewRef(len(sources)-1, row)
		var same func() bool
		if d.equal != nil {
			same = func() bool {
				return d.equal.Rows(sources[k.before.Source()], k.before.Row(), d.out, row)
			}
		}
		was, now := changelog.Rows(k.live, after, same)
		if d.engine == merge.FirstRow && now != changelog.None {
			now = types.RowKind(d.kinds[row]) // as it is
		}
		tell(k.before, was)
		tell(is, now)
	}
	if len(refs) == 0 {
		return nil
	}
	// Rows are written already: what is too large is halved here, not tried again above.
	mem := batch.Recycled(w.r.cfg.Mem)
	for step := len(refs); len(refs) > 0; {
		n := min(step, len(refs))
		rec, err := batch.Gather(mem, w.r.schema, sources, nil, refs[:n])
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err != nil {
			return err
		}
		told := withKinds(mem, rec, w.r.merge.Kind, kinds[:n])
		rec.Release()
		err = w.write(ctx, told)
		told.Release()
		if err != nil {
			return err
		}
		refs, kinds = refs[n:], kinds[n:]
	}
	return nil
}

// withKinds is rec with other kinds.
func withKinds(mem memory.Allocator, rec arrow.RecordBatch, column int, kinds []types.RowKind) arrow.RecordBatch {
	col := batch.Int8s(mem, len(kinds), func(out []int8) {
		for i, k := range kinds {
			out[i] = int8(k)
		}
	})
	defer col.Release()
	cols := slices.Clone(rec.Columns())
	cols[column] = col
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}

// ages orders rows of one key: by the sequence fields, then by sequence number.
type ages struct {
	cfg     merge.Config
	sources []arrow.RecordBatch
	loaded  []*merge.Sequences // of sources, where asked for
}

func newAges(cfg merge.Config, sources []arrow.RecordBatch) *ages {
	return &ages{cfg: cfg, sources: sources, loaded: make([]*merge.Sequences, len(sources))}
}

func (a *ages) compare(x, y batch.Ref) (int, error) {
	if len(a.cfg.Sequence) > 0 {
		for _, r := range []batch.Ref{x, y} {
			if s := r.Source(); a.loaded[s] == nil {
				var err error
				if a.loaded[s], err = merge.LoadSequences(a.cfg.Sequence, a.cfg.Descending, a.sources[s]); err != nil {
					return 0, err
				}
			}
		}
		if c := merge.CompareSequences(a.loaded[x.Source()], x.Row(), a.loaded[y.Source()], y.Row()); c != 0 {
			return c, nil
		}
	}
	number := func(r batch.Ref) int64 {
		return a.sources[r.Source()].Column(a.cfg.SequenceNumber).(*array.Int64).Value(r.Row())
	}
	return cmp.Compare(number(x), number(y)), nil
}
