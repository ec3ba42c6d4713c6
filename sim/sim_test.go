package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	oneSeed   = flag.Uint64("seed", 0, "run the simulation of this seed alone")
	seeds     = flag.Int("seeds", 0, "run so many seeds, from 1 on")
	first     = flag.Uint64("first", 1, "begin with this one of them")
	cores     = flag.Int("cores", runtime.GOMAXPROCS(0), "run so many seeds at a time")
	failures  = flag.Uint64("failures", 3, "stop after so many runs have failed")
	traceFile = flag.String("trace", "", "repeat the run whose trace is in this file")
	traceDir  = flag.String("traces", os.TempDir(), "write traces of failed runs into this directory")
)

// fail reports a failed run and writes its trace.
func fail(t *testing.T, r *Result) {
	t.Helper()
	file := filepath.Join(*traceDir, fmt.Sprintf("tarn-sim-%d.trace", r.Seed))
	if err := os.WriteFile(file, r.Trace(), 0o644); err != nil {
		t.Error(err)
	}
	t.Errorf("%v\n%s\nTrace: %s\nAgain: go test ./sim -run 'TestReplay$' -args -trace %s", r, strings.Join(r.Violations, "\n"), file, file)
}

// TestSeeds runs many seeds, on all cores.
func TestSeeds(t *testing.T) {
	if *oneSeed != 0 {
		r := Run(t, *oneSeed, nil)
		t.Logf("%s%v", r.Trace(), r)
		if len(r.Violations) > 0 {
			fail(t, r)
		}
		return
	}
	n := uint64(10_000)
	if !full || testing.Short() {
		n = 300
	}
	if *seeds > 0 {
		n = uint64(*seeds)
	}
	var next, failed atomic.Uint64
	for i := range *cores {
		t.Run(fmt.Sprint("core ", i), func(t *testing.T) {
			t.Parallel()
			for failed.Load() < *failures {
				k := next.Add(1)
				if k > n {
					return
				}
				seed := (*first+k-2)%n + 1
				r := Run(t, seed, nil)
				if len(r.Violations) > 0 {
					failed.Add(1)
					fail(t, r)
				}
				if r.Writers < 3 || r.Operations < minOperations || r.Faults < 1 {
					t.Errorf("%v: %d writers and %d operations; want 3 writers, 10 operations and a fault at least", r, r.Writers, r.Operations)
				}
			}
		})
	}
}

// TestDeterminism: the same seed gives the same run.
func TestDeterminism(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		first := Run(t, seed, nil)
		for range 3 {
			if again := Run(t, seed, nil); !bytes.Equal(first.Trace(), again.Trace()) {
				t.Fatalf("seed %d: the traces differ:\n%s", seed, firstDifference(first.Trace(), again.Trace()))
			}
		}
	}
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i+1, strings.Join(x[max(0, i-5):i+1], "\n"), y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}

// TestReplay repeats a run from its trace; without -trace, some runs.
func TestReplay(t *testing.T) {
	if *traceFile != "" {
		data, err := os.ReadFile(*traceFile)
		if err != nil {
			t.Fatal(err)
		}
		replay(t, data)
		return
	}
	for seed := uint64(1); seed <= 10; seed++ {
		replay(t, Run(t, seed, nil).Trace())
	}
}

func replay(t *testing.T, data []byte) {
	t.Helper()
	seed, given, err := parseTrace(data)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(t, seed, given)
	if len(r.Violations) > 0 {
		t.Errorf("%v\n%s\n%s", r, r.Trace(), strings.Join(r.Violations, "\n"))
	}
	if !bytes.Equal(r.Trace(), data) {
		t.Errorf("seed %d: the run differs from its trace, %d decisions no longer fit; %s", seed, r.Stray, firstDifference(data, r.Trace()))
	}
}

func TestTraceThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "seed x\n", "choices 00\n", "seed 1\nchoices 0\n", "seed 1\nchoices ffff\n"} {
		if _, _, err := parseTrace([]byte(text)); err == nil {
			t.Errorf("%q is taken for a trace", text)
		}
	}
}

// TestMain lets garbage grow: runs are short and small.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
