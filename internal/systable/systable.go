package systable

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/advice"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Config is the table whose metadata is read.
type Config struct {
	plan.Config
	Mem memory.Allocator
	// Zone is the zone that commit times are shown in; nil is the machine's.
	Zone *time.Location
	// Advise judges the table, for $advice; nil = nobody does. What it returns beside an
	// error counts.
	Advise func(context.Context) ([]advice.Advice, error)
}

// Request says what to return of a system table.
type Request struct {
	Columns    []string    // in this order; nil = all
	Where      *expr.Bound // bound to Fields; exact
	Limit      int64       // 0 = no limit
	SnapshotID int64       // for tables that describe one snapshot; 0 = latest
}

// reads says whether one of the columns is returned or tested.
func (r Request) reads(columns ...string) bool {
	tested := r.Where.Columns()
	return slices.ContainsFunc(columns, func(c string) bool {
		return r.Columns == nil || slices.Contains(r.Columns, c) || slices.Contains(tested, c)
	})
}

// row is the values of one row in the order of the fields.
type row []types.Value

// A source makes the rows of one system table.
type source struct {
	fields []types.Field
	rows   func(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error]
}

var (
	text      = types.Type{Root: types.VarChar, Length: types.MaxLength}
	bigint    = types.Type{Root: types.BigInt}
	integer   = types.Type{Root: types.Int}
	timestamp = types.Type{Root: types.Timestamp, Precision: 3}
)

// fieldsOf numbers the columns of a system table.
func fieldsOf(columns ...types.Field) []types.Field {
	for i := range columns {
		columns[i].ID = i
	}
	return columns
}

func column(name string, t types.Type) types.Field   { return types.Field{Name: name, Type: t} }
func nullable(name string, t types.Type) types.Field { return column(name, t.WithNull(true)) }

// sources holds all system tables; it is never changed.
var sources = map[string]source{
	"snapshots":  {snapshotFields, snapshotRows},
	"schemas":    {schemaFields, schemaRows},
	"options":    {optionFields, optionRows},
	"files":      {fileFields, fileRows},
	"manifests":  {manifestFields, manifestRows},
	"partitions": {partitionFields, partitionRows},
	"buckets":    {bucketFields, bucketRows},
	"statistics": {statisticFields, statisticRows},
	"commits":    {commitFields, commitRows},
	"consumers":  {consumerFields, consumerRows},
	"advice":     {adviceFields, adviceRows},
}

// Names lists the system tables, sorted.
func Names() []string {
	var out []string
	for n := range sources {
		out = append(out, n)
	}
	out = append(out, RowTracking)
	slices.Sort(out)
	return out
}

// RowTracking is the system table that shows a table's rows with their ids. It is read
// as the table is, and not by this package.
const RowTracking = "row_tracking"

// known lists the system tables of Java Paimon that this version does not have.
var known = []string{
	"aggregation_fields", "all_table_options", "audit_log", "binlog", "branches", "catalog_options",
	"file_key_ranges", "ro", "table_indexes", "tags",
}

func find(name string) (source, error) {
	if s, ok := sources[name]; ok {
		return s, nil
	}
	if slices.Contains(known, name) {
		return source{}, tarnerr.New(tarnerr.Unsupported, "opening system table", "this system table", "name", "$"+name).
			WithHint("There are $%v.", Names())
	}
	return source{}, tarnerr.New(tarnerr.NotFound, "opening system table", "no such system table", "name", "$"+name).
		WithHint("There are %v.", Names())
}

// Fields are the columns of a system table. Unsupported for one of Java's that
// this version does not have, NotFound for other names.
func Fields(name string) ([]types.Field, error) {
	s, err := find(name)
	return s.fields, err
}

// Open reads a system table.
func Open(ctx context.Context, cfg Config, name string, req Request) (batch.Reader, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, &cfg, s, req)
}

// snapshotOf is the snapshot asked for, nil when the table has none.
func snapshotOf(ctx context.Context, cfg *Config, req Request) (*snapshot.Snapshot, error) {
	if req.SnapshotID != 0 {
		return cfg.Snapshots.Get(ctx, req.SnapshotID)
	}
	return cfg.Snapshots.Latest(ctx)
}

// wallClock is an instant as the clock on the wall of the zone shows it.
func (c *Config) wallClock(millis int64) types.Value {
	zone := c.Zone
	if zone == nil {
		zone = time.Local
	}
	_, offset := time.UnixMilli(millis).In(zone).Zone()
	return types.Instant{Millis: millis + int64(offset)*1000}
}

// optional is *v, or null.
func optional[T any](v *T) types.Value {
	if v == nil {
		return nil
	}
	return *v
}
