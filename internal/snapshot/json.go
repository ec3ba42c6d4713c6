package snapshot

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Marshal gives the bytes Java writes for s: two spaces of indentation, a blank
// on either side of the colon, fields in the order of [Snapshot], absent ones left out.
func (s *Snapshot) Marshal() []byte {
	w := objectWriter{buf: append(make([]byte, 0, 1024), '{')}
	w.int("version", int64(s.Version))
	w.optString("uuid", s.UUID)
	w.int("id", s.ID)
	w.int("schemaId", s.SchemaID)
	w.string("baseManifestList", s.BaseManifestList)
	w.optInt("baseManifestListSize", s.BaseManifestListSize)
	w.string("deltaManifestList", s.DeltaManifestList)
	w.optInt("deltaManifestListSize", s.DeltaManifestListSize)
	w.optString("changelogManifestList", s.ChangelogManifestList)
	w.optInt("changelogManifestListSize", s.ChangelogManifestListSize)
	w.optString("indexManifest", s.IndexManifest)
	w.string("commitUser", s.CommitUser)
	w.optString("writerVersion", s.WriterVersion)
	w.int("commitIdentifier", s.CommitIdentifier)
	w.string("commitKind", string(s.CommitKind))
	w.int("timeMillis", s.TimeMillis)
	w.int("totalRecordCount", s.TotalRecordCount)
	w.int("deltaRecordCount", s.DeltaRecordCount)
	w.optInt("changelogRecordCount", s.ChangelogRecordCount)
	w.optInt("watermark", s.Watermark)
	w.optString("statistics", s.Statistics)
	w.properties("properties", s.Properties)
	w.optInt("nextRowId", s.NextRowID)
	w.optString("operation", s.Operation)
	return w.end()
}

// objectWriter appends the members of one JSON object as Java's printer lays them out.
type objectWriter struct {
	buf    []byte
	count  int
	indent int // how deep the object lies in others
}

func (w *objectWriter) key(name string) {
	if w.count > 0 {
		w.buf = append(w.buf, ',')
	}
	w.count++
	w.line(w.indent + 1)
	w.buf = append(types.AppendJSONString(w.buf, name), " : "...)
}

func (w *objectWriter) line(indent int) {
	w.buf = append(w.buf, '\n')
	for range indent {
		w.buf = append(w.buf, "  "...)
	}
}

// end closes the object. One without members has a blank inside.
func (w *objectWriter) end() []byte {
	if w.count == 0 {
		return append(w.buf, " }"...)
	}
	w.line(w.indent)
	return append(w.buf, '}')
}

func (w *objectWriter) int(name string, v int64) {
	w.key(name)
	w.buf = strconv.AppendInt(w.buf, v, 10)
}

func (w *objectWriter) string(name, v string) {
	w.key(name)
	w.buf = types.AppendJSONString(w.buf, v)
}

func (w *objectWriter) optInt(name string, v *int64) {
	if v != nil {
		w.int(name, *v)
	}
}

func (w *objectWriter) optString(name string, v *string) {
	if v != nil {
		w.string(name, *v)
	}
}

// properties writes a map, sorted, unless it is empty.
func (w *objectWriter) properties(name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	w.key(name)
	inner := objectWriter{buf: append(w.buf, '{'), indent: w.indent + 1}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		inner.string(k, m[k])
	}
	w.buf = inner.end()
}

// Parse reads a snapshot file. Unknown fields are ignored; a version above
// [Version] is Unsupported; anything that is no snapshot is Corrupt.
func Parse(data []byte) (*Snapshot, error) {
	const op = "reading snapshot"
	// Names are matched exactly, as Java does, not without case as encoding/json would.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	s := &Snapshot{Version: 1}
	r := objectReader{members: members, op: op}
	r.read("version", &s.Version)
	if r.err == nil && s.Version > Version {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "snapshot format of a later release", "version", s.Version, "highest", Version)
	}
	r.read("uuid", &s.UUID)
	r.need("id", &s.ID)
	r.need("schemaId", &s.SchemaID)
	r.read("baseManifestList", &s.BaseManifestList)
	r.read("baseManifestListSize", &s.BaseManifestListSize)
	r.read("deltaManifestList", &s.DeltaManifestList)
	r.read("deltaManifestListSize", &s.DeltaManifestListSize)
	r.read("changelogManifestList", &s.ChangelogManifestList)
	r.read("changelogManifestListSize", &s.ChangelogManifestListSize)
	r.read("indexManifest", &s.IndexManifest)
	r.read("commitUser", &s.CommitUser)
	r.read("writerVersion", &s.WriterVersion)
	r.read("commitIdentifier", &s.CommitIdentifier)
	r.need("commitKind", &s.CommitKind)
	r.read("timeMillis", &s.TimeMillis)
	r.read("totalRecordCount", &s.TotalRecordCount)
	r.read("deltaRecordCount", &s.DeltaRecordCount)
	r.read("changelogRecordCount", &s.ChangelogRecordCount)
	r.read("watermark", &s.Watermark)
	r.read("statistics", &s.Statistics)
	r.read("properties", &s.Properties)
	r.read("nextRowId", &s.NextRowID)
	r.read("operation", &s.Operation)
	if r.err != nil {
		return nil, r.err
	}
	switch s.CommitKind {
	case Append, Compact, Overwrite, Analyze:
	default:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "commit kind of a later release", "commitKind", s.CommitKind)
	}
	return s, nil
}

// objectReader reads members into Go values and keeps the first error.
type objectReader struct {
	members map[string]json.RawMessage
	op      string
	err     error
}

// read leaves dst as it is when the member is absent or null.
func (r *objectReader) read(name string, dst any) {
	raw, ok := r.members[name]
	if !ok || r.err != nil {
		return
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		r.err = tarnerr.Wrap(tarnerr.Corrupt, r.op, err, "field", name)
	}
}

func (r *objectReader) need(name string, dst any) {
	if raw, ok := r.members[name]; (!ok || string(raw) == "null") && r.err == nil {
		r.err = tarnerr.New(tarnerr.Corrupt, r.op, "field is missing", "field", name)
	}
	r.read(name, dst)
}
