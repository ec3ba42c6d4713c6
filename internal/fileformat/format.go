package fileformat

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// Format opens and writes data files of one format. Safe for concurrent use.
type Format interface {
	// Name is the file ending and the value of the option file.format.
	Name() string
	// Open reads the footer of a file of size bytes (as its manifest entry says).
	Open(ctx context.Context, fio fileio.FileIO, path string, size int64, mem memory.Allocator) (File, error)
	// NewWriter writes a file through w, which it closes or aborts. Fields are the
	// columns in file order with their field ids.
	NewWriter(w fileio.Writer, fields []types.Field, opts WriteOptions) (Writer, error)
}

// File is an open data file. Safe for concurrent reads.
type File interface {
	// Fields are the file's columns with the ids stored in it (-1 where there is
	// none) and the logical types its physical ones stand for.
	Fields() []types.Field
	// RowCount is the number of rows, −1 where a format does not tell before all of
	// the file is read.
	RowCount() int64
	// Read starts reading.
	Read(ctx context.Context, req ReadRequest) (batch.Reader, error)
	Close() error
}

// ReadRequest says what to read of a file.
type ReadRequest struct {
	// Columns are the columns wanted, in this order, named and typed as the batches
	// shall have them. A column is found by field id where the file has ids, else by
	// name; nested members likewise. A column the file does not have is all null. A
	// type that differs from the file's beyond nullability and length is Unsupported.
	Columns []types.Field
	// Where skips row groups and pages that cannot match. Rows that do not match may
	// still be returned. Columns are named as in Columns or, when not among them,
	// as the file names them. Nil reads all.
	Where *expr.Bound
	// From and To bound the rows that are read by their number in the file, To being
	// the first behind them; To 0 is the end of the file. Formats that can only be
	// read from their beginning refuse such bounds.
	From, To int64
	// Numbers adds a column to the batches, behind Columns: the number that
	// each row has in the file, counted from 0, whatever was skipped before it.
	Numbers bool
	// BatchRows is the most rows of one batch; 0 means the format's default.
	BatchRows int
	// Workers decode columns side by side; 0 and 1 decode on the calling goroutine.
	Workers int
	// Hold is about how many bytes of the file the reader may have in memory where it
	// wants more of it, all columns together, read in smaller pieces then, besides as
	// much room at most for what lies across two pieces; 0 means the format's default.
	// Formats that hold little anyway do not look at it.
	Hold int64
}

// WriteOptions tune a writer.
type WriteOptions struct {
	Compression string // zstd, snappy, lz4, gzip, none …; "" = zstd
	ZstdLevel   int    // 0 = 1
	// Options are the table's options, for the keys of the format ("parquet.page.size" …).
	Options map[string]string
	Mem     memory.Allocator
	// Workers encode columns side by side; 0 and 1 encode on the calling goroutine.
	Workers int
	// Hold is how many bytes of batches a writer may keep by reference before it
	// encodes them, so that the end of a file can be encoded column by column and
	// written while it is encoded; 0 encodes batches as they come.
	Hold int64
}

// Writer writes one data file. Not safe for concurrent use.
type Writer interface {
	// Write appends a batch with the columns given to NewWriter; it is borrowed for the call.
	Write(ctx context.Context, rec arrow.RecordBatch) error
	// Size estimates the bytes the file would have if closed now, for rolling.
	Size() int64
	// Close finishes the file and returns its summary.
	Close(ctx context.Context) (Summary, error)
	// Abort gives the file up and removes what was written. After Close it does nothing.
	Abort() error
}

// Summary describes a finished file.
type Summary struct {
	FileSize int64
	RowCount int64
	Columns  []ColumnStats // one per field given to NewWriter
}

// ColumnStats are exact statistics of one column, before any truncation, as Java
// takes them from its writers.
// Min and Max are nil when there is no non-null value or the type has no order
// in statistics (bytes, nested types, timestamps of more than 6 digits, geometry).
// FLOAT and DOUBLE are ordered by Float.compare: −0.0 before 0.0, NaN last.
// NullCount is −1 where Java has none: nested types, but in Avro.
type ColumnStats struct {
	Min, Max  types.Value
	NullCount int64
}
