package datafile

// Upgrade is the same file at another level: what a compaction writes for a
// file it moves up without rewriting it. Its identity is another one.
func (m *Meta) Upgrade(level int32) *Meta {
	up := *m
	up.Level = level
	return &up
}
