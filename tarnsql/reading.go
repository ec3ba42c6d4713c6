//go:build cgo && !tarn_nosql

package tarnsql

// Progress tells how far the statements that run now have read their tables. A
// statement counts until its result is closed. Safe for concurrent use.
func (db *DB) Progress() Progress {
	e := db.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	var p Progress
	for _, s := range e.scans {
		s.meter.into(&p, s.ownRows()) // of the others DuckDB does not tell
	}
	return p
}

// count counts rows that a thread has read of its piece of the table.
func (r *scanRun) count(s *source, rows int64) {
	n := min(rows, s.left)
	s.left -= n
	r.meter.done.Add(n)
}
