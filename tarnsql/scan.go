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
	schema    int64     // id of the schema that fields are of
	splits    []table.Split
	rows      int64 // in the files of splits
	plain     plainScan
	told      int64         // rows of a counted scan that metadata tell
	own       []table.Split // what is neither among plain nor told
	system    bool          // a system table, which has no splits
	counted   bool          // only the number of rows is wanted: see (*survey).count
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

// ownRows are the rows of what the table function reads.
func (s *scan) ownRows() (n int64) {
	for _, split := range s.own {
		n += split.RowCount()
	}
	return n
}

// tell takes from a planned scan that is counted the splits whose rows metadata tell,
// and leaves the rest in s.own.
func (s *scan) tell() {
	s.own = nil
	for _, split := range s.splits {
		if n, known := split.LiveRows(); known {
			s.told += n
		} else {
			s.own = append(s.own, split)
		}
	}
}

// columns are the names to read and where each wanted column lies in the batches.
// Where no value is wanted there are no names: of files that need no merge nothing is
// read then.
func (s *scan) columns(wanted []int) (names []string, at []int) {
	names = []string{}
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
	return names, at
}

// scanRun is one execution of a scan: DuckDB's threads draw pieces from it.
type scanRun struct {
	*scan
	names  []string
	at     []int // wanted column → column of the batch, -1 for none
	pieces []table.Split
	next   atomic.Int64
}

const (
	// minPiece is how many rows a piece of a file has at least: opening a file
	// again for less costs more than threads that wait.
	minPiece = 100_000
	// perThread is how many pieces there are for a thread, so that all end at about
	// the same time.
	perThread = 4
)

func newRun(s *scan, wanted []int) *scanRun {
	r := &scanRun{scan: s}
	r.names, r.at = s.columns(wanted)
	rows := max(minPiece, s.ownRows()/int64(perThread*s.statement.threads))
	for _, split := range s.own {
		if len(r.names) == 0 {
			r.pieces = append(r.pieces, split)
		} else {
			r.pieces = append(r.pieces, split.Pieces(rows)...)
		}
	}
	return r
}

// units is the number of pieces that threads can draw.
func (r *scanRun) units() int {
	if r.system {
		return 1
	}
	return len(r.pieces)
}

func (r *scanRun) threads() int { return max(1, min(r.units(), r.statement.threads)) }

// source is what one thread reads: a split after the other.
type source struct {
	reader table.Reader
	batch  arrow.RecordBatch
	from   int
	left   int64 // rows in the files of the piece that have not come yet
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
		// Threads without a piece of their own help to read the columns of the others'.
		req.Workers = max(1, r.statement.threads/r.units())
		s.left = r.pieces[n].RowCount()
		s.reader, err = r.table.Read(ctx, req, r.pieces[n])
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
