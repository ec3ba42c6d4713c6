package manifest

import (
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// listRow is one line of a manifest list under construction.
type listRow struct {
	FileMeta
	version int32
}

var listColumns = columns[listRow]{
	"_VERSION":           func(c *cursor, n *ocf.Schema, m *listRow) { m.version, _ = c.intOf(n) },
	"_FILE_NAME":         func(c *cursor, n *ocf.Schema, m *listRow) { m.FileName, _ = c.strOf(n) },
	"_FILE_SIZE":         func(c *cursor, n *ocf.Schema, m *listRow) { m.FileSize, _ = c.longOf(n) },
	"_NUM_ADDED_FILES":   func(c *cursor, n *ocf.Schema, m *listRow) { m.Added, _ = c.longOf(n) },
	"_NUM_DELETED_FILES": func(c *cursor, n *ocf.Schema, m *listRow) { m.Deleted, _ = c.longOf(n) },
	"_SCHEMA_ID":         func(c *cursor, n *ocf.Schema, m *listRow) { m.SchemaID, _ = c.longOf(n) },
	"_MIN_BUCKET":        func(c *cursor, n *ocf.Schema, m *listRow) { m.MinBucket = c.optInt(n) },
	"_MAX_BUCKET":        func(c *cursor, n *ocf.Schema, m *listRow) { m.MaxBucket = c.optInt(n) },
	"_MIN_LEVEL":         func(c *cursor, n *ocf.Schema, m *listRow) { m.MinLevel = c.optInt(n) },
	"_MAX_LEVEL":         func(c *cursor, n *ocf.Schema, m *listRow) { m.MaxLevel = c.optInt(n) },
	"_MIN_ROW_ID":        func(c *cursor, n *ocf.Schema, m *listRow) { m.MinRowID = c.optLong(n) },
	"_MAX_ROW_ID":        func(c *cursor, n *ocf.Schema, m *listRow) { m.MaxRowID = c.optLong(n) },
}

// compileList resolves the schema of a manifest list.
func compileList(schema *ocf.Schema) (*recordReader[listRow], error) {
	known := columns[listRow]{}
	for name, read := range listColumns {
		known[name] = read
	}
	stats, err := statsReader(recordOf(schema).Member("_PARTITION_STATS"), func(m *listRow) *datafile.Stats { return &m.PartitionStats })
	if err != nil {
		return nil, err
	}
	known["_PARTITION_STATS"] = stats
	return compile(schema, known, "_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS")
}

// decodeList reads a whole manifest list.
func decodeList(schemas *ocf.Cache, data []byte) ([]FileMeta, error) {
	var out []FileMeta
	err := decodeRecords(schemas, data, compileList, func(m *listRow) error {
		if m.version != entryVersion {
			return badVersion("manifest list", m.version)
		}
		out = append(out, m.FileMeta)
		return nil
	})
	return out, err
}

// indexRow is one line of an index manifest under construction.
type indexRow struct {
	IndexEntry
	version int32
}

var indexColumns = columns[indexRow]{
	"_VERSION": func(c *cursor, n *ocf.Schema, e *indexRow) { e.version, _ = c.intOf(n) },
	"_KIND": func(c *cursor, n *ocf.Schema, e *indexRow) {
		k, _ := c.intOf(n)
		if k != int32(Add) && k != int32(Delete) {
			c.Fail("neither ADD nor DELETE", "_KIND", k)
		}
		e.Kind = Kind(k)
	},
	"_PARTITION":     func(c *cursor, n *ocf.Schema, e *indexRow) { e.Partition = c.row(n) },
	"_BUCKET":        func(c *cursor, n *ocf.Schema, e *indexRow) { e.Bucket, _ = c.intOf(n) },
	"_INDEX_TYPE":    func(c *cursor, n *ocf.Schema, e *indexRow) { e.IndexType, _ = c.strOf(n) },
	"_FILE_NAME":     func(c *cursor, n *ocf.Schema, e *indexRow) { e.FileName, _ = c.strOf(n) },
	"_FILE_SIZE":     func(c *cursor, n *ocf.Schema, e *indexRow) { e.FileSize, _ = c.longOf(n) },
	"_ROW_COUNT":     func(c *cursor, n *ocf.Schema, e *indexRow) { e.RowCount, _ = c.longOf(n) },
	"_EXTERNAL_PATH": func(c *cursor, n *ocf.Schema, e *indexRow) { e.ExternalPath = c.optStr(n) },
}

var rangeColumns = columns[VectorRange]{
	"f0":           func(c *cursor, n *ocf.Schema, r *VectorRange) { r.DataFile, _ = c.strOf(n) },
	"f1":           func(c *cursor, n *ocf.Schema, r *VectorRange) { r.Offset, _ = c.intOf(n) },
	"f2":           func(c *cursor, n *ocf.Schema, r *VectorRange) { r.Length, _ = c.intOf(n) },
	"_CARDINALITY": func(c *cursor, n *ocf.Schema, r *VectorRange) { r.Cardinality = c.optLong(n) },
}

var globalColumns = columns[GlobalIndex]{
	"_ROW_RANGE_START": func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.RowRangeStart, _ = c.longOf(n) },
	"_ROW_RANGE_END":   func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.RowRangeEnd, _ = c.longOf(n) },
	"_INDEX_FIELD_ID":  func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.FieldID, _ = c.intOf(n) },
	"_EXTRA_FIELD_IDS": func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.ExtraFieldIDs = c.int32s(n) },
	"_INDEX_META":      func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.Meta, _ = c.bytesOf(n) },
	"_SOURCE_META":     func(c *cursor, n *ocf.Schema, g *GlobalIndex) { g.SourceMeta, _ = c.bytesOf(n) },
}

// compileIndex resolves the schema of an index manifest with its nested records.
func compileIndex(schema *ocf.Schema) (*recordReader[indexRow], error) {
	known := columns[indexRow]{}
	for name, read := range indexColumns {
		known[name] = read
	}
	if n := recordOf(schema).Member("_DELETIONS_VECTORS_RANGES"); n != nil {
		if record := arrayItems(n); record != nil {
			r, err := compile(record, rangeColumns, "f0", "f1", "f2")
			if err != nil {
				return nil, err
			}
			known["_DELETIONS_VECTORS_RANGES"] = func(c *cursor, n *ocf.Schema, e *indexRow) { e.Vectors = vectorRanges(c, n, r) }
		}
	}
	if n := recordOf(schema).Member("_GLOBAL_INDEX"); n != nil {
		r, err := compile(n, globalColumns, "_ROW_RANGE_START", "_ROW_RANGE_END", "_INDEX_FIELD_ID")
		if err != nil {
			return nil, err
		}
		known["_GLOBAL_INDEX"] = func(c *cursor, _ *ocf.Schema, e *indexRow) {
			if g := new(GlobalIndex); r.read(c, g) {
				e.Global = g
			}
		}
	}
	return compile(schema, known, "_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT")
}

// arrayItems finds the items of an array, through a union with null.
func arrayItems(n *ocf.Schema) *ocf.Schema {
	if n.Kind == ocf.Union {
		for _, b := range n.Parts {
			if b.Kind == ocf.Array {
				n = b
			}
		}
	}
	if n.Kind != ocf.Array {
		return nil
	}
	return n.Parts[0]
}

func vectorRanges(c *cursor, n *ocf.Schema, r *recordReader[VectorRange]) []VectorRange {
	if c.arrayOf(n) == nil {
		return nil
	}
	out := []VectorRange{}
	c.blocks(func() {
		var v VectorRange
		// Null items exist in the schema alone; Java writes none.
		if r.read(c, &v) {
			out = append(out, v)
		}
	})
	return out
}

// decodeIndex reads a whole index manifest.
func decodeIndex(schemas *ocf.Cache, data []byte) ([]IndexEntry, error) {
	var out []IndexEntry
	err := decodeRecords(schemas, data, compileIndex, func(e *indexRow) error {
		if e.version != indexVersion {
			return tarnerr.New(tarnerr.Unsupported, "reading index manifest", "format of another release", "version", e.version)
		}
		out = append(out, e.IndexEntry)
		return nil
	})
	return out, err
}

// decodeRecords reads every record of a container, of the schema that the
// writer's compiles to, and gives each to take.
func decodeRecords[T any](schemas *ocf.Cache, data []byte, compile func(schema *ocf.Schema) (*recordReader[T], error), take func(*T) error) error {
	f, err := openContainer(data)
	if err != nil {
		return err
	}
	r, err := ocf.Compiled(schemas, f.schema, compile)
	if err != nil {
		return err
	}
	c := cursor{}
	for {
		block, count, more, err := f.next(nil)
		if err != nil || !more {
			return err
		}
		c.begin(block)
		for range count {
			var rec T
			if !r.read(&c, &rec) {
				c.Fail("null record")
			}
			if c.Err != nil {
				return c.broken()
			}
			if err := take(&rec); err != nil {
				return err
			}
		}
		if c.Pos != len(c.Buf) {
			return tarnerr.New(tarnerr.Corrupt, "decoding Avro record", "bytes after the last record of a block", "bytes", len(c.Buf)-c.Pos)
		}
	}
}
