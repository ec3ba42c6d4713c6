package lookup

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/types"
)

// query is the keys of one Get and what was found of them.
type query struct {
	r      *Reader
	keys   Keys
	loaded []*merge.Keys // of the sources, where asked for
	out    *Rows
	found  int

	encoders []*encoder // of the sources, where asked for
}

func newQuery(r *Reader, keys Keys, out *Rows) *query {
	return &query{r: r, keys: keys, loaded: make([]*merge.Keys, len(keys.Sources)), out: out}
}

// load makes keys ready to compare.
func (q *query) load(keys []int) error {
	for _, i := range keys {
		s := q.keys.Refs[i].Source()
		if q.loaded[s] != nil {
			continue
		}
		var err error
		if q.loaded[s], err = q.r.asked.Load(q.keys.Sources[s]); err != nil {
			return err
		}
	}
	return nil
}

// compare orders key i, which is loaded, and row j of other keys.
func (q *query) compare(i int, other *merge.Keys, j int) int {
	ref := q.keys.Refs[i]
	return merge.CompareKeys(q.loaded[ref.Source()], ref.Row(), other, j)
}

// prefix is what orders key i roughly.
func (q *query) prefix(i int) uint64 {
	ref := q.keys.Refs[i]
	return q.loaded[ref.Source()].Prefix()[ref.Row()]
}

// value is column c of key i.
func (q *query) value(i, c int) types.Value {
	ref := q.keys.Refs[i]
	return types.ValueAt(q.r.keyTypes[c], q.keys.Sources[ref.Source()].Column(q.r.cfg.Asked[c]), ref.Row())
}

// encode appends the bytes of key i.
func (q *query) encode(dst []byte, i int) ([]byte, error) {
	ref := q.keys.Refs[i]
	if q.encoders == nil {
		q.encoders = make([]*encoder, len(q.keys.Sources))
	}
	e := q.encoders[ref.Source()]
	if e == nil {
		e = &encoder{}
		if err := e.bind(q.keys.Sources[ref.Source()], q.r.cfg.Asked); err != nil {
			return nil, err
		}
		q.encoders[ref.Source()] = e
	}
	return e.append(dst, ref.Row()), nil
}

// keep makes batches of rows found: refs of sources, of the keys given.
func (q *query) keep(sources []arrow.RecordBatch, refs []batch.Ref, keys []int) error {
	if len(refs) == 0 {
		return nil
	}
	rec, err := batch.Gather(batch.Recycled(q.r.cfg.Mem), q.r.schema, sources, nil, refs)
	if errors.Is(err, batch.ErrTooLarge) && len(refs) > 1 {
		half := len(refs) / 2
		if err = q.keep(sources, refs[:half], keys[:half]); err == nil {
			err = q.keep(sources, refs[half:], keys[half:])
		}
		return err
	}
	if err != nil {
		return err
	}
	var live []bool
	if q.r.cfg.Live != nil {
		live = q.r.cfg.Live(rec)
	}
	for i, key := range keys {
		if live == nil || live[i] {
			q.out.Refs[key] = batch.NewRef(len(q.out.Batches), i)
		}
	}
	q.out.Batches = append(q.out.Batches, rec)
	q.found += len(keys)
	return nil
}
