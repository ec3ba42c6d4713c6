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
	"github.com/tarnlake/tarn/tarnerr"
)

// jobHome is a warehouse in memory with two tables that want a compaction.
type jobHome struct {
	*testing.T
	fs *mem.FS
}

func newJobHome(t *testing.T) *jobHome {
	h := &jobHome{t, mem.New(mem.Posix)}
	h.must("", "db", "create", "db")
	for _, name := range []string{"db.a", "db.b"} {
		h.must("", "table", "create", name, "p STRING, id INT, v STRING", "--primary-key", "p,id", "--partition-by", "p",
			"--option", "bucket=1", "--option", "write-only=true", "--option", "num-sorted-run.compaction-trigger=2")
		h.grow(name)
	}
	return h
}

// grow makes three sorted runs in each of two buckets.
func (h *jobHome) grow(name string) {
	for _, rows := range []string{"x,1,a\ny,1,a\n", "x,1,b\ny,2,b\n", "x,3,c\ny,3,c\n"} {
		h.must(rows, "table", "import", name, "-", "--format", "csv")
	}
}

func (h *jobHome) run(ctx context.Context, fio fileio.FileIO, stdin string, args ...string) (out, errOut string, err error) {
	h.Helper()
	var o, e bytes.Buffer
	err = command(h.T, ctx, tarn.Config{Workers: 1, Components: tarn.Components{FileIO: fio}}, &o, &e, stdin, args...)
	return o.String(), e.String(), err
}

func (h *jobHome) must(stdin string, args ...string) string {
	h.Helper()
	out, _, err := h.run(h.Context(), h.fs, stdin, args...)
	if err != nil {
		h.Fatalf("%v: %v", args, err)
	}
	return out
}

func (h *jobHome) read() string {
	return h.must("", "table", "read", "db.a", "-o", "csv") + h.must("", "table", "read", "db.b", "-o", "csv")
}

// An upkeep that is stopped by a signal begins with no further table. One that goes on
// until then ends well, one that was to be done once does not.
func TestUpkeepIsStopped(t *testing.T) {
	for _, every := range []bool{false, true} {
		h := newJobHome(t)
		want := h.read()
		ctx, signal := context.WithCancel(t.Context())
		defer signal()
		made := 0
		faulty := faultio.New(h.fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
			if call.Method == "create" && strings.Contains(call.Path, "/data-") {
				if made++; made == 2 {
					signal()
				}
			}
			return faultio.Fault{}
		}))
		args := []string{"db", "upkeep", "db"}
		if every {
			args = append(args, "--every", "10m")
		}
		out, errOut, err := h.run(ctx, faulty, "", args...)
		if every != (err == nil) || err != nil && !errors.Is(err, context.Canceled) || out != "" || errOut != "" || made != 2 {
			t.Errorf("%d files were made; %q, %q, %v", made, out, errOut, err)
		}
		if got := h.read(); got != want {
			t.Errorf("rows\n%s, want\n%s", got, want)
		}
		out = h.must("", "db", "upkeep", "db")
		if strings.Count(out, "compacted 2 buckets of 2") != 2 {
			t.Errorf("%q", out)
		}
		if out = h.must("", "db", "upkeep", "db"); out != "db.a: nothing to do\ndb.b: nothing to do\n" {
			t.Errorf("%q", out)
		}
		if got := h.read(); got != want {
			t.Errorf("rows\n%s, want\n%s", got, want)
		}
	}
}

// A signal during a publish lets it end, and what was done is printed.
func TestUpkeepEndsItsPublish(t *testing.T) {
	h := newJobHome(t)
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	faulty := faultio.New(h.fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if call.Method == "create-if-absent" && strings.Contains(call.Path, "snapshot/snapshot-4") {
			signal()
		}
		return faultio.Fault{}
	}))
	out, errOut, err := h.run(ctx, faulty, "", "db", "upkeep", "db", "--every", "10m")
	if err != nil || errOut != "" || !strings.HasPrefix(out, "db.a: compacted 2 buckets of 2: ") || strings.Contains(out, "db.b") {
		t.Errorf("%q, %q, %v", out, errOut, err)
	}
}

// A job that goes on does each round what has come up since, also in tables that are
// new, and repeats nothing that it has said. A round that failed is told at once; the
// last one tells how the job ends.
func TestUpkeepGoesOn(t *testing.T) {
	h := newJobHome(t)
	ctx, signal := context.WithCancel(t.Context())
	defer signal()
	rounds := 0
	faulty := faultio.New(h.fs, faultio.PlanFunc(func(call faultio.Call) faultio.Fault {
		if call.Method != "list" || !strings.HasSuffix(call.Path, "/db.db") {
			return faultio.Fault{}
		}
		switch rounds++; rounds {
		case 3: // the first listing is before the first round
			h.grow("db.a")
		case 4:
			h.must("", "table", "create", "db.c", "id INT")
			h.fs.Put("/w/db.db/b/.tarn/commit/x-1-append.json", []byte("{"))
		case 5:
			h.fs.Remove("/w/db.db/b/.tarn/commit/x-1-append.json")
		case 6:
			h.fs.Put("/w/db.db/b/.tarn/commit/x-1-append.json", []byte("{"))
		case 7:
			signal()
		}
		return faultio.Fault{}
	}))
	out, errOut, err := h.run(ctx, faulty, "", "db", "upkeep", "db", "--every", "1 ms")
	if tarnerr.KindOf(err) != tarnerr.Corrupt || errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	var told []string
	for line := range strings.Lines(out) {
		told = append(told, strings.Join(strings.Fields(line)[:2], " "))
	}
	if got, want := strings.Join(told, ", "), "db.a: compacted, db.b: compacted, db.a: compacted, db.b: 2, db.c: nothing, db.b: 2"; got != want {
		t.Errorf("told %s, want %s:\n%s", got, want, out)
	}
	if strings.Count(errOut, "\n") != 4 || strings.Count(errOut, "x-1-append.json") != 4 {
		t.Errorf("%q", errOut)
	}
}
