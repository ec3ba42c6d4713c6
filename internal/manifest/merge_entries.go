package manifest

// Identity is [Entry.Identity] as a map key, without building a string for the
// entries most tables have.
type Identity struct {
	partition, file, rest string
	bucket, level         int32
}

// Identities makes keys; neighbours of one partition share its text. The zero
// value is ready; not safe for concurrent use.
type Identities struct{ partition string }

// Of is the key of an entry: equal for an ADD and the DELETE that takes it away.
func (ids *Identities) Of(e *Entry) Identity {
	if string(e.Partition) != ids.partition {
		ids.partition = string(e.Partition)
	}
	m := e.File
	id := Identity{partition: ids.partition, file: m.FileName, bucket: e.Bucket, level: m.Level}
	if len(m.ExtraFiles) > 0 || m.EmbeddedIndex != nil || m.ExternalPath != nil {
		id.rest = m.Identity()
	}
	return id
}

// Merger cancels ADD and DELETE entries of one file, in the order they are
// given: a DELETE takes away the entry of its file, or stays when there is
// none; an ADD of a file that is there already is an error.
type Merger struct {
	ids   Identities
	at    map[Identity]int
	order []Entry // File is nil where an entry was taken away
}

// Add merges one entry. The error of a file added twice is Corrupt; it names
// the file, its partition's bytes and bucket.
func (m *Merger) Add(e Entry) error {
	if m.at == nil {
		m.at = map[Identity]int{}
	}
	id := m.ids.Of(&e)
	i, there := m.at[id]
	switch {
	case !there:
		m.at[id] = len(m.order)
		m.order = append(m.order, e)
	case e.Kind == Delete:
		m.order[i] = Entry{}
		delete(m.at, id)
	default:
		return addedTwice(&e)
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
