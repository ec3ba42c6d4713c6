package commitmsg

import (
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// indexLayout is the serialised form of an index file: how many columns it has,
// and how many the location of a deletion vector in it.
type indexLayout struct {
	columns, vectorColumns int
}

func indexLayoutOf(version int) indexLayout {
	switch {
	case version >= 11:
		return indexLayout{7, 4}
	case version >= 9:
		return indexLayout{6, 4}
	case version >= 5:
		return indexLayout{5, 4}
	}
	return indexLayout{5, 3}
}

func nullable(r types.Root) types.Type { return types.Type{Root: r, Nullable: true} }

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

// types are the types of the columns.
func (l indexLayout) types() []types.Type {
	text := types.Type{Root: types.VarChar, Length: types.MaxLength, Nullable: true}
	blob := types.Type{Root: types.VarBinary, Length: types.MaxLength, Nullable: true}
	long, whole := nullable(types.BigInt), nullable(types.Int)
	vector := []types.Type{text, whole, whole, long}
	return []types.Type{
		text, text, long, long, arrayOf(rowOf(vector[:l.vectorColumns]...)), text,
		rowOf(long, long, whole, arrayOf(whole), blob),
	}[:l.columns]
}

// appendIndex appends an index file as 1.4.2 does.
func appendIndex(dst []byte, e *manifest.IndexEntry) ([]byte, error) {
	vs := []types.Value{e.IndexType, e.FileName, e.FileSize, e.RowCount, nil, nil, nil}
	if e.Vectors != nil {
		vectors := make([]types.Value, len(e.Vectors))
		for i, v := range e.Vectors {
			row := []types.Value{v.DataFile, int64(v.Offset), int64(v.Length), nil}
			if v.Cardinality != nil {
				row[3] = *v.Cardinality
			}
			vectors[i] = row
		}
		vs[4] = vectors
	}
	if e.ExternalPath != nil {
		vs[5] = *e.ExternalPath
	}
	if g := e.Global; g != nil {
		row := []types.Value{g.RowRangeStart, g.RowRangeEnd, int64(g.FieldID), nil, nil}
		if g.ExtraFieldIDs != nil {
			ids := make([]types.Value, len(g.ExtraFieldIDs))
			for i, id := range g.ExtraFieldIDs {
				ids[i] = int64(id)
			}
			row[3] = ids
		}
		if g.Meta != nil {
			row[4] = g.Meta
		}
		vs[6] = row
	}
	dst, err := datafile.AppendRecord(dst, indexLayoutOf(Version).types(), vs)
	return dst, tarnerr.Trace("serialising index file", err, "file", e.FileName)
}

// read reads an index file without its place.
func (l indexLayout) read(w *datafile.Wire) (e manifest.IndexEntry) {
	vs := w.Record(l.types())
	if vs == nil {
		return e
	}
	for i := range 4 {
		if vs[i] == nil {
			w.Fail(corrupt("index file with a null in a column that has none"))
			return e
		}
	}
	e.IndexType, e.FileName, e.FileSize, e.RowCount = vs[0].(string), vs[1].(string), vs[2].(int64), vs[3].(int64)
	if ranges, ok := vs[4].([]types.Value); ok {
		e.Vectors = make([]manifest.VectorRange, 0, len(ranges))
		for _, r := range ranges {
			row, _ := r.([]types.Value)
			v, ok := vectorRange(row)
			if !ok {
				w.Fail(corrupt("deletion vector without its place"))
				return e
			}
			e.Vectors = append(e.Vectors, v)
		}
	}
	if l.columns > 5 {
		if s, ok := vs[5].(string); ok {
			e.ExternalPath = &s
		}
	}
	if l.columns > 6 {
		if row, ok := vs[6].([]types.Value); ok {
			if e.Global = globalIndex(row); e.Global == nil {
				w.Fail(corrupt("global index without its range"))
			}
		}
	}
	return e
}

func corrupt(cause string) error {
	return tarnerr.New(tarnerr.Corrupt, "deserialising commit message", cause)
}

func vectorRange(row []types.Value) (v manifest.VectorRange, ok bool) {
	if len(row) < 3 {
		return v, false
	}
	name, ok1 := row[0].(string)
	offset, ok2 := row[1].(int64)
	length, ok3 := row[2].(int64)
	v = manifest.VectorRange{DataFile: name, Offset: int32(offset), Length: int32(length)}
	if len(row) > 3 {
		if n, ok := row[3].(int64); ok {
			v.Cardinality = &n
		}
	}
	return v, ok1 && ok2 && ok3
}

func globalIndex(row []types.Value) *manifest.GlobalIndex {
	from, ok1 := row[0].(int64)
	to, ok2 := row[1].(int64)
	id, ok3 := row[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	g := &manifest.GlobalIndex{RowRangeStart: from, RowRangeEnd: to, FieldID: int32(id)}
	if ids, ok := row[3].([]types.Value); ok {
		g.ExtraFieldIDs = make([]int32, len(ids))
		for i, v := range ids {
			n, _ := v.(int64)
			g.ExtraFieldIDs[i] = int32(n)
		}
	}
	g.Meta, _ = row[4].([]byte)
	return g
}
