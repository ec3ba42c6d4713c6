package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/interop/player"
	"github.com/tarnlake/tarn/tarnerr"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	warehouse := flags.String("w", "", "warehouse `directory`, made when it is not there")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: replay -w DIR SCENARIO.json…")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return tarnerr.Invalid.ExitCode()
	case *warehouse == "" || flags.NArg() == 0:
		flags.Usage()
		return tarnerr.Invalid.ExitCode()
	}
	if err := replay(ctx, stdout, *warehouse, flags.Args()); err != nil {
		fmt.Fprintf(stderr, "replay: %v\n", err)
		return tarnerr.KindOf(err).ExitCode()
	}
	return 0
}

func replay(ctx context.Context, stdout io.Writer, warehouse string, files []string) error {
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
		fmt.Fprintf(stdout, "replayed %s: %d operations\n", s.Name, len(s.Ops))
	}
	return nil
}
