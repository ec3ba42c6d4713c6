package tarnsql

import "sync/atomic"

// Progress is how much has been read of the tables of the statements that run.
type Progress struct {
	// Rows are those in the files to read, before merge and filter.
	Rows int64
	// Done are those that were read. What a merge or a filter left out of a piece
	// of a table is counted when its last row was read.
	Done int64
}

// Fraction is how much has been read, from 0 to 1; ok is false when there is
// nothing to go by, as for a query that reads no table.
func (p Progress) Fraction() (f float64, ok bool) {
	if p.Rows <= 0 {
		return 0, false
	}
	return float64(p.Done) / float64(p.Rows), true
}

// meter counts the rows that a scan has read. Safe for concurrent use.
type meter struct{ done atomic.Int64 }

// into adds a scan of so many rows to p. One that DuckDB runs more than once is
// not more than done.
func (m *meter) into(p *Progress, rows int64) {
	p.Rows += rows
	p.Done += min(rows, m.done.Load())
}
