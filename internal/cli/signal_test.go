package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/mem"
)

// A signal ends the command's context. An import that is stopped before its publish
// commits nothing and says so; one that has begun to publish waits for the end
// of that and prints the outcome.
func TestImportIsStopped(t *testing.T) {
	for _, c := range []struct {
		name, at string // the call during which the signal comes
		every    string
		out      string // printed
		errText  string // "" = it ends well
		rows     int
	}{
		{"before the publish", ".tarn/", "0", "", "Nothing was committed", 0},
		{"while publishing", "snapshot/snapshot-1", "0", "committed 2 rows as snapshot 1", "", 2},
		{"between commits", "snapshot/snapshot-1", "1", "committed 1 row as snapshot 1", "What 1 commit made before stays", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := mem.New(mem.Posix)
			run := func(ctx context.Context, fio fileio.FileIO, stdin string, args ...string) (string, error) {
				var out bytes.Buffer
				err := command(t, ctx, tarn.Config{Components: tarn.Components{FileIO: fio}}, &out, &out, stdin, args...)
				return out.String(), err
			}
			for _, args := range [][]string{{"db", "create", "db"}, {"table", "create", "db.t", "id BIGINT"}} {
				if _, err := run(t.Context(), fs, "", args...); err != nil {
					t.Fatal(err)
				}
			}
			ctx, signal := context.WithCancel(t.Context())
			defer signal()
			faulty := faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
				if call.Method == "create-if-absent" && strings.Contains(call.Path, c.at) {
					signal()
				}
				return faultio.Fault{}
			}))
			out, err := run(ctx, faulty, "{\"id\":1}\n{\"id\":2}\n", "table", "import", "db.t", "-", "--format", "jsonl", "--commit-every", c.every)
			if !strings.Contains(out, c.out) || c.out == "" && out != "" {
				t.Errorf("printed %q", out)
			}
			if (err == nil) != (c.errText == "") || err != nil && (!strings.Contains(err.Error(), c.errText) || !errors.Is(err, context.Canceled)) {
				t.Errorf("error %v", err)
			}
			rows, err := run(t.Context(), fs, "", "table", "read", "db.t", "-o", "jsonl")
			if err != nil || strings.Count(rows, "\n") != c.rows {
				t.Errorf("%q, %v", rows, err)
			}
		})
	}
}

// A signal ends a stream well: all rows of whole snapshots are printed, and where
// to go on.
func TestStreamIsStopped(t *testing.T) {
	fs := mem.New(mem.Posix)
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	faulty := faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if strings.HasSuffix(call.Path, "snapshot-2") {
			signal()
		}
		return faultio.Fault{}
	}))
	run := func(ctx context.Context, fio fileio.FileIO, stdin string, args ...string) (out, errOut bytes.Buffer, err error) {
		rt, err := tarn.NewRuntime(tarn.Config{Components: tarn.Components{FileIO: fio}})
		if err != nil {
			t.Fatal(err)
		}
		a := &app{in: strings.NewReader(stdin), out: &out, errOut: &errOut, rt: rt}
		if a.cat, err = rt.Open(ctx, "/w"); err != nil {
			t.Fatal(err)
		}
		defer a.close()
		cmd := a.root()
		cmd.SetArgs(args)
		err = cmd.ExecuteContext(ctx)
		return out, errOut, err
	}
	for _, args := range [][]string{{"db", "create", "db"}, {"table", "create", "db.t", "id BIGINT"}, {"table", "import", "db.t", "-", "--format", "jsonl"}} {
		if _, _, err := run(t.Context(), fs, "{\"id\":1}\n{\"id\":2}\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	out, errOut, err := run(ctx, faulty, "", "table", "stream", "db.t", "--from", "earliest")
	if err != nil || strings.Count(out.String(), `{"_snapshot":1,"_kind":"+I","id":`) != 2 || errOut.String() != "go on with --from 2\n" {
		t.Errorf("printed %q and %q, %v", out.String(), errOut.String(), err)
	}
}
