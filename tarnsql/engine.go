//go:build cgo && !tarn_nosql

package tarnsql

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// engine is one DuckDB in memory, with our table function in it.
type engine struct {
	database mapping.Database
	mem      memory.Allocator
	threads  int
	temp     string
	zone     string
	env      env.Env
	plain    *plainFiles
	parsers  chan *question // that have nothing to do

	mu     sync.Mutex
	scans  map[int64]*scan // those that a running statement refers to
	lastID int64
}

// openEngine starts DuckDB for tables below a warehouse.
func openEngine(opts Options, warehouse string) (*engine, error) {
	const op = "starting DuckDB"
	if opts.Memory == 0 {
		opts.Memory = DefaultMemory
	}
	if opts.Threads == 0 {
		opts.Threads = runtime.GOMAXPROCS(0)
	}
	if opts.Allocator == nil {
		opts.Allocator = memory.DefaultAllocator
	}
	if opts.TimeZone == "" {
		opts.TimeZone = "UTC"
	}
	if opts.Memory < 0 || opts.Threads < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative memory or threads", "memory", opts.Memory, "threads", opts.Threads)
	}
	temp, err := os.MkdirTemp(opts.TempDir, "tarn-sql-")
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Denied, op, err).WithHint("Name a directory for temporary files that can be written.")
	}
	e := &engine{mem: opts.Allocator, threads: opts.Threads, temp: temp, zone: opts.TimeZone, env: env.Real(), scans: map[int64]*scan{}, parsers: make(chan *question, opts.Threads)}
	if err := e.start(opts, warehouse); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *engine) start(opts Options, warehouse string) error {
	const op = "starting DuckDB"
	var cfg mapping.Config
	if mapping.CreateConfig(&cfg) == mapping.StateError {
		return tarnerr.New(tarnerr.Internal, op, "no configuration")
	}
	defer mapping.DestroyConfig(&cfg)
	for _, kv := range [][2]string{
		{"threads", strconv.Itoa(e.threads)},
		{"memory_limit", strconv.FormatInt(opts.Memory, 10) + "B"},
		{"temp_directory", e.temp},
		{"errors_as_json", "true"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
	} {
		if mapping.SetConfig(cfg, kv[0], kv[1]) == mapping.StateError {
			return tarnerr.New(tarnerr.Internal, op, "setting refused", "setting", kv[0], "value", kv[1])
		}
	}
	var cause string
	if mapping.OpenExt("", &e.database, cfg, &cause) == mapping.StateError {
		return tarnerr.New(tarnerr.Invalid, op, cause)
	}
	conn, err := e.connect()
	if err != nil {
		return err
	}
	defer mapping.Disconnect(&conn)
	plain, settings := openPlain(warehouse, opts.Memory, e.threads)
	e.plain = plain
	for _, s := range append(settings, "SET GLOBAL TimeZone = "+quoteText(opts.TimeZone), "SET GLOBAL lock_configuration = true") {
		if err := execute(conn, s); err != nil {
			return tarnerr.Trace(op, err)
		}
	}
	return registerScan(conn, e)
}

// connect opens a connection; each statement has one of its own.
func (e *engine) connect() (mapping.Connection, error) {
	var conn mapping.Connection
	if mapping.Connect(e.database, &conn) == mapping.StateError {
		return conn, tarnerr.New(tarnerr.Internal, "connecting to DuckDB", "refused")
	}
	return conn, nil
}

func (e *engine) close() {
	for len(e.parsers) > 0 {
		(<-e.parsers).close()
	}
	mapping.Close(&e.database)
	os.RemoveAll(e.temp)
}

// execute runs a statement whose rows nobody wants.
func execute(conn mapping.Connection, statement string) error {
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.Query(conn, statement, &res) == mapping.StateError {
		return parseFailure(mapping.ResultError(&res)).error("running statement", nil)
	}
	return nil
}

// add makes s known to the table function and returns its number.
func (e *engine) add(s *scan) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastID++
	e.scans[e.lastID] = s
	return e.lastID
}

func (e *engine) find(id int64) *scan {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.scans[id]
}

func (e *engine) remove(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.scans, id)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
