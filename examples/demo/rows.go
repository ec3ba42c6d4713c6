package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/table"
)

// buildRows makes a batch of schema from Go values, nil being null.
func buildRows(schema *arrow.Schema, rows [][]any) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, row := range rows {
		for i, v := range row {
			switch f := b.Field(i).(type) {
			case *array.Int32Builder:
				appendOr(f, v, func(v int32) { f.Append(v) })
			case *array.Int64Builder:
				appendOr(f, v, func(v int64) { f.Append(v) })
			case *array.StringBuilder:
				appendOr(f, v, func(v string) { f.Append(v) })
			case *array.Date32Builder:
				appendOr(f, v, func(v arrow.Date32) { f.Append(v) })
			default:
				return nil, fmt.Errorf("no values for a column of %s", f.Type())
			}
		}
	}
	return b.NewRecordBatch(), nil
}

func appendOr[T any](b array.Builder, v any, add func(T)) {
	if v == nil {
		b.AppendNull()
		return
	}
	add(v.(T))
}

// writeBatch writes batches in one commit.
func writeBatch(ctx context.Context, t table.Table, batches ...arrow.RecordBatch) (report *table.CommitReport, err error) {
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, rows := range batches {
		if err := w.Write(ctx, rows); err != nil {
			return nil, err
		}
	}
	return w.Commit(ctx)
}

// each calls do for every batch of r, and closes r.
func each(ctx context.Context, r table.Reader, do func(arrow.RecordBatch)) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		do(rec)
	}
}

// show prints what a scan of t gives, and returns it as text.
func show(ctx context.Context, t table.Table, scan table.Scan) ([][]string, error) {
	r, err := t.Scan(ctx, scan)
	if err != nil {
		return nil, err
	}
	return printRows(ctx, r)
}

// printRows prints the rows of r as a table, closes r, and returns the cells as text.
func printRows(ctx context.Context, r table.Reader) ([][]string, error) {
	var rows [][]string
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	header := make([]string, r.Schema().NumFields())
	for i, f := range r.Schema().Fields() {
		header[i] = f.Name
	}
	fmt.Fprintln(w, "     "+strings.Join(header, "\t"))
	err := each(ctx, r, func(rec arrow.RecordBatch) {
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for c := range row {
				row[c] = strings.Clone(rec.Column(c).ValueStr(i))
				if rec.ColumnName(c) == "file_path" {
					row[c] = path.Base(path.Dir(row[c])) + "/" + path.Base(row[c])
				}
			}
			rows = append(rows, row)
			fmt.Fprintln(w, "     "+strings.Join(row, "\t"))
		}
	})
	if err != nil {
		return nil, err
	}
	return rows, w.Flush()
}
