//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"
	"sync"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/tarnerr"
)

// DB runs SQL over a catalog. Safe for concurrent use; USE is for all users of it.
type DB struct {
	cats   *catalogs
	opts   Options
	engine *engine

	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup // statements that are not closed yet
}

// Open makes a DB over cat, which stays the caller's and must outlive it.
func Open(ctx context.Context, cat catalog.Catalog, opts Options) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Unavailable, "starting DuckDB", err)
	}
	if opts.Database == "" {
		opts.Database = "default"
	}
	e, err := openEngine(opts, cat.Warehouse())
	if err != nil {
		return nil, err
	}
	return &DB{cats: newCatalogs(cat, opts.Database), opts: opts, engine: e}, nil
}

// Close ends the DB; it waits for results that are still open. Calling it again
// does nothing.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	db.mu.Unlock()
	db.open.Wait()
	db.engine.close()
	return db.cats.close()
}

// Database is the one that names without a database belong to.
func (db *DB) Database() string {
	_, database := db.cats.now()
	return database
}

// enter counts a statement as open, until leave.
func (db *DB) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return tarnerr.New(tarnerr.Closed, "running statement", "the DB is closed")
	}
	db.open.Add(1)
	return nil
}

// Query runs one statement that has rows. ctx bounds the query until its rows
// are closed.
func (db *DB) Query(ctx context.Context, sql string) (*Rows, error) {
	r, err := db.Exec(ctx, sql)
	if err != nil {
		return nil, err
	}
	if r.Rows == nil {
		return nil, tarnerr.New(tarnerr.Invalid, "running query", "a statement without rows", "statement", r.Statement).
			WithHint("It was carried out; use Exec for such statements.")
	}
	return r.Rows, nil
}

// Exec runs one statement of any kind. The caller closes the result.
func (db *DB) Exec(ctx context.Context, sql string) (*Result, error) {
	list := sqltext.Split(sql)
	if len(list) != 1 {
		return nil, tarnerr.New(tarnerr.Invalid, "running statement", "one statement was expected", "statements", len(list)).
			WithHint("Run takes several.")
	}
	return db.run(ctx, original(sql, list[0].Text, list[0].Offset))
}

// Run runs the statements of a script one after the other and hands the result
// of each to each, which may be nil; the result is closed after it. It stops at the
// first error and returns how many statements ran before it.
func (db *DB) Run(ctx context.Context, script string, each func(*Result) error) (ran int, err error) {
	for _, s := range sqltext.Split(script) {
		r, err := db.run(ctx, original(script, s.Text, s.Offset))
		if err != nil {
			return ran, err
		}
		if each != nil {
			err = each(r)
		}
		if closeErr := r.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return ran, err
		}
		ran++
	}
	return ran, nil
}

func (db *DB) run(ctx context.Context, source *edited) (*Result, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	r, err := db.dispatch(ctx, source.standard())
	if err != nil || r.Rows == nil {
		db.open.Done()
		return r, err
	}
	inner := r.Rows.close
	r.Rows.close = func() error {
		defer db.open.Done()
		return inner()
	}
	return r, nil
}
