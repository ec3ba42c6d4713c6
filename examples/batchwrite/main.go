package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "batchwrite:", err)
		os.Exit(1)
	}
}

func start() error {
	if len(os.Args) > 1 {
		return run(context.Background(), os.Args[1], os.Stdout)
	}
	dir, err := os.MkdirTemp("", "tarn-batchwrite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return run(context.Background(), dir, os.Stdout)
}

func run(ctx context.Context, dir string, out io.Writer) error {
	cat, err := tarn.Open(ctx, dir, tarn.Config{})
	if err != nil {
		return err
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "shop", true); err != nil {
		return err
	}
	id := table.Identifier{Database: "shop", Table: "orders"}
	err = cat.CreateTable(ctx, id, schema.Spec{
		Fields: []types.Field{
			{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
			{Name: "status", Type: types.MustParse("STRING")},
			{Name: "version", Type: types.MustParse("INT")},
		},
		PrimaryKeys: []string{"id"},
		// The row with the highest version wins, whichever arrives last.
		Options: map[string]string{"bucket": "1", "sequence.field": "version"},
	}, false)
	if err != nil {
		return err
	}
	orders, err := cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	for _, rows := range []string{
		`[{"id": 1001, "status": "CREATED", "version": 1}, {"id": 1002, "status": "CREATED", "version": 1}]`,
		`[{"id": 1001, "status": "PAID", "version": 3}, {"id": 1001, "status": "CANCELLED", "version": 2}]`,
	} {
		report, err := write(ctx, orders, rows)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: snapshot %v, %d file(s), %d row(s)\n", report.Status, report.Snapshots, report.FilesAdded, report.Rows)
	}
	return print(ctx, orders, out)
}

// write puts rows, a JSON array, into the table in one commit.
func write(ctx context.Context, t table.Table, rows string) (*table.CommitReport, error) {
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, t.ArrowSchema(), strings.NewReader(rows))
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := w.Write(ctx, rec); err != nil {
		return nil, err
	}
	return w.Commit(ctx) // the rows are visible and durable when this returns nil
}

// print writes every row of the latest snapshot.
func print(ctx context.Context, t table.Table, out io.Writer) error {
	r, err := t.Scan(ctx, table.Scan{})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			for c := range int(rec.NumCols()) {
				fmt.Fprintf(out, "%s=%s ", rec.ColumnName(c), rec.Column(c).ValueStr(i))
			}
			fmt.Fprintln(out)
		}
	}
}
