package commitmsg

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
)

// Version is the version of Java's CommitMessageSerializer in 1.4.2, whose bytes
// [Message.MarshalBinary] gives. Java keeps the version beside the bytes, not in them.
const Version = 11

// MarshalBinary gives Java's bytes of m.
func (m *Message) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// AppendBinary appends Java's bytes of m to dst.
func (m *Message) AppendBinary(dst []byte) ([]byte, error) {
	dst = datafile.AppendRow(dst, m.Partition)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.Bucket))
	dst = datafile.AppendBool(dst, m.TotalBuckets != nil)
	if m.TotalBuckets != nil {
		dst = binary.BigEndian.AppendUint32(dst, uint32(*m.TotalBuckets))
	}
	w := writer{dst: dst}
	w.files(m.NewFiles)
	w.files(m.DeletedFiles)
	w.files(m.ChangelogFiles)
	w.indexes(m.NewIndex)
	w.indexes(m.DeletedIndex)
	w.files(m.CompactBefore)
	w.files(m.CompactAfter)
	w.files(m.CompactChangelog)
	w.indexes(m.CompactNewIndex)
	w.indexes(m.CompactDeletedIndex)
	if w.err != nil {
		return nil, tarnerr.Trace("serialising commit message", w.err, "bucket", m.Bucket)
	}
	return w.dst, nil
}

type writer struct {
	dst []byte
	err error
}

func (w *writer) files(ms []*datafile.Meta) {
	if w.err == nil {
		w.dst, w.err = datafile.AppendMetas(w.dst, ms)
	}
}

func (w *writer) indexes(es []manifest.IndexEntry) {
	w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(len(es)))
	for i := range es {
		if w.err == nil {
			w.dst, w.err = appendIndex(w.dst, &es[i])
		}
	}
}

// UnmarshalBinary reads the bytes of the current version.
func (m *Message) UnmarshalBinary(data []byte) error {
	got, err := Decode(Version, data)
	if err != nil {
		return err
	}
	*m = *got
	return nil
}

// Decode reads the bytes that a release with the serializer version given wrote.
// Versions above [Version] are Unsupported.
func Decode(version int, data []byte) (*Message, error) {
	const op = "deserialising commit message"
	if version > Version || version < 1 {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "version of a later release", "version", version, "highest", Version)
	}
	w := datafile.NewWire(data)
	m := &Message{Partition: w.Row(), Bucket: w.Int()}
	if version >= 7 && w.Bool() {
		n := w.Int()
		m.TotalBuckets = &n
	}
	r := reader{w: w, message: m, columns: metaColumns(version), index: indexLayoutOf(version)}
	if version >= 10 {
		r.read()
	} else {
		r.readLegacy(version >= 3)
	}
	if err := w.End(); err != nil {
		return nil, tarnerr.Trace(op, err, "version", version)
	}
	return m, nil
}

// metaColumns is how many columns data files have in a version.
func metaColumns(version int) int {
	switch {
	case version >= 9:
		return datafile.MetaColumns
	case version == 8:
		return 19
	case version >= 6:
		return 18
	case version >= 4:
		return 17
	case version == 3:
		return 16
	}
	return 15
}

type reader struct {
	w       *datafile.Wire
	message *Message
	columns int
	index   indexLayout
}

func (r *reader) files() []*datafile.Meta { return r.w.Metas(r.columns) }

func (r *reader) indexes(kind manifest.Kind) []manifest.IndexEntry {
	var out []manifest.IndexEntry
	for n := r.w.Count(); n > 0 && r.w.Err() == nil; n-- {
		e := r.index.read(r.w)
		e.Kind, e.Partition, e.Bucket = kind, r.message.Partition, r.message.Bucket
		out = append(out, e)
	}
	return out
}

func (r *reader) read() {
	m := r.message
	m.NewFiles, m.DeletedFiles, m.ChangelogFiles = r.files(), r.files(), r.files()
	m.NewIndex, m.DeletedIndex = r.indexes(manifest.Add), r.indexes(manifest.Delete)
	m.CompactBefore, m.CompactAfter, m.CompactChangelog = r.files(), r.files(), r.files()
	m.CompactNewIndex, m.CompactDeletedIndex = r.indexes(manifest.Add), r.indexes(manifest.Delete)
}

// readLegacy reads the form of releases that did not tell the index files of
// the two parts apart: they belong to the compaction if there is one.
func (r *reader) readLegacy(deletedIndex bool) {
	m := r.message
	m.NewFiles, m.DeletedFiles, m.ChangelogFiles = r.files(), r.files(), r.files()
	m.CompactBefore, m.CompactAfter, m.CompactChangelog = r.files(), r.files(), r.files()
	added := r.indexes(manifest.Add)
	var removed []manifest.IndexEntry
	if deletedIndex {
		removed = r.indexes(manifest.Delete)
	}
	if len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog) > 0 {
		m.CompactNewIndex, m.CompactDeletedIndex = added, removed
	} else {
		m.NewIndex, m.DeletedIndex = added, removed
	}
}
