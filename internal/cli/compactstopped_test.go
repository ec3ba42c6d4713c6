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
	"github.com/tarnlake/tarn/table"
)

// What is said of a compaction that came to nothing is why.
func TestCompactText(t *testing.T) {
	for want, r := range map[string]table.CompactReport{
		"nothing to compact in 3 buckets":                                        {Buckets: 3},
		"compacted no bucket of 3; 2 buckets left as others made them meanwhile": {Buckets: 3, Lost: 2},
	} {
		if got := compactText(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A compaction of a database that is stopped by a signal changes no row, begins with no
// further table, and goes on when it is run again.
func TestCompactIsStopped(t *testing.T) {
	fs := mem.New(mem.Posix)
	run := func(ctx context.Context, fio fileio.FileIO, stdin string, args ...string) (string, error) {
		var out bytes.Buffer
		err := command(t, ctx, tarn.Config{Workers: 1, Components: tarn.Components{FileIO: fio}}, &out, &out, stdin, args...)
		return out.String(), err
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		out, err := run(t.Context(), fs, stdin, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	must("", "db", "create", "db")
	read := func() string {
		return must("", "table", "read", "db.a", "-o", "csv") + must("", "table", "read", "db.b", "-o", "csv")
	}
	for _, name := range []string{"db.a", "db.b"} {
		must("", "table", "create", name, "p STRING, id INT, v STRING", "--primary-key", "p,id", "--partition-by", "p", "--option", "bucket=1", "--option", "write-only=true")
		for _, rows := range []string{"x,1,a\ny,1,a\n", "x,1,b\ny,2,b\n"} {
			must(rows, "table", "import", name, "-", "--format", "csv")
		}
	}
	want := read()
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	made := 0
	faulty := faultio.New(fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if call.Method == "create" && strings.Contains(call.Path, "/data-") {
			if made++; made == 2 {
				signal()
			}
		}
		return faultio.Fault{}
	}))
	out, err := run(ctx, faulty, "", "db", "compact", "db")
	if !errors.Is(err, context.Canceled) || strings.Contains(out, "db.b") || strings.Contains(out, "nothing to compact") || made != 2 {
		t.Errorf("%d files were made; %q, %v", made, out, err)
	}
	if got := read(); got != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
	for name, buckets := range map[string]string{"db.a": "", "db.b": "compacted 2 buckets of 2"} {
		if out := must("", "table", "compact", name); !strings.Contains(out, buckets) || strings.Contains(out, "nothing") {
			t.Errorf("%q", out)
		}
		if out := must("", "table", "compact", name); !strings.Contains(out, "nothing to compact in 2 buckets") {
			t.Errorf("%q", out)
		}
	}
	if got := read(); got != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
}
