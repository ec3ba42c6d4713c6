package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/tarnerr"
)

// Main runs the command and returns the process's exit code, which tells the
// kind of a failure (docs/errors.md).
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := &app{in: in, out: out, errOut: errOut}
	cmd := app.root()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errOut)
	err := cmd.ExecuteContext(ctx)
	if closeErr := app.close(); err == nil {
		err = closeErr
	}
	if err == nil {
		return 0
	}
	if stopped(ctx, err) {
		fmt.Fprintf(errOut, "tarn: %s\n", stoppedText(err))
		return 130
	}
	fmt.Fprintf(errOut, "tarn: %v\n", err)
	if errors.Is(err, errDeclined) {
		return 130
	}
	return tarnerr.KindOf(err).ExitCode()
}

// usage turns a complaint of the flag parser into an error of kind Invalid.
func usage(err error) error {
	return tarnerr.Wrap(tarnerr.Invalid, "reading command line", err).WithHint("See --help.")
}

// args checks the number of positional arguments; names are shown in the error.
func args(lo, hi int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) >= lo && (hi < 0 || len(got) <= hi) {
			return nil
		}
		return usage(fmt.Errorf("%s wants %s, got %q", cmd.CommandPath(), names, strings.Join(got, " ")))
	}
}

// group makes a command that only has commands below it print its help, and
// refuse what is none of them.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, got []string) error {
		if len(got) > 0 {
			return usage(fmt.Errorf("%s has no command %q", cmd.CommandPath(), got[0]))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// fileErr classifies a failure of a file named on the command line.
func fileErr(op string, err error) error {
	kind := tarnerr.Unavailable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = tarnerr.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = tarnerr.Denied
	case errors.Is(err, syscall.ENOSPC):
		return tarnerr.Wrap(kind, op, err).WithHint("Free space on the disk, then try again.")
	}
	return tarnerr.Wrap(kind, op, err)
}
