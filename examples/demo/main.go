package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
)

func main() {
	dir := flag.String("dir", "", "warehouse to make (default: a new temporary directory that is kept)")
	data := flag.String("data", filepath.Join("testdata", "flights"), "directory with the flights, planes and airports")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *data); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// tour is what the parts share.
type tour struct {
	cat     catalog.Catalog
	sql     console
	data    string  // directory of the files
	flights *source // one of them
	events  [][]any // the stream made from it, in the order of arrival
}

func run(ctx context.Context, dir, data string) error {
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

	t := &tour{cat: cat, data: data}
	for _, part := range []func(context.Context, *tour) error{orders, month} {
		if err := part(ctx, t); err != nil {
			return err
		}
	}
	hasSQL, err := withSQL(ctx, t)
	if err != nil {
		return err
	}
	fmt.Printf("\nPeak memory of this process, all parts together: %s\n", peakMemory())
	next(dir, hasSQL)
	return nil
}

// withSQL runs the parts in SQL, or tells why it cannot.
func withSQL(ctx context.Context, t *tour) (bool, error) {
	db, err := tarnsql.Open(ctx, t.cat, tarnsql.Options{})
	if errors.Is(err, tarnerr.Unsupported) {
		fmt.Printf("\nThe parts in SQL are left out: %v\n", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer db.Close()
	t.sql = console{db}
	for _, part := range []func(context.Context, *tour) error{sqlOrders, questions, timeTravel} {
		if err := part(ctx, t); err != nil {
			return true, err
		}
	}
	return true, nil
}

// next ends the tour with what to try.
func next(dir string, hasSQL bool) {
	fmt.Printf(`
What to try next
  go run ./cmd/tarn -w %[1]s table list
  go run ./cmd/tarn -w %[1]s table read air.flights --where "day = DATE '2013-01-16' AND dep_delay > 240"
  go run ./cmd/tarn -w %[1]s table read shop.orders --snapshot 1
`, dir)
	if hasSQL {
		fmt.Printf(`  go run ./cmd/tarn sql -w %[1]s -d air -c "SELECT carrier, avg(dep_delay) FROM flights GROUP BY ALL ORDER BY 2 DESC"
  go run ./cmd/tarn sql -w %[1]s        # then type SQL; Ctrl-D ends it
`, dir)
	}
}
