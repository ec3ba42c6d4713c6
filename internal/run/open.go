package run

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Source opens the data files of one table. Immutable once used; safe for
// concurrent use.
type Source struct {
	FileIO fileio.FileIO
	// Format finds a file format by the ending of its files.
	Format func(name string) (fileformat.Format, error)
	// Schema reads a schema of the table.
	Schema func(ctx context.Context, id int64) (*schema.Schema, error)
	// Table is the schema that rows are read under.
	Table *schema.Schema
	// Tracks: the table has row tracking. Row ids and sequence numbers can be asked for
	// of every file, whether it holds them or not.
	Tracks bool
	Mem    memory.Allocator
}

// Request says what to read of a data file.
type Request struct {
	// Columns are fields of Source.Table, and system fields of key-value files and of
	// tables with row tracking, in the order wanted. Fields are found by id in the schema the file was written
	// under; a column it did not have is null.
	Columns []types.Field
	// Where skips parts of the file that cannot match. It is bound to columns of
	// Source.Table. Rows that do not match may still come.
	Where *expr.Bound
	// From and To bound the rows by their number in the file, as in [fileformat.ReadRequest].
	From, To int64
	// BatchRows, Workers and Hold are as in [fileformat.ReadRequest].
	BatchRows, Workers int
	Hold               int64
	// Mem is where the rows are put; nil means Source.Mem.
	Mem memory.Allocator
}

// Open reads the rows of a data file of the bucket directory dir under the
// table's schema. Nothing is merged and no delete is applied.
func (s *Source) Open(ctx context.Context, dir string, file *datafile.Meta, req Request) (batch.Reader, error) {
	r, err := s.open(ctx, dir, file, req)
	if err != nil {
		return nil, tarnerr.Trace("opening data file", err, "file", file.FileName)
	}
	return r, nil
}

func (s *Source) open(ctx context.Context, dir string, file *datafile.Meta, req Request) (batch.Reader, error) {
	if len(file.WriteCols) > 0 && !s.Tracks {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading data file", "data evolution: the file holds some columns of its rows only", "columns", file.WriteCols)
	}
	out, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, err
	}
	written, err := s.Schema(ctx, file.SchemaID)
	if err != nil {
		return nil, err
	}
	fields := columnsOf(file, written, s.Tracks)
	cols, err := schema.MapFields(fields, req.Columns)
	if err != nil {
		return nil, err
	}
	mem := req.Mem
	if mem == nil {
		mem = s.Mem
	}
	r := &reader{file: file.FileName, schema: out, cols: cols, mem: mem, at: req.From}
	if s.Tracks {
		r.tracking = &tracking{mem, file}
	}
	var asked []types.Field
	for i := range cols {
		if cols[i].Source >= 0 {
			// The file knows the column by the name it had when it was written.
			asked = append(asked, fields[cols[i].Source])
		}
	}
	if len(asked) == 0 {
		// Nothing to decode: the rows are known by their number.
		r.rows = nullRows{left: file.RowCount - req.From, size: int64(req.BatchRows)}
		if req.To != 0 {
			r.rows.left = req.To - req.From
		}
		return r, nil
	}
	format, err := s.Format(file.Format())
	if err != nil {
		return nil, err
	}
	p, err := Path(s.FileIO, dir, file)
	if err != nil {
		return nil, err
	}
	f, err := format.Open(ctx, s.FileIO, p, file.FileSize, mem)
	if err != nil {
		return nil, err
	}
	in, err := f.Read(ctx, fileformat.ReadRequest{
		Columns: asked, Where: writtenNames(req.Where, s.Table.Fields, written.Fields),
		From: req.From, To: req.To, BatchRows: req.BatchRows, Workers: req.Workers, Hold: req.Hold,
		Numbers: r.tracking.numbered(cols),
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	r.in, r.closer = in, f
	return r, nil
}

// Path is where a data file of a bucket directory lies.
func Path(fio fileio.FileIO, dir string, file *datafile.Meta) (string, error) {
	if file.ExternalPath == nil {
		return path.Join(dir, file.FileName), nil
	}
	uri := *file.ExternalPath
	if here := fileio.Scheme(fio.URI("/")); fileio.Scheme(uri) != here {
		return "", tarnerr.New(tarnerr.Unsupported, "finding data file", "the file lies on another storage", "path", uri, "table", here)
	}
	if fileio.Scheme(uri) == "file" {
		return fileio.LocalPath(uri)
	}
	root := strings.TrimSuffix(fio.URI("/"), "/")
	rest, ok := strings.CutPrefix(uri, root)
	if !ok || !strings.HasPrefix(rest, "/") {
		return "", tarnerr.New(tarnerr.Unsupported, "finding data file", "the file lies in another bucket of the storage", "path", uri, "table", root)
	}
	return rest, nil
}

// writtenNames turns a predicate over the table's columns into the strongest one
// over the names an older schema had for them.
func writtenNames(where *expr.Bound, table, written []types.Field) *expr.Bound {
	if where == nil {
		return nil
	}
	names := map[string]string{}
	for _, t := range table {
		for _, w := range written {
			if t.ID == w.ID && t.Type.EqualIgnoringNull(w.Type) {
				names[t.Name] = w.Name
			}
		}
	}
	return where.Project(func(c string) bool { _, ok := names[c]; return ok }).
		Rename(func(c string) string { return names[c] })
}

// reader gives the batches of a file the columns wanted.
type reader struct {
	file   string
	schema *arrow.Schema
	cols   []schema.Column
	mem    memory.Allocator
	in     batch.Reader // nil when no column is in the file
	rows   nullRows
	at     int64 // number of the next row, when no column is in the file
	closer io.Closer
	out    arrow.RecordBatch

	tracking *tracking // nil: rows have no row ids
}

// nullRows counts the batches of a file of which no column is read.
type nullRows struct{ left, size int64 }

func (n *nullRows) next() (int64, bool) {
	if n.left <= 0 {
		return 0, false
	}
	rows := n.left
	if n.size > 0 {
		rows = min(rows, n.size)
	} else {
		rows = min(rows, 8192)
	}
	n.left -= rows
	return rows, true
}

func (r *reader) Schema() *arrow.Schema { return r.schema }

func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
	rows, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.release()
	cols := make([]arrow.Array, 0, len(r.cols))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i := range r.cols {
		col, err := r.column(i, &rows)
		if err != nil {
			return nil, err
		}
		cols = append(cols, col)
	}
	r.out = array.NewRecordBatch(r.schema, cols, rows.n)
	return r.out, nil
}

// fileRows is what a file has of some rows.
type fileRows struct {
	n       int64
	columns []arrow.Array // borrowed; those that are not taken yet
	numbers *array.Int64  // of the rows in the file, nil where nobody needs them
	made    bool          // numbers are not borrowed
}

func (s *fileRows) release() {
	if s.made {
		s.numbers.Release()
	}
}

// take takes the next column of the file.
func (s *fileRows) take() arrow.Array {
	c := s.columns[0]
	s.columns = s.columns[1:]
	return c
}

// read reads the next rows.
func (r *reader) read(ctx context.Context) (fileRows, error) {
	if r.in == nil {
		return r.count()
	}
	rec, err := r.in.Next(ctx)
	if err == io.EOF {
		return fileRows{}, err
	}
	if err != nil {
		return fileRows{}, tarnerr.Trace("reading data file", err, "file", r.file)
	}
	s := fileRows{n: rec.NumRows(), columns: rec.Columns()}
	if r.tracking.numbered(r.cols) {
		s.numbers, _ = s.columns[len(s.columns)-1].(*array.Int64)
	}
	return s, nil
}

// count goes on to the next rows of a file of which no column is read.
func (r *reader) count() (fileRows, error) {
	n, ok := r.rows.next()
	if !ok {
		return fileRows{}, io.EOF
	}
	s := fileRows{n: n}
	if r.tracking.numbered(r.cols) {
		s.numbers, s.made = fileformat.Numbers(r.mem, fileformat.Run{From: r.at, Rows: int(n)}), true
	}
	r.at += n
	return s, nil
}

// column makes column i of rows.
func (r *reader) column(i int, rows *fileRows) (arrow.Array, error) {
	c, want := &r.cols[i], r.schema.Field(i).Type
	var in arrow.Array // nil: not in the file
	if c.Source >= 0 {
		in = rows.take()
	}
	var out arrow.Array
	var err error
	switch {
	case r.tracking.rowID(c):
		out, err = r.tracking.rowIDs(in, rows.numbers)
	case r.tracking.sequence(c):
		out, err = r.tracking.sequences(in, int(rows.n))
	case in == nil:
		none := batch.Nulls(r.mem, want, int(rows.n))
		defer none.Release()
		return array.MakeFromData(none), nil
	default:
		if out, err = conform(r.mem, in, *c, want); err != nil {
			return nil, tarnerr.Trace("reading data file", err, "file", r.file, "column", r.schema.Field(i).Name)
		}
	}
	if err != nil {
		return nil, tarnerr.Trace("reading data file", err, "file", r.file)
	}
	return out, nil
}

func (r *reader) Close() error {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
	r.rows.left = 0
	var err error
	if r.in != nil {
		err = r.in.Close()
	}
	if r.closer != nil {
		if e := r.closer.Close(); err == nil {
			err = e
		}
		r.closer = nil
	}
	return err
}
