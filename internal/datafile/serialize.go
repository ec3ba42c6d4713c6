package datafile

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// MetaColumns is how many columns of a data file's description 1.4.2 serialises.
// Older releases wrote fewer of them, in the same order.
const MetaColumns = 20

func nullable(r types.Root) types.Type { return types.Type{Root: r, Nullable: true} }

func text() types.Type {
	return types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
}
func bytes() types.Type {
	return types.Type{Root: types.VarBinary, Length: types.MaxLength, Nullable: true}
}

func arrayOf(t types.Type) types.Type {
	return types.Type{Root: types.Array, Element: &t, Nullable: true}
}

func rowOf(ts ...types.Type) types.Type {
	fields := make([]types.Field, len(ts))
	for i, t := range ts {
		fields[i].Type = t
	}
	return types.Type{Root: types.Row, Fields: fields, Nullable: true}
}

// metaTypes are the types of the columns, in order.
func metaTypes() []types.Type {
	long, stats := nullable(types.BigInt), rowOf(bytes(), bytes(), arrayOf(nullable(types.BigInt)))
	return []types.Type{
		text(), long, long, bytes(), bytes(), stats, stats, long, long, long, nullable(types.Int), arrayOf(text()),
		{Root: types.Timestamp, Precision: 3, Nullable: true}, long, bytes(), nullable(types.TinyInt),
		arrayOf(text()), text(), long, arrayOf(text()),
	}
}

// AppendMeta appends m as Java's DataFileMetaSerializer does.
func AppendMeta(dst []byte, m *Meta) ([]byte, error) {
	vs := []types.Value{
		m.FileName, m.FileSize, m.RowCount, []byte(orEmpty(m.MinKey)), []byte(orEmpty(m.MaxKey)),
		statsValue(m.KeyStats), statsValue(m.ValueStats),
		m.MinSequence, m.MaxSequence, m.SchemaID, int64(m.Level), texts(m.ExtraFiles),
		nil, optional(m.DeleteRowCount), nil, nil, nil, nil, optional(m.FirstRowID), nil,
	}
	if m.ExtraFiles == nil {
		vs[11] = []types.Value{} // never null
	}
	if m.CreationMillis != nil {
		vs[12] = types.Instant{Millis: *m.CreationMillis}
	}
	if m.EmbeddedIndex != nil {
		vs[14] = m.EmbeddedIndex
	}
	if m.FileSource != nil {
		vs[15] = int64(*m.FileSource)
	}
	vs[16], vs[19] = texts(m.ValueStatsCols), texts(m.WriteCols)
	if m.ExternalPath != nil {
		vs[17] = *m.ExternalPath
	}
	dst, err := AppendRecord(dst, metaTypes(), vs)
	return dst, tarnerr.Trace("serialising data file", err, "file", m.FileName)
}

func orEmpty(r binaryrow.Row) binaryrow.Row {
	if r == nil {
		return binaryrow.Empty
	}
	return r
}

func optional(v *int64) types.Value {
	if v == nil {
		return nil
	}
	return *v
}

func texts(vs []string) types.Value {
	if vs == nil {
		return nil
	}
	out := make([]types.Value, len(vs))
	for i, v := range vs {
		out[i] = v
	}
	return out
}

func statsValue(s Stats) types.Value {
	counts := make([]types.Value, len(s.NullCounts))
	for i, n := range s.NullCounts {
		counts[i] = optional(n)
	}
	return []types.Value{[]byte(orEmpty(s.Min)), []byte(orEmpty(s.Max)), counts}
}

// AppendMetas appends a list: count, then each.
func AppendMetas(dst []byte, ms []*Meta) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(ms)))
	var err error
	for _, m := range ms {
		if dst, err = AppendMeta(dst, m); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Meta reads a data file of the first columns of the serialised form.
func (w *Wire) Meta(columns int) *Meta {
	vs := w.Record(metaTypes()[:columns])
	if vs == nil {
		return nil
	}
	vs = append(vs, make([]types.Value, MetaColumns-columns)...)
	for i := range 12 {
		if vs[i] == nil {
			w.fail("data file with a null in a column that has none", "column", i)
			return nil
		}
	}
	m := &Meta{
		FileName: vs[0].(string), FileSize: vs[1].(int64), RowCount: vs[2].(int64),
		MinKey: w.key(vs[3]), MaxKey: w.key(vs[4]), KeyStats: w.stats(vs[5]), ValueStats: w.stats(vs[6]),
		MinSequence: vs[7].(int64), MaxSequence: vs[8].(int64), SchemaID: vs[9].(int64), Level: int32(vs[10].(int64)),
		ExtraFiles: stringsOf(vs[11]), DeleteRowCount: longOf(vs[13]),
		ValueStatsCols: stringsOf(vs[16]), FirstRowID: longOf(vs[18]), WriteCols: stringsOf(vs[19]),
	}
	if v, ok := vs[12].(types.Instant); ok {
		m.CreationMillis = &v.Millis
	}
	m.EmbeddedIndex, _ = vs[14].([]byte)
	if v, ok := vs[15].(int64); ok {
		s := Source(v)
		if s != Append && s != Compact {
			w.fail("no such file source", "source", v)
		}
		m.FileSource = &s
	}
	if v, ok := vs[17].(string); ok {
		m.ExternalPath = &v
	}
	if w.err != nil {
		return nil
	}
	return m
}

func (w *Wire) key(v types.Value) binaryrow.Row {
	b, _ := v.([]byte)
	r := binaryrow.Row(b)
	w.Fail(r.Check(-1))
	return r
}

func (w *Wire) stats(v types.Value) Stats {
	vs := v.([]types.Value)
	if vs[0] == nil || vs[1] == nil {
		w.fail("statistics without rows")
		return Stats{}
	}
	s := Stats{Min: w.key(vs[0]), Max: w.key(vs[1]), NullCounts: []*int64{}}
	counts, _ := vs[2].([]types.Value)
	for _, n := range counts {
		s.NullCounts = append(s.NullCounts, longOf(n))
	}
	return s
}

func stringsOf(v types.Value) []string {
	vs, ok := v.([]types.Value)
	if !ok {
		return nil
	}
	out := make([]string, len(vs))
	for i, s := range vs {
		out[i], _ = s.(string)
	}
	return out
}

func longOf(v types.Value) *int64 {
	n, ok := v.(int64)
	if !ok {
		return nil
	}
	return &n
}

// Metas reads a list.
func (w *Wire) Metas(columns int) []*Meta {
	var out []*Meta
	for n := w.Count(); n > 0 && w.err == nil; n-- {
		out = append(out, w.Meta(columns))
	}
	return out
}
