package compact

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/types"
)

// newOld prepares looking up what keys had below a compaction. Of first-row it is
// enough to know that there is a row.
func (r *Rewriter) newOld() (*lookup.Reader, error) {
	s := r.cfg.Schema
	cfg := lookup.Config{Source: r.source, Columns: r.rows, Asked: r.keys, Mem: r.cfg.Mem}
	for _, k := range r.keys {
		cfg.Key = append(cfg.Key, s.Fields[k])
	}
	switch {
	case r.merge.Engine == merge.FirstRow:
		cfg.Columns = cfg.Key // old rows count, expired or not, as in Java
	case r.expiry != nil:
		cfg.Live = r.expiry.live
	}
	if r.cfg.Lookups != nil && r.cfg.Options.LookupFiles.MaxDisk > 0 {
		cfg.Files = r.cfg.Lookups.Files(r.cfg.Place.Dir, r.cfg.Options.LookupFiles, func(doing string, err error) {
			r.cfg.Listener.Emit(event.Warning{Table: r.cfg.Table, Doing: doing, Err: err})
		})
	}
	return lookup.New(cfg)
}

// below opens the files below a task for the keys of sections.
func (r *Rewriter) below(dir string, t *Task, sections []lsm.Section) (*lookup.Bucket, error) {
	if !r.producer.lookup || len(t.Below) == 0 || len(sections) == 0 {
		return nil, nil
	}
	last, err := r.lastKey(sections[len(sections)-1])
	if err != nil {
		return nil, err
	}
	return r.old.Bucket(dir, t.Below, last), nil
}

// lookupMemory is what looking up old rows of a task takes.
func (r *Rewriter) lookupMemory(t *Task) int64 {
	if !r.producer.lookup {
		return 0
	}
	return lookup.Memory(t.Below)
}

// lastKey is the highest key of a section.
func (r *Rewriter) lastKey(s lsm.Section) (binaryrow.Row, error) {
	var last binaryrow.Row
	var high []types.Value
	for _, run := range s {
		key := run[len(run)-1].MaxKey
		values, err := binaryrow.Decode(key, r.keyTypes)
		if err != nil {
			return nil, err
		}
		if last == nil || compareKeys(r.keyTypes, values, high) > 0 {
			last, high = key, values
		}
	}
	return last, nil
}

func compareKeys(ts []types.Type, a, b []types.Value) int {
	for i, t := range ts {
		if c := types.CompareInMerge(t, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// find notes the row of the lowest level below that has each key looked for. Keys of
// first-row that have one are done.
func (d *decision) find(ctx context.Context, below *lookup.Bucket, cfg *merge.Config) error {
	if below == nil {
		return nil
	}
	asked := lookup.Keys{Sources: d.traced.Sources}
	var keys []int
	for i := range d.keys {
		if k := &d.keys[i]; k.looked {
			keys, asked.Refs = append(keys, i), append(asked.Refs, d.traced.Refs[k.rows[0]])
		}
	}
	found, err := below.Get(ctx, asked)
	if err != nil {
		return err
	}
	if d.engine == merge.FirstRow {
		defer found.Release()
		d.leave(keys, found.Refs)
		return nil
	}
	base := len(d.sources)
	d.own, d.sources = append(d.own, found.Batches...), append(d.sources, found.Batches...)
	for i, ref := range found.Refs {
		if ref != lookup.None {
			rec := found.Batches[ref.Source()]
			kind := rec.Column(cfg.Kind).(*array.Int8).Value(ref.Row())
			d.found(keys[i], batch.NewRef(base+ref.Source(), ref.Row()), kind)
		}
	}
	return nil
}

// leave leaves out the keys that have a row.
func (d *decision) leave(keys []int, refs []batch.Ref) {
	kept := d.keys[:0]
	at := 0
	for i := range d.keys {
		if at < len(keys) && keys[at] == i {
			at++
			if refs[at-1] != lookup.None {
				continue
			}
		}
		kept = append(kept, d.keys[i])
	}
	d.keys = kept
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

// forget gives up what is kept of files of a bucket that no look-up will ask for again.
func (r *Rewriter) forget(b Bucket, files []*datafile.Meta) {
	if r.old != nil {
		r.old.Drop(r.cfg.Place.BucketDir(b.Partition, b.Bucket), files)
	}
}

// gone are the files that a compaction took out of the tree.
func gone(out Result) (files []*datafile.Meta) {
	for _, f := range out.Before {
		if !named(out.After, f.FileName) {
			files = append(files, f)
		}
	}
	return files
}
