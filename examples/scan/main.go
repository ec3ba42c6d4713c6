package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
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
	t, err := fill(ctx, cat)
	if err != nil {
		return err
	}
	for _, way := range []func(context.Context, table.Table, io.Writer) error{filtered, sideBySide, earlier} {
		if err := way(ctx, t, out); err != nil {
			return err
		}
	}
	return nil
}

// filtered reads two columns of some rows. Files that cannot hold a matching row
// are not opened.
func filtered(ctx context.Context, t table.Table, out io.Writer) error {
	cheap := expr.Compare{Column: "price", Op: expr.Lt, Value: 3}
	r, err := t.Scan(ctx, table.Scan{Columns: []string{"item", "price"}, Where: cheap})
	if err != nil {
		return err
	}
	var items []int32
	var sum float64
	err = each(ctx, r, func(rec arrow.RecordBatch) {
		// A batch is gone at the next Next or Close: what is kept longer is copied,
		// as here, or the batch is retained.
		items = append(items, rec.Column(0).(*array.Int32).Int32Values()...)
		for _, p := range rec.Column(1).(*array.Float64).Float64Values() {
			sum += p
		}
	})
	if err != nil {
		return err
	}
	slices.Sort(items) // files are read side by side, in no order
	fmt.Fprintf(out, "items below 3: %v, %.2f together\n", items, sum)
	return nil
}

// sideBySide plans splits once and reads each by itself. They could be shipped
// to other processes (Split.MarshalBinary); all belong to one snapshot.
func sideBySide(ctx context.Context, t table.Table, out io.Writer) error {
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
			return each(gctx, r, func(rec arrow.RecordBatch) { counts[i] += rec.NumRows() })
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
	return nil
}

// earlier reads the table as it was at its first snapshot.
func earlier(ctx context.Context, t table.Table, out io.Writer) error {
	r, err := t.Scan(ctx, table.Scan{SnapshotID: 1})
	if err != nil {
		return err
	}
	var rows int64
	if err := each(ctx, r, func(rec arrow.RecordBatch) { rows += rec.NumRows() }); err != nil {
		return err
	}
	fmt.Fprintf(out, "snapshot 1: %d rows\n", rows)
	return nil
}

// each calls do for every batch of a reader and closes it.
func each(ctx context.Context, r table.Reader, do func(arrow.RecordBatch)) error {
	defer r.Close()
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

// fill makes a table partitioned by country and puts two commits into it.
func fill(ctx context.Context, cat catalog.Catalog) (table.Table, error) {
	id := table.Identifier{Database: "shop", Table: "prices"}
	if err := cat.CreateDatabase(ctx, id.Database, true); err != nil {
		return nil, err
	}
	err := cat.CreateTable(ctx, id, schema.Spec{
		Fields: []types.Field{
			{Name: "country", Type: types.MustParse("STRING NOT NULL")},
			{Name: "item", Type: types.MustParse("INT NOT NULL")},
			{Name: "price", Type: types.MustParse("DOUBLE")},
		},
		PartitionKeys: []string{"country"},
	}, false)
	if err != nil {
		return nil, err
	}
	t, err := cat.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, country := range []string{"de", "fr"} {
		if err := write(ctx, t, country); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// write commits ten items of a country.
func write(ctx context.Context, t table.Table, country string) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	for i := range int32(10) {
		b.Field(0).(*array.StringBuilder).Append(country)
		b.Field(1).(*array.Int32Builder).Append(i)
		b.Field(2).(*array.Float64Builder).Append(float64(i))
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Write(ctx, rec); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}
