package datafile

// Upgrade is the same file at another level: what a compaction writes for a
// file it moves up without rewriting it. Its identity is another one.
func (m *Meta) Upgrade(level int32) *Meta {
	up := *m
	up.Level = level
	return &up
}

// WithoutValueStats is the same file without its value statistics, as entries
// keep it that only say that it is gone (option manifest.delete-file-drop-stats).
func (m *Meta) WithoutValueStats() *Meta {
	bare := *m
	bare.ValueStats = EmptyStats()
	bare.ValueStatsCols = []string{}
	return &bare
}
