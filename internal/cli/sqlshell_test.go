//go:build cgo && !tarn_nosql

package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnsql"
)

// typed is a lineReader that types the lines of a script and shows what a
// terminal would.
type typed struct {
	lines []string
	out   io.Writer
}

func (y *typed) Read(_ context.Context, prompt, more string) (string, error) {
	var text []string
	for len(y.lines) > 0 {
		io.WriteString(y.out, prompt+y.lines[0]+"\n")
		text, y.lines = append(text, y.lines[0]), y.lines[1:]
		if t := strings.Join(text, "\n"); ready(t) {
			return t, nil
		}
		prompt = more
	}
	io.WriteString(y.out, prompt+"^D\n")
	return "", io.EOF
}

// shellWorld is a warehouse with a shell over it, whose memory is counted.
type shellWorld struct {
	*sqlShell
	out *strings.Builder
	mem *memory.CheckedAllocator
}

func newShellWorld(t *testing.T) *shellWorld {
	w := &shellWorld{out: &strings.Builder{}, mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	ctx := context.Background()
	config := tarn.Config{Durability: fileio.OS, Components: tarn.Components{Allocator: w.mem}}
	cat, err := tarn.Open(ctx, t.TempDir(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(ctx, "shop", false); err != nil {
		t.Fatal(err)
	}
	db, err := tarnsql.Open(ctx, cat, tarnsql.Options{
		Database: "shop", Threads: 2, TempDir: t.TempDir(), Allocator: w.mem,
		OpenWarehouse: func(ctx context.Context, uri string) (catalog.Catalog, error) { return tarn.Open(ctx, uri, config) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := cat.Close(); err != nil {
			t.Error(err)
		}
		w.mem.AssertSize(t, 0)
	})
	clock := time.Unix(0, 0)
	w.sqlShell = &sqlShell{
		sqlRunner: sqlRunner{
			db: db, out: w.out, errOut: w.out, format: "table", layout: layoutAuto, counts: true, timing: true,
			columns: func() int { return 80 },
			now:     func() time.Time { clock = clock.Add(time.Millisecond); return clock },
		},
		interruptible: context.WithCancel, history: &sqlHistory{errOut: w.out}, pager: "cat",
	}
	w.words = &sqlWords{query: w.rows}
	return w
}

var commitTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?`)

func TestShell(t *testing.T) {
	datadriven.Walk(t, "testdata/shell", func(t *testing.T, path string) {
		w := newShellWorld(t)
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.out.Reset()
			switch d.Cmd {
			case "session":
				columns := 80
				d.MaybeScanArgs(t, "columns", &columns)
				w.columns = func() int { return columns }
				w.in = &typed{strings.Split(strings.ReplaceAll(d.Input, "DIR", dir), "\n"), w.out}
				if err := w.loop(context.Background()); err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				return commitTime.ReplaceAllString(strings.ReplaceAll(w.out.String(), dir, "DIR"), "…")
			case "file":
				var name string
				d.ScanArgs(t, "name", &name)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(d.Input), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			case "complete": // each line, with the cursor at | or at its end
				for _, line := range strings.Split(d.Input, "\n") {
					before, after, _ := strings.Cut(strings.ReplaceAll(line, "⏎", "\n"), "|")
					from, found := w.words.candidates(context.Background(), before+after, len(before))
					if len(found) > 12 {
						found = append(found[:12:12], "…")
					}
					w.out.WriteString(line + "\n  replaces " + quoteForTest(before[from:]) + ": " + strings.Join(found, " ") + "\n")
				}
				return w.out.String()
			}
			t.Fatalf("%s: no such command", d.Pos)
			return ""
		})
	})
}

func quoteForTest(s string) string { return "‹" + s + "›" }

// signalling is a Writer that tells when it was written to.
type signalling struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{}
}

func (s *signalling) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.text.Write(p)
	s.mu.Unlock()
	select {
	case s.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *signalling) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestShellCancel: a statement that is stopped leaves the shell alive, and neither
// memory nor goroutines behind.
func TestShellCancel(t *testing.T) {
	w := newShellWorld(t)
	watched := &signalling{written: make(chan struct{}, 1)}
	ticks := make(chan time.Time)
	w.progress = &sqlProgress{
		w: watched, columns: w.columns, read: w.db.Progress, after: func(time.Duration) <-chan time.Time { return ticks },
	}
	const endless = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b;"
	w.in = &typed{[]string{"SELECT 1;"}, w.out}
	if err := w.loop(context.Background()); err != nil { // what is made once is made now
		t.Fatal(err)
	}
	before, bytes := goroutines(), w.mem.CurrentAlloc()
	w.interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case ticks <- time.Time{}: // the statement runs, and the watcher is told so
				<-watched.written
				cancel()
			case <-ctx.Done(): // it was done before
			}
		}()
		return ctx, cancel
	}
	w.out.Reset()
	w.in = &typed{[]string{endless + endless}, w.out}
	if err := w.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.interruptible = context.WithCancel
	w.in = &typed{[]string{"SELECT 2 AS two;"}, w.out}
	if err := w.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := w.out.String()
	for _, want := range []string{"0 of 2 statements ran\ncancelled while ", "│   2 │", "1 row"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if s := watched.String(); !strings.HasPrefix(s, "\r\x1b[Krunning, 1 s") || !strings.HasSuffix(s, "\r\x1b[K") {
		t.Errorf("the watcher saw %q", s)
	}
	if now := w.mem.CurrentAlloc(); now != bytes {
		t.Errorf("%d bytes are left, %d before", now, bytes)
	}
	left := goroutines()
	for tries := 0; left > before && tries < 1000; tries++ { // they may need a moment to end
		time.Sleep(10 * time.Millisecond)
		left = goroutines()
	}
	if left > before {
		t.Errorf("%d goroutines, %d before", left, before)
	}
}

// goroutines counts those that do more than to stand for a thread of DuckDB's.
func goroutines() (n int) {
	buf := make([]byte, 1<<20)
	for _, stack := range strings.Split(strings.TrimSpace(string(buf[:runtime.Stack(buf, true)])), "\n\n") {
		if _, frames, _ := strings.Cut(stack, "\n"); !strings.HasPrefix(frames, "runtime.goexit(") {
			n++
		}
	}
	return n
}

// TestShellEndsWithContext: SIGTERM at the prompt.
func TestShellEndsWithContext(t *testing.T) {
	w := newShellWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	in, _ := io.Pipe()
	w.in = &plainLines{in: bufio.NewReader(in), out: cancelling{cancel}, ready: ready}
	if err := w.loop(ctx); !errors.Is(err, errSignal) {
		t.Errorf("after the end of the context: %v", err)
	}
	in.Close()
}

// cancelling ends a context when a prompt is shown.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}
