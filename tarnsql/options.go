package tarnsql

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// DefaultMemory is DuckDB's memory limit when Options.Memory is 0.
const DefaultMemory = 256 << 20

// Options are settings of a DB. The zero value is ready to use.
type Options struct {
	// Memory is DuckDB's memory limit in bytes, for joins, sorts and groups; 0 =
	// DefaultMemory. Reading tables takes from the catalog's own budget.
	Memory int64
	// Threads is how many threads DuckDB runs on; 0 = the number of CPUs.
	Threads int
	// TempDir takes what does not fit in memory, in a directory of its own that
	// Close removes; the system's temporary directory when empty.
	TempDir string
	// Database is where table names without a database are looked up before USE
	// says otherwise; "default" when empty.
	Database string
	// ReadOnly refuses all statements that change something.
	ReadOnly bool
	// OpenWarehouse opens the warehouses that CREATE CATALOG names; the DB closes
	// them. The statement is refused when nil. Runtime.Open is such a function.
	OpenWarehouse func(ctx context.Context, uri string) (catalog.Catalog, error)
	// TimeZone is the zone in which DuckDB shows and reads TIMESTAMP WITH TIME
	// ZONE as text; "UTC" when empty.
	TimeZone string
	// Allocator makes the memory of the batches returned; Go memory when nil.
	Allocator memory.Allocator
	// NoPushdown keeps predicates from the tables' readers, which then read every
	// row. Results are the same; it is there to show just that.
	NoPushdown bool
}

// Rows are the rows of one statement. Not safe for concurrent use.
type Rows struct {
	fields []types.Field
	schema *arrow.Schema
	next   func(context.Context) (arrow.RecordBatch, error)
	close  func() error
	last   arrow.RecordBatch
	done   bool
	// planning is how long it took until the query began to run.
	planning time.Duration
}

var _ table.Reader = (*Rows)(nil)

// Fields are the columns as Paimon types. Names need not differ.
func (r *Rows) Fields() []types.Field { return r.fields }

// Planning is how long it took to find out what the query reads, and how: reading
// its text, the tables' snapshots and manifests, and DuckDB's own plan.
func (r *Rows) Planning() time.Duration { return r.planning }

// Schema implements table.Reader.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Next implements table.Reader: a batch is valid until the next Next or Close.
func (r *Rows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.release()
	if r.done {
		return nil, io.EOF
	}
	rec, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	r.last = rec
	return rec, nil
}

func (r *Rows) release() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

// Close stops the query and frees its memory. Calling it again does nothing.
func (r *Rows) Close() error {
	r.release()
	if r.done {
		return nil
	}
	r.done = true
	return r.close()
}

// Result is what one statement did.
type Result struct {
	// Statement is its kind: SELECT, INSERT, CREATE TABLE …
	Statement string
	// Rows are the rows of a statement that has some, else nil. They are valid
	// until Close.
	Rows *Rows
	// Report is the commit of an INSERT, nil when it had no rows to add, of a
	// TRUNCATE, and of an ALTER TABLE that drops partitions.
	Report *table.CommitReport
	// Count is the number of rows an INSERT took.
	Count int64
}

// Close frees the rows.
func (r *Result) Close() error {
	if r == nil || r.Rows == nil {
		return nil
	}
	return r.Rows.Close()
}
