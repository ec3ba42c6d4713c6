package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/bench/rows"
)

// output runs the program and gives what it printed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	err = run(context.Background(), args)
	os.Stdout = stdout
	w.Close()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWorkloads lets each workload run once over few rows and looks at what it found.
func TestWorkloads(t *testing.T) {
	dir := t.TempDir()
	there, hits, near := map[int64]bool{}, 0, 0
	for i := range uint64(1000) {
		there[int64(rows.Pick(i, 0, 400))] = true
	}
	for i := range 40 {
		if there[rows.Key(i, 400)] {
			hits++
		}
	}
	for key := range there {
		if key >= 360 && key < 369 {
			near++
		}
	}
	for _, c := range []struct {
		args string
		want string // a pattern
	}{
		{"ingest 1k DIR DATA mode=writeonly iters=1 durability=os", `"metric":"ingest","variant":"cold","rows":1000,.*"durability":"os"`},
		{"scan 900 DIR DATA table=ingest0 iters=1 threads=2", fmt.Sprintf(
			`(?s)"full",.*"check":{"n":%d,.*"two",.*"check":{"n":%[1]d,"id":\d+,"amt":\d+}.*"range",.*"check":{"n":%d,`, len(there), near)},
		{"lookup 400 DIR DATA table=ingest0 q=40", fmt.Sprintf(`(?s)"cold","rows":40,.*"check":{"n":%d,.*"warm","rows":40,`, hits)},
		{"ingest 1k DIR DATA mode=stream iters=1 name=s", `"metric":"ingest","variant":"cold","rows":1000,`},
		{"ingest 1k DIR DATA mode=stream changelog=lookup iters=1 name=l", `"metric":"ingest","variant":"cold","rows":1000,`},
		{"ingest 1k DIR DATA mode=batch iters=1 name=c parts=2", `"metric":"ingest","variant":"cold","rows":1000,`},
		{"compact 1k DIR DATA tables=s0,ingest0", `(?s)"compact","variant":"cold","rows":1000,.*"compact","variant":"warm",.*"buckets":2,`},
		{"ingest 1k DIR DATA pk=false iters=1 name=a parts=2", `"rows":1000`},
		{"plan 100 DIR DATA tables=a0", `(?s)"plan-full-a0",.*"files":20}.*"plan-part-a0",.*"files":10}`},
		{"commit-latency 100 DIR DATA tables=a0 q=2", `(?s)"write-a0","variant":"all","rows":2.*"commit-a0",.*INFO storage calls of 10 commits a0 100: total=1[0-9]0 `},
		{"contention 1 DIR DATA threads=2 commits=3", `"2x3","rows":6,.*"failures":0,.*"snapshots":6,`},
	} {
		args := strings.Fields(strings.NewReplacer("DIR", dir, "DATA", filepath.Join(dir, "data")).Replace(c.args))
		if got := output(t, args...); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s printed\n%s, want %s", c.args, got, c.want)
		}
	}
}

func TestDataForPeers(t *testing.T) {
	dir := t.TempDir()
	output(t, "data", "100", dir, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) != 16 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"nothing 1k DIR DATA", "compact 1k DIR DATA", "ingest 1k DIR DATA mode=other",
		"scan 1x DIR DATA", "scan 1k DIR DATA threads=x", "scan 1k DIR DATA loose", "scan 1k",
	} {
		if run(context.Background(), strings.Fields(strings.ReplaceAll(args, "DIR", dir))) == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
