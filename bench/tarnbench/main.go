package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/table"
)

const usage = `usage: tarnbench WORKLOAD SIZE DIR DATA [key=value ...]

WORKLOAD  data             write the rows that peers ingest to DATA as Parquet
          ingest           pk=true|false bucket=N mode=writeonly|batch|stream changelog=lookup commits=N parts=N iters=N warmup=N name=T
          scan             table=T kinds=full,two,range iters=N
          lookup           table=T q=N
          compact          tables=mor (in full, each a result)
          plan             tables=app,pk
          commit-latency   tables=app,pk q=N
          contention       threads=N commits=N
          tiny-read
SIZE      number of rows, as 200k, 1m
DIR       the warehouse; tables are in its database b
of all    threads=N durability=fsync|os cpuprofile=FILE memprofile=FILE trace=FILE
`

// workloads by name.
var workloads = map[string]func(context.Context, *job) error{
	"data": writeData, "ingest": ingest, "scan": scan, "lookup": lookup, "plan": plan,
	"commit-latency": commitLatency, "contention": contention, "tiny-read": tinyRead, "compact": compact,
}

// job is one workload with its settings.
type job struct {
	rows      int
	dir, data string
	settings  map[string]string
	threads   int
	config    tarn.Config
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tarnbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) < 4 || workloads[args[0]] == nil {
		return fmt.Errorf("bad arguments %q\n%s", args, usage)
	}
	j := &job{dir: args[2], data: args[3], settings: map[string]string{}}
	if j.rows, err = parseSize(args[1]); err != nil {
		return err
	}
	for _, a := range args[4:] {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return fmt.Errorf("argument %q is no key=value", a)
		}
		j.settings[key] = value
	}
	threads := runtime.NumCPU()
	if args[0] == "contention" { // there it is the number of committers
		j.threads = threads
	} else if j.threads, err = j.number("threads", threads); err != nil {
		return err
	}
	runtime.GOMAXPROCS(min(threads, j.threads))
	j.config.Workers = j.threads
	j.config.Components.Allocator = tarn.RecycledMemory() // batches are summed and let go of
	if j.config.Durability, err = fileio.ParseDurability(j.text("durability", "fsync")); err != nil {
		return err
	}
	stop, err := j.profile()
	if err != nil {
		return err
	}
	defer func() {
		if e := stop(); err == nil {
			err = e
		}
	}()
	return workloads[args[0]](ctx, j)
}

// limitMemory tells the garbage collector what to stay below, as GOMEMLIMIT would:
// without a limit it lets the heap grow to twice what is in use.
func limitMemory(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}

// parseSize reads a number of rows: 1000, 200k, 5m.
func parseSize(s string) (int, error) {
	digits, unit := strings.ToLower(s), 1
	for suffix, f := range map[string]int{"k": 1000, "m": 1_000_000} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = d, f
			break
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("size %q is no number of rows such as 200k or 1m", s)
	}
	return n * unit, nil
}

func (j *job) text(key, otherwise string) string {
	if v, ok := j.settings[key]; ok {
		return v
	}
	return otherwise
}

func (j *job) number(key string, otherwise int) (int, error) {
	v, ok := j.settings[key]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%s is no number", key, v)
	}
	return n, nil
}

// numbers reads several settings at once; each is set to its default before.
func (j *job) numbers(into map[string]*int) error {
	for key, to := range into {
		n, err := j.number(key, *to)
		if err != nil {
			return err
		}
		*to = n
	}
	return nil
}

func (j *job) list(key, otherwise string) []string { return strings.Split(j.text(key, otherwise), ",") }

func (j *job) open(ctx context.Context) (catalog.Catalog, error) {
	return tarn.Open(ctx, j.dir, j.config)
}

// counted has the catalogs opened from now on count what they read and write.
func (j *job) counted() *layer.Counter {
	files := layer.Count(local.New(local.Options{Durability: j.config.Durability}))
	j.config.Components.FileIO = files
	return files
}

// load opens a table of database b with a catalog of its own; close ends both.
func (j *job) load(ctx context.Context, name string) (t table.Table, end func() error, err error) {
	cat, err := j.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if t, err = cat.LoadTable(ctx, table.Identifier{Database: "b", Table: name}); err != nil {
		cat.Close()
		return nil, nil, err
	}
	return t, cat.Close, nil
}

// profile starts what cpuprofile, memprofile and trace ask for.
func (j *job) profile() (stop func() error, err error) {
	var cpu, events *os.File
	if name := j.text("trace", ""); name != "" {
		if events, err = os.Create(name); err != nil {
			return nil, err
		}
		if err := trace.Start(events); err != nil {
			return nil, err
		}
	}
	if name := j.text("cpuprofile", ""); name != "" {
		if cpu, err = os.Create(name); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, err
		}
	}
	return func() error {
		if events != nil {
			trace.Stop()
			if err := events.Close(); err != nil {
				return err
			}
		}
		if cpu != nil {
			pprof.StopCPUProfile()
			if err := cpu.Close(); err != nil {
				return err
			}
		}
		name := j.text("memprofile", "")
		if name == "" {
			return nil
		}
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return pprof.Lookup("allocs").WriteTo(f, 0)
	}, nil
}
