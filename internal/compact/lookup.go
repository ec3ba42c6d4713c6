package compact

import (
	"context"
	"io"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// finder looks up what keys had on the levels below a compaction. It asks for
// many keys at a time, in their order: a file is read from its first page that may
// hold one of them to the last, and pages between that hold none are skipped.
type finder struct {
	r     *Rewriter
	dir   string
	below []*datafile.Meta
	keys  *merge.Order
}

// inMost is up to how many keys a file is asked for by value and not by range.
const inMost = 512

// sought are keys to be looked up, ascending.
type sought struct {
	d      *decision
	keys   []int         // of d
	loaded []*merge.Keys // of d.sources, where asked for
}

// ref is a row of the key.
func (s *sought) ref(i int) batch.Ref { return s.d.traced.Refs[s.d.keys[s.keys[i]].rows[0]] }

// find notes the row of the lowest level below that has each key looked for.
func (f *finder) find(ctx context.Context, d *decision) error {
	s := &sought{d: d}
	for i := range d.keys {
		if d.keys[i].looked {
			s.keys = append(s.keys, i)
		}
	}
	if len(s.keys) == 0 || len(f.below) == 0 {
		return nil
	}
	s.loaded = make([]*merge.Keys, len(d.sources))
	var levels []int32
	for _, file := range f.below {
		levels = append(levels, file.Level)
	}
	slices.Sort(levels)
	for _, level := range slices.Compact(levels) {
		for _, file := range f.below {
			if file.Level != level {
				continue
			}
			in, err := f.within(s, file)
			if err == nil && len(in.keys) > 0 {
				err = f.look(ctx, in, file)
			}
			if err != nil {
				return tarnerr.Trace("looking up old rows", err, "file", file.FileName)
			}
		}
		s.keys = slices.DeleteFunc(s.keys, func(i int) bool { return d.keys[i].found })
	}
	return nil
}

// within are the keys that lie in the key range of a file.
func (f *finder) within(s *sought, file *datafile.Meta) (*sought, error) {
	lo, err := binaryrow.Decode(file.MinKey, f.r.keyTypes)
	if err != nil {
		return nil, err
	}
	hi, err := binaryrow.Decode(file.MaxKey, f.r.keyTypes)
	if err != nil {
		return nil, err
	}
	from := sort.Search(len(s.keys), func(i int) bool { return f.compare(s, i, lo) >= 0 })
	to := from + sort.Search(len(s.keys)-from, func(i int) bool { return f.compare(s, from+i, hi) > 0 })
	in := *s
	in.keys = s.keys[from:to]
	return &in, nil
}

// compare orders a key looked for and a decoded one.
func (f *finder) compare(s *sought, i int, bound []types.Value) int {
	for c, t := range f.r.keyTypes {
		if o := types.CompareInMerge(t, f.value(s, i, c), bound[c]); o != 0 {
			return o
		}
	}
	return 0
}

// value is column c of a key looked for.
func (f *finder) value(s *sought, i, c int) types.Value {
	ref := s.ref(i)
	return types.ValueAt(f.r.keyTypes[c], s.d.sources[ref.Source()].Column(f.r.keys[c]), ref.Row())
}

// look reads a file for keys of its range.
func (f *finder) look(ctx context.Context, s *sought, file *datafile.Meta) error {
	where, err := f.where(s)
	if err != nil {
		return err
	}
	req := f.r.runRequest(1, 1)
	req.Where = where
	in, err := f.r.openBelow(ctx, f.dir, file, req)
	if err != nil {
		return err
	}
	err = f.match(ctx, s, in)
	if e := in.Close(); err == nil {
		err = e
	}
	return err
}

// where leaves out what cannot be one of the keys, by their first column. The two
// zeroes of a float are one key and two values: floats are not asked for.
func (f *finder) where(s *sought) (*expr.Bound, error) {
	t := f.r.keyTypes[0]
	if t.Root == types.Float || t.Root == types.Double || t.Root == types.Boolean {
		return nil, nil
	}
	column := f.r.cfg.Schema.TrimmedPrimaryKeys()[0]
	var e expr.Expr = expr.And{
		expr.Compare{Column: column, Op: expr.Ge, Value: f.value(s, 0, 0)},
		expr.Compare{Column: column, Op: expr.Le, Value: f.value(s, len(s.keys)-1, 0)},
	}
	if len(s.keys) <= inMost {
		in := expr.In{Column: column}
		for i := range s.keys {
			in.Values = append(in.Values, f.value(s, i, 0))
		}
		e = in
	}
	return expr.Bind(e, f.r.cfg.Schema.Fields)
}

// match walks a file and the keys side by side.
func (f *finder) match(ctx context.Context, s *sought, in batch.Reader) error {
	for at := 0; at < len(s.keys); {
		rec, err := in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := f.keys.Load(rec)
		if err != nil {
			return err
		}
		var refs []batch.Ref
		var hit []int
		for row, n := 0, int(rec.NumRows()); row < n && at < len(s.keys); {
			key, r, err := f.load(s, at)
			if err != nil {
				return err
			}
			row += sort.Search(n-row, func(i int) bool { return merge.CompareKeys(rows, row+i, key, r) >= 0 })
			if row == n {
				break
			}
			switch c := merge.CompareKeys(rows, row, key, r); {
			case c > 0:
				at++
			case c == 0:
				refs, hit = append(refs, batch.NewRef(0, row)), append(hit, s.keys[at])
				row++
				at++
			}
		}
		if err := f.keep(s.d, rec, refs, hit); err != nil {
			return err
		}
	}
	return nil
}

// load makes a key ready to compare.
func (f *finder) load(s *sought, i int) (*merge.Keys, int, error) {
	ref := s.ref(i)
	at := ref.Source()
	if s.loaded[at] == nil {
		var err error
		if s.loaded[at], err = f.keys.Load(s.d.sources[at]); err != nil {
			return nil, 0, err
		}
	}
	return s.loaded[at], ref.Row(), nil
}

// keep makes a source of the rows found.
func (f *finder) keep(d *decision, rec arrow.RecordBatch, refs []batch.Ref, hit []int) error {
	if len(refs) == 0 {
		return nil
	}
	got, err := batch.Gather(batch.Recycled(f.r.cfg.Mem), f.r.schema, []arrow.RecordBatch{rec}, nil, refs)
	if err != nil {
		return err
	}
	d.own, d.sources = append(d.own, got), append(d.sources, got)
	kinds := got.Column(f.r.merge.Kind).(*array.Int8)
	for i, key := range hit {
		d.found(key, batch.NewRef(len(d.sources)-1, i), kinds.Value(i))
	}
	return nil
}

// Below are the files of a tree that lie deeper than the output of a unit: what
// [Task] must know where rows are looked up.
func Below(l *lsm.Levels, u *lsm.Unit) []*datafile.Meta {
	var out []*datafile.Meta
	for _, r := range l.Runs() {
		if r.Level > u.OutputLevel {
			out = append(out, r.Run...)
		}
	}
	return out
}
