package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
)

func main() {
	dir := flag.String("dir", "", "warehouse to make (default: a new temporary directory that is kept)")
	flights := flag.String("flights", "testdata/flights/flights-2013-01.parquet", "flights file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *flights); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, flights string) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "tarn-demo-")
		if err != nil {
			return err
		}
		dir = filepath.Join(tmp, "lake")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cat, err := tarn.Open(ctx, dir, tarn.Config{})
	if err != nil {
		return err
	}
	defer cat.Close()
	fmt.Printf("The warehouse is the directory %s. Nothing else runs.\n", dir)
	for _, part := range []func(context.Context, catalog.Catalog) error{
		orders,
		func(ctx context.Context, cat catalog.Catalog) error { return month(ctx, cat, flights) },
	} {
		if err := part(ctx, cat); err != nil {
			return err
		}
	}
	fmt.Printf(`
What to try next
  go run ./cmd/tarn -w %[1]s table list
  go run ./cmd/tarn -w %[1]s table read air.flights --where "day = DATE '2013-01-15' AND dep_delay > 300"
  go run ./cmd/tarn -w %[1]s table read 'air.flights$snapshots'
  go run ./cmd/tarn -w %[1]s table read shop.orders --snapshot 1
`, dir)
	return nil
}
