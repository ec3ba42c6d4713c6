package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/interop/player"
	"github.com/tarnlake/tarn/tarnerr"
)

func main() {
	warehouse := flag.String("w", "", "warehouse `directory`, made when it is not there")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: replay -w DIR SCENARIO.json…")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *warehouse == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(tarnerr.Invalid.ExitCode())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := replay(ctx, *warehouse, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "replay: %v\n", err)
		os.Exit(tarnerr.KindOf(err).ExitCode())
	}
}

func replay(ctx context.Context, warehouse string, files []string) error {
	cat, err := tarn.Open(ctx, warehouse, tarn.Config{})
	if err != nil {
		return err
	}
	defer cat.Close()
	for _, file := range files {
		s, err := interop.LoadScenario(file)
		if err != nil {
			return tarnerr.Wrap(tarnerr.Invalid, "opening scenario", err)
		}
		if err := player.Play(ctx, cat, s); err != nil {
			return err
		}
		fmt.Printf("replayed %s: %d operations\n", s.Name, len(s.Ops))
	}
	return nil
}
