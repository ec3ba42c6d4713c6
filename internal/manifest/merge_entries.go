package manifest

import (
	"github.com/tarnlake/tarn/tarnerr"
)

// identity is [Entry.Identity] as a map key, without building a string for the
// entries most tables have.
type identity struct {
	partition, file, rest string
	bucket, level         int32
}

// identities makes keys; neighbours of one partition share its text.
type identities struct{ partition string }

func (ids *identities) of(e *Entry) identity {
	if string(e.Partition) != ids.partition {
		ids.partition = string(e.Partition)
	}
	m := e.File
	id := identity{partition: ids.partition, file: m.FileName, bucket: e.Bucket, level: m.Level}
	if len(m.ExtraFiles) > 0 || m.EmbeddedIndex != nil || m.ExternalPath != nil {
		id.rest = m.Identity()
	}
	return id
}

// Merger cancels ADD and DELETE entries of one file, in the order they are
// given: a DELETE takes away the entry of its file, or stays when there is
// none; an ADD of a file that is there already is an error.
type Merger struct {
	ids   identities
	at    map[identity]int
	order []Entry // File is nil where an entry was taken away
}

// Add merges one entry. The error of a file added twice is Corrupt; it names
// the file, its partition's bytes and bucket.
func (m *Merger) Add(e Entry) error {
	if m.at == nil {
		m.at = map[identity]int{}
	}
	id := m.ids.of(&e)
	i, there := m.at[id]
	switch {
	case !there:
		m.at[id] = len(m.order)
		m.order = append(m.order, e)
	case e.Kind == Delete:
		m.order[i] = Entry{}
		delete(m.at, id)
	default:
		return tarnerr.New(tarnerr.Corrupt, "merging manifest entries", "file is added twice", "file", e.File.FileName, "bucket", e.Bucket, "level", e.File.Level)
	}
	return nil
}

// Entries are the entries left, in the order they came.
func (m *Merger) Entries() []Entry {
	out := make([]Entry, 0, len(m.at))
	for _, e := range m.order {
		if e.File != nil {
			out = append(out, e)
		}
	}
	return out
}

// MergeEntries merges entries as [Merger] does.
func MergeEntries(entries []Entry) ([]Entry, error) {
	var m Merger
	for _, e := range entries {
		if err := m.Add(e); err != nil {
			return nil, err
		}
	}
	return m.Entries(), nil
}
