//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// scan is one reference to a table in a running statement.
type scan struct {
	statement *statement
	table     table.Table
	fields    []types.Field
	where     expr.Expr // rows that do not match need not come
	snapshot  int64     // named by AT, 0 = latest
	splits    []table.Split
	rows      int64 // estimate
	system    bool  // a system table, which has no splits
	meter     meter
}

// statement is a query while it runs.
type statement struct {
	ctx     context.Context
	engine  *engine
	scans   []int64
	mu      sync.Mutex
	err     error // the first one a scan met
	threads int
}

// fail keeps the first error as it is and returns the text for DuckDB, which
// then stops the query.
func (s *statement) fail(err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err.Error()
}

func (s *statement) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *scan) fail(err error) string { return s.statement.fail(err) }

// columns are the names to read and where each wanted column lies in the batches.
func (s *scan) columns(wanted []int) (names []string, at []int) {
	place := map[int]int{}
	for _, c := range wanted {
		if c < 0 || c >= len(s.fields) {
			at = append(at, -1) // the row itself, as for count(*)
			continue
		}
		p, ok := place[c]
		if !ok {
			p = len(names)
			place[c] = p
			names = append(names, s.fields[c].Name)
		}
		at = append(at, p)
	}
	if len(names) == 0 {
		names = []string{s.fields[s.narrowest()].Name}
	}
	return names, at
}

// narrowest is the column that costs least to read where only rows are counted.
func (s *scan) narrowest() int {
	best, rank := 0, 100
	for i, f := range s.fields {
		r := int(f.Type.Root)
		switch {
		case f.Type.IsNested():
			r = 90
		case f.Type.IsString() || f.Type.IsBytes():
			r = 80
		}
		if r < rank {
			best, rank = i, r
		}
	}
	return best
}

// scanRun is one execution of a scan: DuckDB's threads draw splits from it.
type scanRun struct {
	*scan
	names []string
	at    []int // wanted column → column of the batch, -1 for none
	next  atomic.Int64
}

func newRun(s *scan, wanted []int) *scanRun {
	r := &scanRun{scan: s}
	r.names, r.at = s.columns(wanted)
	return r
}

// units is the number of pieces that threads can draw.
func (r *scanRun) units() int {
	if r.system {
		return 1
	}
	return len(r.splits)
}

func (r *scanRun) threads() int { return max(1, min(r.units(), r.statement.threads)) }

// source is what one thread reads: a split after the other.
type source struct {
	reader table.Reader
	batch  arrow.RecordBatch
	from   int
	left   int64 // rows in the files of the split that have not come yet
}

// open opens the next piece, false when there is none.
func (r *scanRun) open(s *source) (bool, error) {
	ctx := r.statement.ctx
	n := int(r.next.Add(1)) - 1
	if n >= r.units() {
		return false, nil
	}
	req := table.Scan{Columns: r.names, Where: r.where, SnapshotID: r.snapshot, Workers: 1}
	var err error
	if r.system {
		s.reader, err = r.table.Scan(ctx, req)
	} else {
		// Threads without a split of their own help to read the columns of the others'.
		req.Workers = max(1, r.statement.threads/r.units())
		s.left = r.splits[n].RowCount()
		s.reader, err = r.table.Read(ctx, req, r.splits[n])
	}
	return err == nil, err
}

// rows fills the next chunk; an empty one says that there are no more.
func (r *scanRun) rows(s *source, out mapping.DataChunk) error {
	for s.batch == nil || s.from == int(s.batch.NumRows()) {
		s.batch = nil
		if err := r.statement.ctx.Err(); err != nil {
			return tarnerr.Wrap(tarnerr.Unavailable, "reading table", err, "table", r.table.Name())
		}
		if s.reader == nil {
			if more, err := r.open(s); err != nil || !more {
				mapping.DataChunkSetSize(out, 0)
				return err
			}
		}
		rec, err := s.reader.Next(r.statement.ctx)
		if err == io.EOF {
			if err := s.close(); err != nil {
				return err
			}
			r.count(s, s.left)
			continue
		}
		if err != nil {
			return err
		}
		s.batch, s.from = rec, 0
	}
	n := min(int(s.batch.NumRows())-s.from, int(mapping.VectorSize()))
	for i, at := range r.at {
		if at < 0 {
			continue
		}
		name := r.names[at]
		vec := mapping.DataChunkGetVector(out, mapping.IdxT(i))
		if err := fill(vec, r.fieldType(name), s.batch.Column(at), s.from, n); err != nil {
			return tarnerr.Trace("reading table", err, "table", r.table.Name(), "column", name)
		}
	}
	mapping.DataChunkSetSize(out, mapping.IdxT(n))
	s.from += n
	r.count(s, int64(n))
	return nil
}

func (r *scanRun) fieldType(name string) types.Type {
	for _, f := range r.fields {
		if f.Name == name {
			return f.Type
		}
	}
	return types.Type{}
}

func (s *source) close() error {
	s.batch = nil
	if s.reader == nil {
		return nil
	}
	reader := s.reader
	s.reader = nil
	return reader.Close()
}
