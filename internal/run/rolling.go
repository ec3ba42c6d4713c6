package run

import (
	"context"
	"path"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// FileSpec is what all files that one table's writers make have in common.
// Immutable once used; safe for concurrent use.
type FileSpec struct {
	FileIO fileio.FileIO
	Format fileformat.Format
	Env    env.Env
	Mem    memory.Allocator
	// Keys are the columns of the trimmed primary key in key order; none in append
	// tables, whose files hold just the table's columns.
	Keys []types.Field
	// Values are the table's columns.
	Values []types.Field
	// Thin files of key tables leave out the `_KEY_*` columns.
	Thin bool
	// Tracking is what append files know of the row ids of their rows.
	Tracking Tracking

	SchemaID   int64
	Level      int32
	Source     datafile.Source
	Stats      StatsOptions
	Encoding   fileformat.WriteOptions
	TargetSize int64 // bytes at which the next file begins
	Names      *layout.Namer
	Prefix     string // data-file.prefix
	Ending     string // of names: "parquet", "zstd.parquet" where the table says so
}

// Tracking is what files know of the row ids and sequence numbers of their rows.
type Tracking uint8

// Files of tables without row tracking have neither; the commit tells those of files
// of new rows; files of rows that come from other files carry them.
const (
	Untracked Tracking = iota
	Untold
	Carried
)

// RollingWriter writes one sorted run, or append rows in order, to one or more
// data files. Not safe for concurrent use.
//
// Batches have the columns of [FileSpec.Fields] and, in key tables, come sorted
// by key. What was written is removed by Abort until Close has returned it.
type RollingWriter struct {
	spec   *FileSpec
	layout *fileLayout
	dir    string // of the bucket
	// sequence is the number of the next append row.
	sequence int64

	cur   *openFile
	done  []*datafile.Meta
	doubt []string // names that may be taken by files that failed
}

// openFile is the file being written.
type openFile struct {
	name string
	w    fileformat.Writer
	keys keyRange
}

// NewRollingWriter starts a run below dir, the directory of a bucket. The rows of
// append files are numbered from sequence on; key-value rows carry their numbers.
func NewRollingWriter(spec *FileSpec, dir string, sequence int64) *RollingWriter {
	return &RollingWriter{spec: spec, layout: spec.layout(), dir: dir, sequence: sequence}
}

// checkRows is how many rows may pass unseen before the file's size is looked at.
const checkRows = 1000

// Write appends a batch, which is borrowed for the call. After an error the
// writer can only be aborted.
func (w *RollingWriter) Write(ctx context.Context, rec arrow.RecordBatch) error {
	rows := rec.NumRows()
	if rows == 0 {
		return nil
	}
	perRow := max(1, batch.Bytes(rec)/rows)
	for from := int64(0); from < rows; {
		if w.cur == nil {
			if err := w.open(ctx); err != nil {
				return err
			}
		}
		// Encoding makes rows smaller, if anything: so many rows fit for sure.
		fit := max(checkRows, (w.spec.TargetSize-w.cur.w.Size())/perRow)
		to := min(rows, from+fit)
		part := batch.Slice(rec, from, to)
		err := w.append(ctx, part)
		part.Release()
		if err != nil {
			return err
		}
		from = to
		if w.cur.w.Size() >= w.spec.TargetSize {
			if err := w.finish(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size estimates the bytes of the file being written, 0 between files.
func (w *RollingWriter) Size() int64 {
	if w.cur == nil {
		return 0
	}
	return w.cur.w.Size()
}

// Written estimates the bytes of all files so far.
func (w *RollingWriter) Written() int64 {
	n := w.Size()
	for _, f := range w.done {
		n += f.FileSize
	}
	return n
}

// Sequence is the number the next append row will get.
func (w *RollingWriter) Sequence() int64 { return w.sequence }

// Close finishes the last file and returns all of them in order. It removes
// them when it fails.
func (w *RollingWriter) Close(ctx context.Context) ([]*datafile.Meta, error) {
	if w.cur != nil {
		if err := w.finish(ctx); err != nil {
			return nil, err
		}
	}
	done := w.done
	w.done = nil
	return done, nil
}

// Abort gives up and removes what was written and not returned by Close.
// Calling it again does nothing.
func (w *RollingWriter) Abort(ctx context.Context) error {
	var first error
	if w.cur != nil {
		first = w.cur.w.Abort()
		w.cur = nil
	}
	names := w.doubt
	for _, m := range w.done {
		names = append(names, m.FileName)
	}
	w.done, w.doubt = nil, nil
	if len(names) > 0 {
		paths := make([]string, len(names))
		for i, n := range names {
			paths[i] = path.Join(w.dir, n)
		}
		if err := w.spec.FileIO.Delete(ctx, paths...); first == nil {
			first = err
		}
	}
	return tarnerr.Trace("removing unfinished data files", first, "directory", w.dir)
}

func (w *RollingWriter) open(ctx context.Context) error {
	name := w.spec.Names.Data(w.spec.Prefix, w.spec.Ending)
	out, err := w.spec.FileIO.Create(ctx, path.Join(w.dir, name))
	if err != nil {
		w.doubt = append(w.doubt, name)
		return invisible("creating data file", err, name)
	}
	fw, err := w.spec.Format.NewWriter(out, w.layout.fields, w.spec.encoding())
	if err != nil {
		out.Abort()
		return invisible("creating data file", err, name)
	}
	w.cur = &openFile{name: name, w: fw}
	return nil
}

func (w *RollingWriter) append(ctx context.Context, rec arrow.RecordBatch) error {
	if err := w.cur.w.Write(ctx, rec); err != nil {
		return invisible("writing data file", err, w.cur.name)
	}
	w.sequence += rec.NumRows()
	if w.layout.keyed() {
		return w.cur.keys.extend(w.layout, rec)
	}
	return nil
}

// invisible adds the place to a failure. However unsure the storage is about the
// file, nobody sees it: for the write the failure had no effect.
func invisible(op string, err error, file string) error {
	if tarnerr.KindOf(err) == tarnerr.Ambiguous {
		return tarnerr.Wrap(tarnerr.Unavailable, op, err, "file", file)
	}
	return tarnerr.Trace(op, err, "file", file)
}

// finish closes the current file and keeps its metadata.
func (w *RollingWriter) finish(ctx context.Context) error {
	f := w.cur
	w.cur = nil
	summary, err := f.w.Close(ctx)
	if err != nil {
		f.w.Abort()
		w.doubt = append(w.doubt, f.name)
		return invisible("finishing data file", err, f.name)
	}
	meta, err := w.layout.meta(w.spec, f, summary, w.sequence)
	if err != nil {
		w.doubt = append(w.doubt, f.name)
		return err
	}
	w.done = append(w.done, meta)
	return nil
}
