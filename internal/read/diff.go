package read

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/changelog"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/types"
)

// openDiff compares two states of a bucket. All columns count, so that all are
// read; the predicate filters what is found.
func (s *scan) openDiff(dir string, sp *split.Split, most int64) (batch.Reader, error) {
	whole, err := newScan(s.cfg, Request{Where: s.onKeys, Kind: true})
	if err != nil {
		return nil, err
	}
	if most > 0 {
		most = max(most/2, 1) // 0 is any
	}
	before, err := whole.openMerge(dir, sp.Change.Before, most)
	if err != nil {
		return nil, err
	}
	after, err := whole.openMerge(dir, sp.Files, most)
	if err != nil {
		before.Close()
		return nil, err
	}
	table := s.cfg.Files.Table
	d := &diff{schema: whole.out, mem: s.mem, before: side{Reader: before}, after: side{Reader: after}, deletes: s.kind}
	d.equal = changelog.NewEqual(columns(1, len(table.Fields)))
	if d.before.order, err = keyOrder(table); err != nil {
		d.Close()
		return nil, err
	}
	d.after.order = d.before.order
	from := make([]int, 0, len(s.raw)+1)
	if s.kind {
		from = append(from, 0)
	}
	for _, f := range s.raw {
		from = append(from, 1+table.Index(f.Name))
	}
	return newFinish(s, &selected{Reader: d, columns: from}, s.kind), nil
}

// selected gives some columns of its reader.
type selected struct {
	batch.Reader
	columns []int
	out     arrow.RecordBatch
}

func (r *selected) Schema() *arrow.Schema {
	in := r.Reader.Schema()
	fields := make([]arrow.Field, len(r.columns))
	for i, c := range r.columns {
		fields[i] = in.Field(c)
	}
	return arrow.NewSchema(fields, nil)
}

func (r *selected) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	rec, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	r.out = batch.Select(r.Schema(), rec, r.columns)
	return r.out, nil
}

func (r *selected) drop() {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
}

func (r *selected) Close() error {
	r.drop()
	return r.Reader.Close()
}

// diff walks two states in the order of their keys and returns the rows of the
// second that the first has not, and, where deletes are wanted, those of the
// first whose keys are gone, as -D.
type diff struct {
	schema        *arrow.Schema
	mem           memory.Allocator
	before, after side
	equal         *changelog.Equal
	deletes       bool

	out arrow.RecordBatch
}

func (d *diff) Schema() *arrow.Schema { return d.schema }

// diffRows is how many rows of a state are compared between two batches returned.
const diffRows = 8192

func (d *diff) Next(ctx context.Context) (arrow.RecordBatch, error) {
	d.drop()
	for {
		if err := d.before.fill(ctx); err != nil {
			return nil, err
		}
		if err := d.after.fill(ctx); err != nil {
			return nil, err
		}
		if d.before.rec == nil && d.after.rec == nil {
			return nil, io.EOF
		}
		refs, gone := d.step()
		if len(refs) == 0 {
			continue
		}
		var err error
		if d.out, err = d.gather(refs, gone); err != nil {
			return nil, err
		}
		return d.out, nil
	}
}

// step compares rows until either batch is at its end. Rows of before have the
// source 0, those of after 1; gone are the places of the deletes among refs.
func (d *diff) step() (refs []batch.Ref, gone []bool) {
	b, a := &d.before, &d.after
	take := func(ref batch.Ref, deleted bool) { refs, gone = append(refs, ref), append(gone, deleted) }
	for len(refs) < diffRows && (b.rec == nil || b.at < b.rows()) && (a.rec == nil || a.at < a.rows()) {
		c := 0
		switch {
		case b.rec == nil && a.rec == nil:
			return refs, gone
		case b.rec == nil:
			c = 1
		case a.rec == nil:
			c = -1
		default:
			c = compareSides(b, a)
		}
		switch {
		case c < 0:
			if d.deletes {
				take(batch.NewRef(0, b.at), true)
			}
			b.at++
		case c > 0:
			take(batch.NewRef(1, a.at), false)
			a.at++
		default:
			if !d.equal.Rows(b.rec, b.at, a.rec, a.at) {
				take(batch.NewRef(1, a.at), false)
			}
			b.at++
			a.at++
		}
	}
	return refs, gone
}

func (d *diff) gather(refs []batch.Ref, gone []bool) (arrow.RecordBatch, error) {
	sources := []arrow.RecordBatch{d.before.rec, d.after.rec}
	for i, s := range sources {
		if s == nil {
			sources[i] = sources[1-i]
		}
	}
	rec, err := batch.Gather(d.mem, d.schema, sources, nil, refs)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	kinds := rec.Column(0).(*array.Int8)
	return withKinds(d.mem, rec, len(refs), func(i int) types.RowKind {
		if gone[i] {
			return types.Delete
		}
		return types.RowKind(kinds.Value(i))
	}), nil
}

func (d *diff) drop() {
	if d.out != nil {
		d.out.Release()
		d.out = nil
	}
}

func (d *diff) Close() error {
	d.drop()
	err := d.before.Close()
	if e := d.after.Close(); err == nil {
		err = e
	}
	return err
}
