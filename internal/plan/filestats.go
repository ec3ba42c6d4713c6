package plan

import (
	"slices"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

// evolution sees statistics of files of one schema through the table's schema:
// columns are matched by field id, their values taken as they are where that is
// safe, and unknown elsewhere. Source: format-map §10.
type evolution struct {
	// columns of the table's schema by name.
	columns map[string]evolved
}

type evolved struct {
	name    string // in the file's schema
	at      int    // among written, -1 when the file's schema had no such column
	written types.Type
	table   types.Type
	known   bool // bounds of the file's type bound the table's values
}

// newEvolution relates the table's fields to those a file was written with.
func newEvolution(table, written []types.Field) *evolution {
	e := &evolution{columns: make(map[string]evolved, len(table))}
	for _, t := range table {
		c := evolved{at: slices.IndexFunc(written, func(w types.Field) bool { return w.ID == t.ID })}
		if c.at >= 0 {
			w := written[c.at]
			c.name, c.written, c.table, c.known = w.Name, w.Type.WithNull(true), t.Type.WithNull(true), comparable(w.Type, t.Type)
		}
		e.columns[t.Name] = c
	}
	return e
}

// comparable reports that a column's old bounds hold for its values under the
// new type: the types agree, or an integer became wider.
func comparable(written, table types.Type) bool {
	if written.EqualIgnoringNull(table) {
		return true
	}
	return written.IsInteger() && table.IsInteger() && written.Root <= table.Root
}

// fileStats are the statistics of one file for predicates over the table's columns.
type fileStats struct {
	*evolution
	stats datafile.Stats
	dense []string // columns of stats, nil = those written
	rows  int64
	shown bool // for people: bounds are converted, whether they bound anything or not
}

// ShownStats are the statistics of a file written with the fields written, seen as
// statistics of the table's columns, as Java shows them: what was known of a
// column before its type changed is converted to the new type. They prune nothing.
func ShownStats(table, written []types.Field, f *datafile.Meta) expr.StatsLookup {
	return fileStats{evolution: newEvolution(table, written), stats: f.ValueStats, dense: statsColumns(f), rows: f.RowCount, shown: true}
}

// statsColumns names the columns that the value statistics of a file are of, in their
// order; nil = those of its schema.
func statsColumns(f *datafile.Meta) []string {
	if f.ValueStatsCols == nil {
		return f.WriteCols
	}
	return f.ValueStatsCols
}

// Column implements expr.StatsLookup.
func (f fileStats) Column(name string) (lo, hi types.Value, nulls int64, ok bool) {
	c, there := f.columns[name]
	switch {
	case !there:
		return nil, nil, -1, false
	case c.at < 0:
		return nil, nil, f.rows, true // added later: every row is null
	case !c.known && !f.shown:
		return nil, nil, -1, false
	}
	at := c.at
	if f.dense != nil {
		if at = slices.Index(f.dense, c.name); at < 0 {
			return nil, nil, -1, false
		}
	}
	nulls = -1
	if at < len(f.stats.NullCounts) && f.stats.NullCounts[at] != nil {
		nulls = *f.stats.NullCounts[at]
	}
	lo, hi = bound(f.stats.Min, at, c.written), bound(f.stats.Max, at, c.written)
	if f.shown && !c.written.Equal(c.table) {
		lo, hi = c.converted(lo), c.converted(hi)
	}
	return lo, hi, nulls, true
}

// converted is a bound as a value of the table's type, nil when it has none.
func (c evolved) converted(v types.Value) types.Value {
	rule, err := cast.New(c.written, c.table)
	if err != nil {
		return nil
	}
	out, err := rule.Value(v)
	if err != nil {
		return nil
	}
	return out
}

// bound is one value of a row of bounds, nil when it is null or cannot be read:
// a bound that nobody can read bounds nothing.
func bound(row binaryrow.Row, at int, t types.Type) types.Value {
	if at >= row.Arity() || row.Check(-1) != nil {
		return nil
	}
	v, err := row.Value(at, t)
	if err != nil {
		return nil
	}
	return v
}

// keyRange is what the exact key range of a file tells where it has no
// statistics: bounds of the first key column, and that no key is null.
type keyRange struct {
	first    string
	typ      types.Type
	min, max binaryrow.Row
	next     fileStats
}

// Column implements expr.StatsLookup.
func (k keyRange) Column(name string) (lo, hi types.Value, nulls int64, ok bool) {
	lo, hi, nulls, ok = k.next.Column(name)
	if name != k.first || (ok && lo != nil && hi != nil) || k.typ.Nullable {
		return lo, hi, nulls, ok
	}
	lo, hi = bound(k.min, 0, k.typ), bound(k.max, 0, k.typ)
	return lo, hi, 0, lo != nil && hi != nil
}

// inPartition adds the values of a file's partition, which all its rows have.
type inPartition struct {
	fileStats
	values map[string]types.Value
}

// Column implements expr.StatsLookup.
func (p inPartition) Column(name string) (lo, hi types.Value, nulls int64, ok bool) {
	v, there := p.values[name]
	switch {
	case !there:
		return p.fileStats.Column(name)
	case v == nil:
		return nil, nil, p.rows, true
	}
	return v, v, 0, true
}

// trackedStats adds what a file of a table with row tracking tells of the row ids and
// sequence numbers of its rows.
type trackedStats struct {
	inPartition
	file *datafile.Meta
}

// Column implements expr.StatsLookup.
func (t trackedStats) Column(name string) (lo, hi types.Value, nulls int64, ok bool) {
	f := t.file
	switch name {
	case types.RowIDName:
		if f.FirstRowID != nil && !slices.Contains(f.WriteCols, name) {
			return *f.FirstRowID, *f.FirstRowID + f.RowCount - 1, 0, true
		}
	case types.SequenceNumberName:
		if !slices.Contains(f.WriteCols, name) {
			return f.MaxSequence, f.MaxSequence, 0, true
		}
	default:
		return t.inPartition.Column(name)
	}
	return t.carried(name)
}

// carried bounds a column that the rows of a file brought along, unless some are null:
// those have what the file's metadata says.
func (t trackedStats) carried(name string) (lo, hi types.Value, nulls int64, ok bool) {
	at := slices.Index(statsColumns(t.file), name)
	if at < 0 || at >= len(t.stats.NullCounts) || t.stats.NullCounts[at] == nil || *t.stats.NullCounts[at] != 0 {
		return nil, nil, -1, false
	}
	bigint := types.Type{Root: types.BigInt, Nullable: true}
	lo, hi = bound(t.stats.Min, at, bigint), bound(t.stats.Max, at, bigint)
	return lo, hi, 0, lo != nil && hi != nil
}

// partitionStats are the statistics of the partitions in one manifest.
type partitionStats struct {
	fields []types.Field
	stats  datafile.Stats
}

// Column implements expr.StatsLookup.
func (p partitionStats) Column(name string) (lo, hi types.Value, nulls int64, ok bool) {
	at := slices.IndexFunc(p.fields, func(f types.Field) bool { return f.Name == name })
	if at < 0 {
		return nil, nil, -1, false
	}
	nulls = -1
	if at < len(p.stats.NullCounts) && p.stats.NullCounts[at] != nil {
		nulls = *p.stats.NullCounts[at]
	}
	t := p.fields[at].Type.WithNull(true)
	return bound(p.stats.Min, at, t), bound(p.stats.Max, at, t), nulls, true
}
