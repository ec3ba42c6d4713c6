package run

import (
	"math"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/kvbatch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Fields are the columns of the files in file order: of a key table `_KEY_*`
// (not in thin files), `_SEQUENCE_NUMBER`, `_VALUE_KIND`, then the table's; of an
// append table the table's, then `_ROW_ID` and `_SEQUENCE_NUMBER` where files carry them.
func (s *FileSpec) Fields() []types.Field {
	switch {
	case s.Tracking == Carried:
		return append(slices.Clip(s.Values), types.RowTrackingFields()...)
	case len(s.Keys) == 0:
		return s.Values
	}
	return kvbatch.FileFields(s.Keys, s.Values, s.Thin)
}

// fileLayout says where in a file's columns the parts of its metadata come from.
type fileLayout struct {
	fields []types.Field
	modes  []StatsMode
	// keys are the columns of the file that hold the key, in key order.
	keys []int
	// keyFields are the fields of key statistics.
	keyFields []types.Field
	values    int // first value column
}

func (l *fileLayout) keyed() bool   { return len(l.keys) > 0 }
func (l *fileLayout) sequence() int { return l.values - 2 }
func (l *fileLayout) kind() int     { return l.values - 1 }

func (s *FileSpec) layout() *fileLayout {
	l := &fileLayout{fields: s.Fields()}
	if len(s.Keys) > 0 {
		l.values = len(l.fields) - len(s.Values)
	}
	var thinKeys []string
	for i, k := range s.Keys {
		at := i
		if s.Thin {
			at = l.values + valueIndex(s.Values, k.Name)
			thinKeys = append(thinKeys, k.Name)
		}
		l.keys = append(l.keys, at)
		l.keyFields = append(l.keyFields, types.KeyField(k))
	}
	if l.modes = s.Stats.Modes(l.fields, thinKeys); l.keyed() && s.Format.Name() == "avro" {
		l.modes = s.Stats.collected(l.fields)
	}
	return l
}

func valueIndex(values []types.Field, name string) int {
	for i, f := range values {
		if f.Name == name {
			return i
		}
	}
	return 0 // a schema's key is one of its columns
}

func (s *FileSpec) encoding() fileformat.WriteOptions {
	o := s.Encoding
	o.Mem = s.Mem
	return o
}

// keyRange gathers what key-value metadata needs and column statistics do not say.
type keyRange struct {
	rows           *binaryrow.Encoder
	min, max       binaryrow.Row
	minSeq, maxSeq int64
	retracts       int64
}

// extend takes a batch into account, which follows those before it in key order.
func (k *keyRange) extend(l *fileLayout, rec arrow.RecordBatch) error {
	seqs, okSeq := rec.Column(l.sequence()).(*array.Int64)
	kinds, okKind := rec.Column(l.kind()).(*array.Int8)
	if !okSeq || !okKind {
		return tarnerr.New(tarnerr.Internal, "writing data file", "system columns are missing",
			"sequence", rec.ColumnName(l.sequence()), "kind", rec.ColumnName(l.kind()))
	}
	first := k.rows == nil
	if first {
		k.rows = binaryrow.NewEncoder(l.keyFields)
		k.minSeq, k.maxSeq = math.MaxInt64, math.MinInt64
	}
	if err := k.rows.Bind(rec, l.keys); err != nil {
		return tarnerr.Trace("reading keys", err)
	}
	if first {
		k.min = k.rows.AppendRow(nil, 0)
	}
	k.max = k.rows.AppendRow(k.max[:0], int(rec.NumRows())-1)
	for _, s := range seqs.Int64Values() {
		k.minSeq = min(k.minSeq, s)
		k.maxSeq = max(k.maxSeq, s)
	}
	for _, v := range kinds.Int8Values() {
		if types.RowKind(v).IsRetract() {
			k.retracts++
		}
	}
	return nil
}

// meta describes a finished file. next is the append number after its last row.
func (l *fileLayout) meta(s *FileSpec, f *openFile, sum fileformat.Summary, next int64) (*datafile.Meta, error) {
	stats := make([]columnStats, len(l.fields))
	for i, c := range sum.Columns {
		stats[i] = keep(l.modes[i], l.fields[i].Type, c)
	}
	values, columns, err := statsRow(l.fields[l.values:], stats[l.values:], s.Stats.Dense)
	if err != nil {
		return nil, tarnerr.Trace("laying out statistics", err, "file", f.name)
	}
	created := localWallClock(s.Env.Now())
	retracts := f.keys.retracts
	source := s.Source
	m := &datafile.Meta{
		FileName: f.name, FileSize: sum.FileSize, RowCount: sum.RowCount,
		MinKey: binaryrow.Empty, MaxKey: binaryrow.Empty, KeyStats: datafile.EmptyStats(),
		ValueStats: values, ValueStatsCols: columns,
		MinSequence: next - sum.RowCount, MaxSequence: next - 1,
		SchemaID: s.SchemaID, Level: s.Level,
		ExtraFiles: []string{}, CreationMillis: &created, DeleteRowCount: &retracts, FileSource: &source,
	}
	if !l.keyed() {
		l.track(s, m, sum)
		return m, nil
	}
	m.MinKey, m.MaxKey = f.keys.min, f.keys.max
	m.MinSequence, m.MaxSequence = f.keys.minSeq, f.keys.maxSeq
	keys := make([]columnStats, len(l.keys))
	for i, c := range l.keys {
		keys[i] = stats[c]
	}
	m.KeyStats, _, err = statsRow(l.keyFields, keys, false)
	if err != nil {
		return nil, tarnerr.Trace("laying out key statistics", err, "file", f.name)
	}
	return m, nil
}

// track tells what the file knows of row ids. Java 1.4.2 numbers rows that are carried
// over from the first file's number on, which says nothing of them; the bounds of their
// numbers are what later versions tell.
func (l *fileLayout) track(s *FileSpec, m *datafile.Meta, sum fileformat.Summary) {
	switch s.Tracking {
	case Untold:
		m.MinSequence, m.MaxSequence = 0, 0
	case Carried:
		for _, f := range l.fields {
			m.WriteCols = append(m.WriteCols, f.Name)
		}
		sequence := sum.Columns[len(l.fields)-1]
		m.MinSequence, _ = sequence.Min.(int64)
		m.MaxSequence, _ = sequence.Max.(int64)
	}
}

// localWallClock is what a clock on the wall of the writer's zone shows, in
// milliseconds as if it hung in UTC: how Java stores creation times.
func localWallClock(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMilli() + int64(offset)*1000
}
