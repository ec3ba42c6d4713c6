//go:build cgo && unix && !tarn_nosql

package tarnsql_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/bench/rows"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnsql"
)

// aggregates are queries over the columns of package bench/rows; T is the table.
var aggregates = []struct{ name, sql string }{
	{"count", "SELECT count(*) FROM T"},
	{"sum", "SELECT sum(amount) FROM T"},
	{"group", "SELECT status, count(*), sum(qty) FROM T GROUP BY status"},
	{"filter", "SELECT count(*), sum(amount), round(avg(price), 6), max(ts) FROM T WHERE qty < 900"},
	{"group-filter", "SELECT status, count(*), sum(amount), round(avg(price), 6), max(ts) FROM T WHERE qty < 900 GROUP BY status"},
	{"select-few", "SELECT count(*), sum(amount), min(note) FROM T WHERE qty = 7"},
	{"text", "SELECT min(note), max(note), min(status), max(status) FROM T"},
	{"wide", "SELECT count(id), sum(seq), max(status), sum(amount), sum(qty), count(price), max(note), max(ts), max(d), count_if(flag) FROM T"},
}

// BenchmarkAggregates runs aggregates over a table whose files need no merge,
// and DuckDB's read_parquet over the same files, one after the other in turn.
// It reports the fastest run of each, Tarn's planning apart from its run.
//
// TARN_BENCH_ROWS is how many rows the table has (1000000); TARN_BENCH_TABLE names
// one that is there, compacted, as WAREHOUSE:db.table.
func BenchmarkAggregates(b *testing.B) {
	ctx := context.Background()
	warehouse, name := b.TempDir(), "default.t"
	if there := os.Getenv("TARN_BENCH_TABLE"); there != "" {
		warehouse, name, _ = strings.Cut(there, ":")
	}
	cat, err := tarn.Open(ctx, warehouse, tarn.Config{Durability: fileio.OS})
	if err != nil {
		b.Fatal(err)
	}
	defer cat.Close()
	if name == "default.t" {
		writeBenchTable(b, cat)
	}
	db, err := tarnsql.Open(ctx, cat, tarnsql.Options{TempDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	files, err := text(db, "SELECT file_path FROM "+name+"$files")
	if err != nil {
		b.Fatal(err)
	}
	duck := openDuck(b, runtime.GOMAXPROCS(0))
	parquet := "read_parquet(['" + strings.Join(strings.Fields(files), "', '") + "'])"
	for _, q := range aggregates {
		ours, theirs := strings.ReplaceAll(q.sql, "FROM T", "FROM "+name), strings.ReplaceAll(q.sql, "FROM T", "FROM "+parquet)
		b.Run(q.name, func(b *testing.B) {
			const same = "SELECT string_agg(q::VARCHAR, ';' ORDER BY q::VARCHAR) FROM ("
			got, err := text(db, same+ours+") q")
			if err != nil {
				b.Fatal(err)
			}
			if want := duck.run(b, same+theirs+") q"); strings.Trim(got, "\"\n") != want {
				b.Fatalf("%s: %s\nread_parquet: %s", q.sql, got, want)
			}
			var tarn, duckdb least
			plan := time.Hour
			for b.Loop() {
				tarn.measure(func() (planning time.Duration) {
					r, err := db.Query(ctx, ours)
					if err != nil {
						b.Fatal(err)
					}
					if _, err = drain(ctx, r, r.Fields()); err != nil {
						b.Fatal(err)
					}
					r.Close()
					plan = min(plan, r.Planning())
					return r.Planning()
				})
				duckdb.measure(func() time.Duration {
					duck.run(b, theirs)
					return 0
				})
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(tarn.wall), "tarn-ms")
			b.ReportMetric(ms(plan), "plan-ms")
			b.ReportMetric(ms(duckdb.wall), "duckdb-ms")
			b.ReportMetric(ms(tarn.cpu), "tarn-cpu-ms")
			b.ReportMetric(ms(duckdb.cpu), "duckdb-cpu-ms")
			b.ReportMetric(float64(duckdb.wall)/float64(tarn.wall), "x-duckdb")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// least keeps the shortest times.
type least struct {
	wall, cpu time.Duration
	some      bool
}

// measure runs f, whose result is time that does not count.
func (l *least) measure(f func() time.Duration) {
	cpu, start := processCPU(), time.Now()
	apart := f()
	wall, cpu := time.Since(start)-apart, processCPU()-cpu
	if !l.some || wall < l.wall {
		l.wall = wall
	}
	if !l.some || cpu < l.cpu {
		l.cpu = cpu
	}
	l.some = true
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeBenchTable makes default.t, an append table.
func writeBenchTable(b *testing.B, cat catalog.Catalog) {
	b.Helper()
	ctx := context.Background()
	n := 1_000_000
	if s := os.Getenv("TARN_BENCH_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := cat.CreateDatabase(ctx, "default", true); err != nil {
		b.Fatal(err)
	}
	id := table.Identifier{Database: "default", Table: "t"}
	if err := cat.CreateTable(ctx, id, schema.Spec{Fields: rows.Fields(false)}, false); err != nil {
		b.Fatal(err)
	}
	t, err := cat.LoadTable(ctx, id)
	if err != nil {
		b.Fatal(err)
	}
	w, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	const some = 100_000
	for from := 0; from < n; from += some {
		batches, err := rows.Make(memory.DefaultAllocator, rows.Spec{From: uint64(from), N: min(some, n-from)})
		if err != nil {
			b.Fatal(err)
		}
		for _, rec := range batches {
			if err := w.Write(ctx, rec); err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
	}
	if _, err := w.Commit(ctx); err != nil {
		b.Fatal(err)
	}
}

// duck is a DuckDB of its own, with the threads and the memory that Tarn's has,
// which may open files.
type duck struct {
	database mapping.Database
	conn     mapping.Connection
}

func openDuck(b *testing.B, threads int) *duck {
	b.Helper()
	d := &duck{}
	var cfg mapping.Config
	if mapping.CreateConfig(&cfg) == mapping.StateError {
		b.Fatal("no configuration")
	}
	defer mapping.DestroyConfig(&cfg)
	mapping.SetConfig(cfg, "threads", strconv.Itoa(threads))
	mapping.SetConfig(cfg, "memory_limit", strconv.Itoa(tarnsql.DefaultMemory)+"B")
	var cause string
	if mapping.OpenExt("", &d.database, cfg, &cause) == mapping.StateError {
		b.Fatal(cause)
	}
	b.Cleanup(func() {
		mapping.Disconnect(&d.conn)
		mapping.Close(&d.database)
	})
	if mapping.Connect(d.database, &d.conn) == mapping.StateError {
		b.Fatal("no connection")
	}
	return d
}

// run runs a query and gives its first value when that is a text.
func (d *duck) run(b *testing.B, sql string) string {
	b.Helper()
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(d.conn, sql, &res) == mapping.StateError {
		b.Fatal(mapping.ResultError(&res))
	}
	chunk := mapping.FetchChunk(res)
	defer mapping.DestroyDataChunk(&chunk)
	vec := mapping.DataChunkGetVector(chunk, 0)
	t := mapping.VectorGetColumnType(vec)
	defer mapping.DestroyLogicalType(&t)
	if mapping.GetTypeId(t) != mapping.TypeVarchar {
		return ""
	}
	s := mapping.VectorGetData(vec)
	n := *(*uint32)(s)
	if n <= 12 {
		return strings.Clone(unsafe.String((*byte)(unsafe.Add(s, 4)), n))
	}
	return strings.Clone(unsafe.String(*(**byte)(unsafe.Add(s, 8)), n))
}
