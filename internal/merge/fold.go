package merge

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
)

// Folder makes one row of all rows of a key, for the merge and for those who find
// the rows of a key themselves. It decides what each row does once, then makes
// column after column over all keys. Not safe for concurrent use.
type Folder struct {
	cfg *Config
	b   *bound
	ev  events
	seq *sequencer // nil without sequence groups

	sources []arrow.RecordBatch // borrowed for a fold
	rows    *Rows
	roster  roster
	out     int // keys that come out

	viewed  []arrow.RecordBatch // what seq has views of
	streams []stream
	lastOne chosen
	perKey  []chosen // of streams, where nulls count as values
	scratch chosen
	arrays  []arrow.Array
	valid   []validity
	groups  []groupsOf
	picks   []batch.Ref
}

// NewFolder folds under a configuration that [Rules.Apply] has seen, of which it
// looks at the engine and the columns alone.
func NewFolder(cfg Config) (*Folder, error) {
	c := cfg.withDefaults()
	if c.bound == nil {
		return nil, tarnerr.New(tarnerr.Internal, "merging rows", "no rules for this engine", "engine", c.Engine)
	}
	f := &Folder{cfg: c, b: c.bound}
	if len(c.bound.groups) > 0 {
		f.seq = &sequencer{b: c.bound, now: make([]int, len(c.bound.groups))}
	}
	n := streamsOf(len(c.bound.groups))
	f.streams, f.perKey, f.groups = make([]stream, n), make([]chosen, n), make([]groupsOf, n)
	return f, nil
}

// Fold makes the rows that come out, in the order of the keys, nil when there
// are none; last[i] is the place among rows.Refs of the row whose sequence number
// row i of them has, valid until the next Fold. It fails with [batch.ErrTooLarge]
// when a column would be too large. Sources are borrowed; the caller releases the
// result.
func (f *Folder) Fold(sources []arrow.RecordBatch, rows Rows) (out arrow.RecordBatch, last []int32, err error) {
	defer func() { f.sources, f.rows = nil, nil }()
	if err := f.decide(sources, &rows); err != nil {
		return nil, nil, err
	}
	schema := f.cfg.Schema
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i := range schema.NumFields() {
		col, err := f.column(f.cfg.Output[i], schema.Field(i))
		if err != nil {
			return nil, nil, err
		}
		cols = append(cols, col)
	}
	if f.out == 0 {
		return nil, nil, nil
	}
	return array.NewRecordBatch(schema, cols, int64(f.out)), f.lasts(), nil
}

// decide finds out what each row does.
func (f *Folder) decide(sources []arrow.RecordBatch, rows *Rows) error {
	f.sources, f.rows = sources, rows
	f.roster.assign(rows, f.cfg.FoldLone)
	f.ev.reset(rows, len(f.b.groups))
	for i := range f.streams {
		f.streams[i].made, f.perKey[i].made, f.groups[i].made = false, false, false
	}
	f.lastOne.made = false
	var err error
	switch f.b.Engine {
	case PartialUpdate:
		if err = f.view(); err == nil {
			err = f.ev.update(f.b, rows, &f.roster, f.seq)
		}
	case Aggregation:
		f.ev.aggregate(f.b, rows, &f.roster)
	case FirstRow:
		err = f.ev.first(f.b, rows, &f.roster)
	}
	f.out = len(rows.Ends)
	if !f.roster.adds {
		for k := range rows.Ends {
			if f.drops(k) {
				f.out--
			}
		}
	}
	return err
}

// drops reports a key of which nothing comes out.
func (f *Folder) drops(k int) bool {
	return f.ev.kinds[k]&1 == 1 && !f.cfg.KeepDeletes || f.ev.last[k] < 0
}

// view makes the sequence fields of the sources ready to compare.
func (f *Folder) view() error {
	if f.seq == nil {
		return nil
	}
	for len(f.viewed) < len(f.sources) {
		f.viewed = append(f.viewed, nil)
		f.seq.views = append(f.seq.views, make([]*Sequences, len(f.b.groups)))
	}
	for i, rec := range f.sources {
		if rec == nil || f.viewed[i] == rec {
			continue
		}
		f.viewed[i] = rec
		for g, fields := range f.b.order {
			if fields == nil {
				continue
			}
			var err error
			if f.seq.views[i][g], err = LoadSequences(fields, false, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// lasts are the rows that give the sequence numbers of what comes out.
func (f *Folder) lasts() []int32 {
	if f.out == len(f.rows.Ends) {
		return f.ev.last
	}
	n := 0
	for k := range f.rows.Ends {
		if !f.drops(k) {
			f.ev.last[n] = f.ev.last[k]
			n++
		}
	}
	return f.ev.last[:n]
}

// column makes column c of the runs as field.
func (f *Folder) column(c int, field arrow.Field) (arrow.Array, error) {
	if c == f.cfg.Kind {
		return f.kinds(), nil
	}
	r := &f.b.columns[c]
	f.arrays = f.arrays[:0]
	for _, s := range f.sources {
		var a arrow.Array
		if s != nil {
			a = s.Column(c)
		}
		f.arrays = append(f.arrays, a)
	}
	var out arrow.Array
	var err error
	switch {
	case r.class == ofLast:
		out, err = f.gather(field.Type, f.lastRows(), nil)
	case r.function != nil:
		out, err = f.call(r, f.b.table[c], field.Type)
	default:
		out, err = f.gather(field.Type, f.choose(r), nil)
	}
	if err != nil {
		return nil, err
	}
	if !field.Nullable && out.NullN() > 0 && (f.cfg.KeepDeletes || f.b.Engine == PartialUpdate) {
		out.Release()
		return nil, tarnerr.New(tarnerr.Invalid, "merging rows", "null in a column that is NOT NULL", "column", field.Name).
			WithHint("Rows of one key leave nothing of the column: give it a value in each of them, and the sequence fields of its group, or make it nullable.")
	}
	return out, nil
}

// kinds is the column of row kinds that come out.
func (f *Folder) kinds() arrow.Array {
	return batch.Int8s(f.cfg.Mem, f.out, func(out []int8) {
		n := 0
		for k, kind := range f.ev.kinds {
			if !f.drops(k) {
				out[n] = kind
				n++
			}
		}
	})
}

// chosen are rows that were chosen, one per key that comes out.
type chosen struct {
	refs  []batch.Ref
	nulls bool // some name the source behind the last one, which holds a null
	valid bool // none is null
	made  bool
}

// begin chooses the oldest row of each key, whether it comes out or not.
func (c *chosen) begin(from *roster) {
	c.refs, c.nulls, c.valid = append(c.refs[:0], from.first...), false, false
}

// finish leaves out what was chosen for keys of which nothing comes out.
func (f *Folder) finish(c *chosen) {
	if f.out == len(c.refs) {
		return
	}
	n := 0
	for k, r := range c.refs {
		if !f.drops(k) {
			c.refs[n] = r
			n++
		}
	}
	c.refs = c.refs[:n]
}

// lastRows are the rows whose sequence number comes out.
func (f *Folder) lastRows() *chosen {
	c := &f.lastOne
	if c.made {
		return c
	}
	c.begin(&f.roster)
	for _, k := range f.roster.folded {
		if i := f.ev.last[k]; i >= 0 {
			c.refs[k] = f.rows.Refs[i]
		}
	}
	f.finish(c)
	c.made = true
	return c
}

// gather makes a column of the rows chosen. extra, which may be nil, is the source
// behind the last one. It never comes with c.nulls, for which a null stands there.
func (f *Folder) gather(dt arrow.DataType, c *chosen, extra arrow.Array) (arrow.Array, error) {
	arrays := f.arrays
	if c.nulls {
		data := batch.Nulls(f.cfg.Mem, dt, 1)
		extra = array.MakeFromData(data)
		data.Release()
		defer extra.Release()
	}
	if extra != nil {
		arrays = append(arrays, extra)
	}
	if c.valid {
		return batch.GatherValid(f.cfg.Mem, dt, arrays, c.refs)
	}
	return batch.GatherColumn(f.cfg.Mem, dt, arrays, c.refs)
}

// behind names row i of the source behind the last one.
func (f *Folder) behind(i int) batch.Ref { return batch.NewRef(len(f.sources), i) }
