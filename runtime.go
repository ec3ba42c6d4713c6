package tarn

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/catalog/filesystem"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/layer"
	_ "github.com/tarnlake/tarn/fileio/local" // scheme file
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/tarnerr"
)

// DefaultMemory is the memory budget when Config.Memory is 0.
const DefaultMemory = 256 << 20

// MinMemory is the smallest memory budget: below it not even one file could be
// written or merged.
const MinMemory = 1 << 20

// Config holds the settings of the engine. The zero value is ready to use.
// Options of tables are not among them: they belong to the tables.
type Config struct {
	// Memory is the budget in bytes of all tables together: write buffers, merges
	// and planning. 0 = DefaultMemory.
	Memory int64
	// SpillDir is a directory of this machine for what does not fit Memory: rows
	// that wait to be written, sorted runs of large merges, and data files that old rows
	// are looked up in, laid out for that. Processes may share it; each removes what is its own
	// when it ends, and what those left that were killed. Without it rows that do not
	// fit become data files early, more and smaller ones.
	SpillDir string
	// Workers is how much is done side by side; 0 = the number of CPUs.
	Workers int
	// Durability is when a local commit counts as done; fileio.Fsync when left out.
	Durability fileio.Durability
	// History says how long records of commits are kept.
	History History
	// Components replace components of the engine.
	Components Components
}

// History bounds the records of commits that are kept beside each table and shown
// by its system table $commits. Those of commits whose outcome is not known stay
// until they are resolved.
type History struct {
	Commits int           // at most so many; 0 = 1000
	Age     time.Duration // and none older than this; 0 = seven days
}

// Components are components of the engine that a program may bring along. Each may be nil.
type Components struct {
	// FileIO is used for every URI, with the path of the URI; else the URI's
	// scheme decides.
	FileIO fileio.FileIO
	// Listener is told what the engine does.
	Listener *event.Listener
	// Logger gets what a listener hears as log lines.
	Logger *slog.Logger
	// Lock is taken for each publish, on every storage. Java's writers of the same
	// tables must take the same one.
	Lock table.Lock
	// Allocator makes the memory of Arrow batches; Go memory when nil.
	Allocator memory.Allocator
	// Env is the clock and the source of chance, for tests of this module.
	Env env.Env
}

// Runtime is what all catalogs and tables of a process share: the memory
// budget, the workers, listeners and storage settings. Safe for concurrent use.
type Runtime struct {
	cfg    Config
	events *event.Listener
	memory *budget.Budget
	// writers are all writers under memory; temporary is where they spill, nil when nowhere.
	writers   *write.Pool
	temporary *spill.Store
	// lookups are local files for look-ups; nil when there is no place for them.
	lookups *lookup.Store
	// metadata keeps manifests, which every plan and commit reads again. Its share
	// of Config.Memory is not part of the budget that others reserve from.
	metadata *layer.Store
	commits  *commit.Groups
	formats  *formats.Set
	closed   atomic.Bool
}

// NewRuntime checks cfg and makes a runtime of it.
func NewRuntime(cfg Config) (*Runtime, error) {
	const op = "starting runtime"
	if cfg.Memory == 0 {
		cfg.Memory = DefaultMemory
	}
	if cfg.Memory < MinMemory {
		return nil, tarnerr.New(tarnerr.Invalid, op, "memory budget too small", "bytes", cfg.Memory, "least", MinMemory).
			WithHint("Raise Config.Memory, or leave it 0 for %d MiB.", DefaultMemory>>20)
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Workers < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative number of workers", "workers", cfg.Workers).
			WithHint("Set Config.Workers to 1 or more, or leave it 0 for one per CPU.")
	}
	if cfg.History.Commits < 0 || cfg.History.Age < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "negative history of commits", "commits", cfg.History.Commits, "age", cfg.History.Age).
			WithHint("Set Config.History to what is to be kept, or leave it out for 1000 commits of seven days.")
	}
	if cfg.Durability > fileio.OS {
		return nil, tarnerr.New(tarnerr.Invalid, op, "unknown durability", "value", uint8(cfg.Durability)).
			WithHint("Use fileio.Fsync or fileio.OS.")
	}
	c := &cfg.Components
	if c.Allocator == nil {
		c.Allocator = memory.DefaultAllocator
	}
	if c.Env == nil {
		c.Env = env.Real()
	}
	share := min(cfg.Memory/16, 32<<20)
	rt := &Runtime{cfg: cfg, events: c.Listener, memory: budget.New(cfg.Memory - share), metadata: layer.NewStore(share), commits: commit.NewGroups(), formats: formats.NewSet()}
	rt.writers = write.NewPool(rt.memory, cfg.Workers)
	if cfg.SpillDir != "" {
		rt.temporary = spill.OpenStore(cfg.SpillDir, c.Env)
		rt.lookups = lookup.NewStore(rt.temporary, rt.memory, c.Env)
	}
	if c.Logger != nil {
		rt.events = event.Tee(c.Listener, event.Slog(c.Logger))
		if c.Listener == nil || c.Listener.StorageCall == nil {
			// A log line per storage call is worth its cost only to those who ask for it.
			if !c.Logger.Enabled(context.Background(), slog.LevelDebug) {
				rt.events.StorageCall = nil
			}
		}
	}
	return rt, nil
}

// Open opens the catalog that uri names: a directory of this machine, as a bare
// path or file:// URI, or a URI of a storage scheme that is imported. Nothing is
// read yet.
func (rt *Runtime) Open(ctx context.Context, uri string) (catalog.Catalog, error) {
	const op = "opening catalog"
	if rt.closed.Load() {
		return nil, tarnerr.New(tarnerr.Closed, op, "the runtime is closed", "uri", uri)
	}
	if scheme := fileio.Scheme(uri); isCatalogScheme(scheme) {
		return nil, tarnerr.New(tarnerr.Unsupported, op, "no catalog for scheme "+scheme, "uri", uri).
			WithHint("Give the path or URI of a warehouse directory.")
	}
	fio, dir, err := rt.storage(ctx, uri)
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	fio = layer.Observe(fio, rt.events, rt.cfg.Components.Env)
	cached := layer.Cache(fio, rt.metadata, paimon.Immutable)
	return filesystem.New(dir, paimon.Components{
		FileIO:  cached,
		Env:     rt.cfg.Components.Env,
		Alloc:   rt.cfg.Components.Allocator,
		Budget:  rt.memory,
		Pool:    rt.writers,
		Spill:   rt.temporary,
		Lookups: rt.lookups,
		Events:  rt.events,
		Workers: rt.cfg.Workers,
		Formats: rt.formats,
		Groups:  rt.commits,
		Commits: rt.commitsOf(cached),
		Keep:    commitlog.Keep{Count: rt.cfg.History.Commits, AgeMillis: rt.cfg.History.Age.Milliseconds()},
	})
}

// commitsOf is how commits of tables in fio are published; nil = by fio itself.
func (rt *Runtime) commitsOf(fio fileio.FileIO) func(table.Identifier, layout.Table) paimon.Commits {
	lock := rt.cfg.Components.Lock
	if lock == nil {
		return nil
	}
	return func(name table.Identifier, place layout.Table) paimon.Commits {
		return paimon.Commits{Publisher: commit.NewLockedPublisher(fio, place, lock, name.Database, name.Table)}
	}
}

func (rt *Runtime) storage(ctx context.Context, uri string) (fileio.FileIO, string, error) {
	if fio := rt.cfg.Components.FileIO; fio != nil {
		dir, err := fileio.LocalPath(uri)
		return fio, dir, err
	}
	return fileio.OpenURI(ctx, uri, fileio.Settings{Durability: rt.cfg.Durability, Env: rt.cfg.Components.Env})
}

// isCatalogScheme reports the schemes of design that name a catalog service
// rather than a storage.
func isCatalogScheme(scheme string) bool {
	for _, prefix := range []string{"rest", "jdbc", "iceberg", "hive"} {
		if scheme == prefix || strings.HasPrefix(scheme, prefix+"+") {
			return true
		}
	}
	return scheme == "http" || scheme == "https"
}

// MemoryUse tells how much of the memory budget is taken.
type MemoryUse struct {
	Limit, Used, Peak int64 // bytes
}

// Memory returns the present use of the memory budget.
func (rt *Runtime) Memory() MemoryUse {
	kept := rt.metadata.Bytes()
	return MemoryUse{Limit: rt.cfg.Memory, Used: rt.memory.Used() + kept, Peak: rt.memory.Peak() + kept}
}

// Close ends the runtime: no catalog can be opened with it any more. It fails
// when readers or writers are still open.
func (rt *Runtime) Close() error {
	if rt.closed.Swap(true) {
		return nil
	}
	rt.commits.Close()
	if rt.temporary != nil {
		rt.lookups.Close()
		if err := rt.temporary.Close(); err != nil {
			return tarnerr.Trace("closing runtime", err)
		}
	}
	if used := rt.memory.Used(); used != 0 {
		return tarnerr.New(tarnerr.Invalid, "closing runtime", "readers or writers are still open", "bytes", used).
			WithHint("Close every reader and write before the runtime.")
	}
	return nil
}

// Open opens the catalog that uri names with a runtime of its own, which ends
// when the catalog is closed.
func Open(ctx context.Context, uri string, cfg Config) (catalog.Catalog, error) {
	rt, err := NewRuntime(cfg)
	if err != nil {
		return nil, err
	}
	cat, err := rt.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return &owning{cat, rt}, nil
}

// owning is a catalog that ends its runtime.
type owning struct {
	catalog.Catalog
	rt *Runtime
}

func (o *owning) Close() error {
	err := o.Catalog.Close()
	if rtErr := o.rt.Close(); err == nil {
		err = rtErr
	}
	return err
}
