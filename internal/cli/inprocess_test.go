package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// command runs a command of the warehouse /w in this process, in a runtime of its own.
func command(t *testing.T, ctx context.Context, cfg tarn.Config, out, errOut io.Writer, stdin string, args ...string) error {
	t.Helper()
	rt, err := tarn.NewRuntime(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{in: strings.NewReader(stdin), out: out, errOut: errOut, rt: rt}
	if a.cat, err = rt.Open(ctx, "/w"); err != nil {
		t.Fatal(err)
	}
	defer a.close()
	cmd := a.root()
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}
