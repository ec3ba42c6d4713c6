package manifest

import (
	"bytes"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// EntryFilter says which entries of a manifest to decode. The zero value takes
// all. Its functions must be safe for concurrent use; what they are given is
// valid for the call only.
type EntryFilter struct {
	// Partition takes partitions, Bucket buckets of a table or partition with
	// total buckets, Level levels. An entry they refuse is passed over, mostly
	// without being decoded.
	Partition func(partition binaryrow.Row) bool
	Bucket    func(bucket, total int32) bool
	Level     func(level int32) bool
	// Kind takes ADD or DELETE entries.
	Kind func(kind Kind) bool
	// WithoutStats leaves the key and value statistics out and copies the rest, so
	// that the entries do not hold on to the manifest's bytes. Keep still sees the
	// statistics. Such entries must not be written again.
	WithoutStats bool
	// Keep has the last word on a decoded entry.
	Keep func(e *Entry) bool
}

// entryDecoder reads the entries of one manifest.
type entryDecoder struct {
	plan   *entryPlan
	state  entryState
	filter EntryFilter
}

// entryState is the entry under construction.
type entryState struct {
	Entry
	version int32
	metas   []datafile.Meta // slab that File points into
	plan    *entryPlan
	filter  *EntryFilter
	refused bool
	last    binaryrow.Row // partition of the entry before
}

var entryColumns = columns[entryState]{
	"_VERSION": func(c *cursor, n *ocf.Schema, s *entryState) { s.version, _ = c.intOf(n) },
	"_KIND": func(c *cursor, n *ocf.Schema, s *entryState) {
		k, _ := c.intOf(n)
		if k != int32(Add) && k != int32(Delete) {
			c.Fail("neither ADD nor DELETE", "_KIND", k)
		}
		s.Kind = Kind(k)
	},
	"_PARTITION": func(c *cursor, n *ocf.Schema, s *entryState) {
		// Neighbours mostly lie in one partition: share its bytes.
		own := c.own
		c.own = false
		b, _ := c.bytesOf(n)
		c.own = own
		if !bytes.Equal(b, s.last) || s.last == nil {
			if bytes.Equal(b, binaryrow.Empty) {
				s.last = binaryrow.Empty
			} else {
				s.last = bytes.Clone(b)
			}
		}
		s.Partition = s.last
	},
	"_BUCKET":        func(c *cursor, n *ocf.Schema, s *entryState) { s.Bucket, _ = c.intOf(n) },
	"_TOTAL_BUCKETS": func(c *cursor, n *ocf.Schema, s *entryState) { s.TotalBuckets, _ = c.intOf(n) },
	"_FILE": func(c *cursor, n *ocf.Schema, s *entryState) {
		if s.plan.early && !s.filter.takes(&s.Entry) {
			s.refused = true
			c.Skip(n)
			return
		}
		s.File = &piece(&s.metas, 1)[0]
		if !s.plan.files.read(c, s.File) {
			c.Fail("entry without a file")
		}
	},
}

// takes applies what can be told before the file is decoded.
func (f *EntryFilter) takes(e *Entry) bool {
	return (f.Kind == nil || f.Kind(e.Kind)) &&
		(f.Bucket == nil || f.Bucket(e.Bucket, e.TotalBuckets)) &&
		(f.Partition == nil || f.Partition(e.Partition))
}

var metaColumns = columns[datafile.Meta]{
	"_FILE_NAME":           func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.FileName, _ = c.strOf(n) },
	"_FILE_SIZE":           func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.FileSize, _ = c.longOf(n) },
	"_ROW_COUNT":           func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.RowCount, _ = c.longOf(n) },
	"_MIN_KEY":             func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.MinKey = c.row(n) },
	"_MAX_KEY":             func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.MaxKey = c.row(n) },
	"_MIN_SEQUENCE_NUMBER": func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.MinSequence, _ = c.longOf(n) },
	"_MAX_SEQUENCE_NUMBER": func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.MaxSequence, _ = c.longOf(n) },
	"_SCHEMA_ID":           func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.SchemaID, _ = c.longOf(n) },
	"_LEVEL":               func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.Level, _ = c.intOf(n) },
	"_EXTRA_FILES":         func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.ExtraFiles = c.strs(n) },
	"_CREATION_TIME":       func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.CreationMillis = c.optLong(n) },
	"_DELETE_ROW_COUNT":    func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.DeleteRowCount = c.optLong(n) },
	"_EMBEDDED_FILE_INDEX": func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.EmbeddedIndex, _ = c.bytesOf(n) },
	"_FILE_SOURCE": func(c *cursor, n *ocf.Schema, m *datafile.Meta) {
		v, ok := c.intOf(n)
		if !ok {
			return
		}
		if v != int32(datafile.Append) && v != int32(datafile.Compact) {
			c.Fail("no such file source", "_FILE_SOURCE", v)
			return
		}
		m.FileSource = sources[v]
	},
	"_VALUE_STATS_COLS":     func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.ValueStatsCols = c.strs(n) },
	"_EXTERNAL_PATH":        func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.ExternalPath = c.optStr(n) },
	"_FIRST_ROW_ID":         func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.FirstRowID = c.optLong(n) },
	"_WRITE_COLS":           func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.WriteCols = c.strs(n) },
	"_WRITE_COLS_SEQUENCES": func(c *cursor, n *ocf.Schema, m *datafile.Meta) { m.WriteColsSequences = c.longs(n) },
}

// sources are the values FileSource points at; they are never written.
var sources = func() [2]*datafile.Source {
	a, c := datafile.Append, datafile.Compact
	return [2]*datafile.Source{&a, &c}
}()

// newEntryPlan resolves a manifest's schema.
func newEntryPlan(schema *ocf.Schema) (*entryPlan, error) {
	entry, err := compile(schema, entryColumns, "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE")
	if err != nil {
		return nil, err
	}
	files, err := newMetaReader(recordOf(schema).Member("_FILE"))
	if err != nil {
		return nil, err
	}
	return &entryPlan{entry: entry, files: files, early: fileComesLast(schema)}, nil
}

func newEntryDecoder(plan *entryPlan, filter EntryFilter) *entryDecoder {
	d := &entryDecoder{plan: plan, filter: filter}
	d.state.plan, d.state.filter = plan, &d.filter
	return d
}

// newMetaReader compiles the schema of _FILE, whose statistics are records of their own.
func newMetaReader(n *ocf.Schema) (*recordReader[datafile.Meta], error) {
	known := columns[datafile.Meta]{}
	for name, read := range metaColumns {
		known[name] = read
	}
	for name, of := range map[string]func(*datafile.Meta) *datafile.Stats{
		"_KEY_STATS":   func(m *datafile.Meta) *datafile.Stats { return &m.KeyStats },
		"_VALUE_STATS": func(m *datafile.Meta) *datafile.Stats { return &m.ValueStats },
	} {
		read, err := statsReader(recordOf(n).Member(name), of)
		if err != nil {
			return nil, err
		}
		known[name] = read
	}
	return compile(n, known, "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY",
		"_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL")
}

// statsReader compiles a statistics column, nil when the writer does not have it.
func statsReader[T any](n *ocf.Schema, of func(*T) *datafile.Stats) (reader[T], error) {
	if n == nil {
		return nil, nil
	}
	r, err := compile(n, statsColumns, "_MIN_VALUES", "_MAX_VALUES")
	if err != nil {
		return nil, err
	}
	return func(c *cursor, n *ocf.Schema, into *T) {
		s := of(into)
		if c.noStats {
			c.Skip(n)
		} else if r.read(c, s) || c.Err != nil {
			return
		}
		*s = datafile.EmptyStats()
	}, nil
}

// fileComesLast tells whether all that filters need precedes _FILE, as every
// release writes it.
func fileComesLast(schema *ocf.Schema) bool {
	names := recordOf(schema).Names
	return len(names) > 0 && names[len(names)-1] == "_FILE"
}

// block appends the entries of one block that the filter takes.
func (d *entryDecoder) block(c *cursor, count int, out []Entry) ([]Entry, error) {
	if d.filter.Partition == nil && d.filter.Bucket == nil && d.filter.Kind == nil {
		// Most will be kept. The count is the writer's word, the bytes are there.
		const leastBytes = 64
		out = slices.Grow(out, min(count, len(c.Buf)/leastBytes))
	}
	for range count {
		took, err := d.one(c)
		if err != nil {
			return out, err
		}
		if took {
			out = append(out, d.state.Entry)
		}
	}
	return out, c.ended()
}

// one reads the next entry of a block; false when the filter refuses it.
func (d *entryDecoder) one(c *cursor) (bool, error) {
	s := &d.state
	s.Entry, s.refused, s.version = Entry{}, false, entryVersion
	if !d.plan.entry.read(c, s) {
		c.Fail("manifest holds a null record")
	}
	if c.Err != nil {
		return false, c.broken()
	}
	if s.version != entryVersion {
		return false, badVersion("manifest", s.version)
	}
	return !s.refused && d.takes(&s.Entry), nil
}

// ended refuses a block of entries that goes on behind the last one.
func (c *cursor) ended() error {
	if c.Pos != len(c.Buf) {
		return tarnerr.New(tarnerr.Corrupt, "decoding manifest", "bytes after the last record of a block", "bytes", len(c.Buf)-c.Pos)
	}
	return nil
}

func (d *entryDecoder) takes(e *Entry) bool {
	f := &d.filter
	if !d.plan.early && !f.takes(e) || f.Level != nil && !f.Level(e.File.Level) || f.Keep != nil && !f.Keep(e) {
		return false
	}
	if f.WithoutStats {
		m := e.File
		m.KeyStats, m.ValueStats, m.ValueStatsCols = datafile.EmptyStats(), datafile.EmptyStats(), []string{}
	}
	return true
}

func badVersion(what string, version int32) error {
	if version == 1 {
		return tarnerr.New(tarnerr.Unsupported, "reading "+what, "written by a release before 0.4", "version", version)
	}
	return tarnerr.New(tarnerr.Unsupported, "reading "+what, "format of a later release", "version", version)
}
