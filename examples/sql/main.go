package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/tarnsql"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "sql:", err)
		os.Exit(1)
	}
}

func start() error {
	if len(os.Args) > 1 {
		return run(context.Background(), os.Args[1], os.Stdout)
	}
	dir, err := os.MkdirTemp("", "tarn-sql-example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return run(context.Background(), dir, os.Stdout)
}

const script = `
CREATE DATABASE IF NOT EXISTS shop;
USE shop;
CREATE TABLE orders (
  id BIGINT, status STRING, version BIGINT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH ('bucket' = '2', 'sequence.field' = 'version');
INSERT INTO orders VALUES (1001, 'CREATED', 1), (1002, 'CREATED', 1);
INSERT INTO orders VALUES (1001, 'PAID', 2);
`

func run(ctx context.Context, dir string, out io.Writer) error {
	cat, err := tarn.Open(ctx, dir, tarn.Config{})
	if err != nil {
		return err
	}
	defer cat.Close()
	db, err := tarnsql.Open(ctx, cat, tarnsql.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	// A script runs statement by statement. INSERT is committed when it returns.
	_, err = db.Run(ctx, script, func(r *tarnsql.Result) error {
		if r.Report != nil {
			fmt.Fprintf(out, "%s: %d rows in snapshot %v\n", r.Statement, r.Count, r.Report.Snapshots)
		}
		return nil
	})
	if err != nil {
		return err
	}

	// An earlier snapshot is a table like any other, and so is a system table.
	return show(ctx, db, out, `
		SELECT now.id, before.status AS was, now.status AS "is", (SELECT count(*) FROM orders$snapshots) AS snapshots
		FROM orders AS now JOIN orders AS before AT (VERSION => 1) ON now.id = before.id
		ORDER BY now.id`)
}

// show prints the rows of a query, which come as Arrow batches.
func show(ctx context.Context, db *tarnsql.DB, out io.Writer, query string) error {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		id, was, is := rec.Column(0).(*array.Int64), rec.Column(1).(*array.String), rec.Column(2).(*array.String)
		snapshots := rec.Column(3).(*array.Int64)
		for i := range id.Len() {
			fmt.Fprintf(out, "order %d was %s and is %s, after %d snapshots\n", id.Value(i), was.Value(i), is.Value(i), snapshots.Value(i))
		}
	}
}
