//go:build !cgo || tarn_nosql

package tarnsql

import (
	"context"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/tarnerr"
)

// DB runs SQL over a catalog; this build has none.
type DB struct{}

// Open makes a DB over cat. This build was made without SQL and says so.
func Open(ctx context.Context, cat catalog.Catalog, opts Options) (*DB, error) {
	return nil, missing()
}

func missing() error {
	return tarnerr.New(tarnerr.Unsupported, "starting DuckDB", "SQL in a build without cgo").
		WithHint("Build with CGO_ENABLED=1 and without the tag tarn_nosql.")
}

// Close does nothing.
func (*DB) Close() error { return nil }

// Database is empty.
func (*DB) Database() string { return "" }

// Progress is zero.
func (*DB) Progress() Progress { return Progress{} }

// Query refuses.
func (db *DB) Query(ctx context.Context, sql string) (*Rows, error) { return nil, missing() }

// Exec refuses.
func (db *DB) Exec(ctx context.Context, sql string) (*Result, error) { return nil, missing() }

// Run refuses.
func (db *DB) Run(ctx context.Context, script string, each func(*Result) error) (ran int, err error) {
	return 0, missing()
}
