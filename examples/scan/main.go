package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

func start() error {
	if len(os.Args) > 1 {
		return run(context.Background(), os.Args[1], os.Stdout)
	}
	dir, err := os.MkdirTemp("", "tarn-scan-")
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
	t, err := fill(ctx, func(id table.Identifier, spec schema.Spec) (table.Table, error) {
		if err := cat.CreateDatabase(ctx, id.Database, true); err != nil {
			return nil, err
		}
		if err := cat.CreateTable(ctx, id, spec, false); err != nil {
			return nil, err
		}
		return cat.LoadTable(ctx, id)
	})
	if err != nil {
		return err
	}

	// Columns and a filter. Files that cannot hold a matching row are not opened.
	cheap := expr.Compare{Column: "price", Op: expr.Lt, Value: 3}
	r, err := t.Scan(ctx, table.Scan{Columns: []string{"item", "price"}, Where: cheap})
	if err != nil {
		return err
	}
	rows, err := drain(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "items below 3:", rows)

	// Splits: planned once, read side by side here, or shipped to other processes
	// (Split.MarshalBinary). All belong to one snapshot.
	scan := table.Scan{Workers: 1}
	plan, err := t.Plan(ctx, scan)
	if err != nil {
		return err
	}
	counts := make([]int64, len(plan.Splits))
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range plan.Splits {
		g.Go(func() error {
			r, err := t.Read(gctx, scan, s)
			if err != nil {
				return err
			}
			counts[i], err = drain(gctx, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var total int64
	for _, n := range counts {
		total += n
	}
	fmt.Fprintf(out, "snapshot %d: %d rows in %d splits\n", plan.Snapshot.ID, total, len(plan.Splits))

	// Time travel.
	r, err = t.Scan(ctx, table.Scan{SnapshotID: 1})
	if err != nil {
		return err
	}
	rows, err = drain(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "snapshot 1: %d rows\n", rows)
	return nil
}

// drain counts the rows of a reader and closes it.
func drain(ctx context.Context, r table.Reader) (int64, error) {
	defer r.Close()
	var n int64
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		n += rec.NumRows()
	}
}

// fill makes a table partitioned by country and puts two commits into it.
func fill(ctx context.Context, create func(table.Identifier, schema.Spec) (table.Table, error)) (table.Table, error) {
	t, err := create(table.Identifier{Database: "shop", Table: "prices"}, schema.Spec{
		Fields: []types.Field{
			{Name: "country", Type: types.MustParse("STRING NOT NULL")},
			{Name: "item", Type: types.MustParse("INT NOT NULL")},
			{Name: "price", Type: types.MustParse("DOUBLE")},
		},
		PartitionKeys: []string{"country"},
	})
	if err != nil {
		return nil, err
	}
	for _, country := range []string{"de", "fr"} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
		for i := range int32(10) {
			b.Field(0).(*array.StringBuilder).Append(country)
			b.Field(1).(*array.Int32Builder).Append(i)
			b.Field(2).(*array.Float64Builder).Append(float64(i))
		}
		rec := b.NewRecordBatch()
		b.Release()
		w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
		if err != nil {
			return nil, err
		}
		err = w.Write(ctx, rec)
		rec.Release()
		if err == nil {
			_, err = w.Commit(ctx)
		}
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}
