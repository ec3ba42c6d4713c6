package paimon

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// compaction is one call of Compact.
type compaction struct {
	table      *Table // under the dynamic options of the call
	opts       table.CompactOptions
	user       string
	identifier int64 // of the next commit
	committer  *commit.Committer
	manifests  *manifest.Store
	partitions *layout.Partitioner
	where      *expr.Bound // over partition columns
	pace       *compact.Pace
	report     table.CompactReport
	changed    map[place]bool

	mu       sync.Mutex
	progress table.CompactProgress
	writing  int64 // bytes written by jobs that are not done
}

// rounds is how often buckets are tried whose compaction did not fit what others
// did meanwhile.
const rounds = 3

// Compact implements table.Table.
func (t *Table) Compact(ctx context.Context, opts table.CompactOptions) (*table.CompactReport, error) {
	c, err := t.newCompaction(ctx, opts)
	if err != nil {
		return nil, trace("compacting table", err, t.name)
	}
	begun := t.components.Env.Now()
	err = c.run(ctx)
	c.report.Elapsed = t.components.Env.Now().Sub(begun)
	return &c.report, trace("compacting table", err, t.name)
}

func (t *Table) newCompaction(ctx context.Context, opts table.CompactOptions) (*compaction, error) {
	const op = "preparing compaction"
	if opts.BytesPerSecond < 0 || opts.CommitBytes < 0 || opts.Identifier < 0 || opts.Identifier == table.BatchIdentifier {
		return nil, tarnerr.New(tarnerr.Invalid, op, "a number is out of range",
			"bytes per second", opts.BytesPerSecond, "commit bytes", opts.CommitBytes, "identifier", opts.Identifier)
	}
	if opts.Identifier != 0 && opts.User == "" {
		return nil, tarnerr.New(tarnerr.Invalid, op, "an identifier without a user", "identifier", opts.Identifier).
			WithHint("Name the user of the stream of commits.")
	}
	dynamic := map[string]string{"write-only": "false"}
	maps.Copy(dynamic, opts.Options)
	u, err := t.with(dynamic)
	if err != nil {
		return nil, err
	}
	if u.schema.HasPrimaryKey() && u.options.NumLevels < 2 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "a tree has two levels at least", "num-levels", u.options.NumLevels)
	}
	c := &compaction{table: u, opts: opts, user: opts.User, identifier: opts.Identifier, report: table.CompactReport{Snapshots: []int64{}}, changed: map[place]bool{}}
	if c.committer, err = u.committer(); err != nil {
		return nil, err
	}
	if err := c.committer.Prove(ctx); err != nil {
		return nil, err
	}
	if c.manifests, err = u.reading(); err != nil {
		return nil, err
	}
	c.partitions = layout.NewPartitioner(u.schema.Select(u.schema.PartitionKeys), u.options.PartitionDefault, u.options.PartitionLegacyName)
	if err := c.bindPartitions(); err != nil {
		return nil, err
	}
	if opts.BytesPerSecond > 0 {
		c.pace = compact.NewPace(t.components.Env, opts.BytesPerSecond)
	}
	if c.identifier == 0 {
		c.identifier = 1
		if c.user != "" {
			last, ok, err := c.committer.LastCommitted(ctx, c.user)
			if err != nil {
				return nil, err
			}
			if ok && last == table.BatchIdentifier {
				return nil, tarnerr.New(tarnerr.Invalid, op, "the user has made batch commits, which are not numbered", "user", c.user).
					WithHint("Name another user, or none.")
			}
			if ok {
				c.identifier = last + 1
			}
		}
	}
	if c.user == "" {
		c.user = u.drawUser()
	}
	c.report.User = c.user
	return c, nil
}

// bindPartitions makes one predicate of the partitions and the filter given.
func (c *compaction) bindPartitions() error {
	const op = "choosing partitions"
	s := c.table.schema
	where := expr.And{}
	if c.opts.Where != nil {
		where = append(where, c.opts.Where)
	}
	if c.opts.Partitions != nil {
		var any expr.Or
		for _, spec := range c.opts.Partitions {
			e, err := c.partitionIs(spec)
			if err != nil {
				return tarnerr.Trace(op, err)
			}
			any = append(any, e)
		}
		where = append(where, any)
	}
	if len(where) == 0 {
		return nil
	}
	var err error
	if c.where, err = expr.Bind(where, s.Fields); err != nil {
		return tarnerr.Trace(op, err)
	}
	for _, column := range c.where.Columns() {
		if !slices.Contains(s.PartitionKeys, column) {
			return tarnerr.New(tarnerr.Invalid, op, "no such partition column", "column", column, "columns", s.PartitionKeys).
				WithHint("Files are compacted by partition and bucket: name partition columns only.")
		}
	}
	return nil
}

// partitionIs is the predicate that a partition has the values given.
func (c *compaction) partitionIs(spec map[string]string) (expr.Expr, error) {
	fields := c.partitions.Fields()
	all := expr.And{}
	for _, column := range slices.Sorted(maps.Keys(spec)) {
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == column })
		if i < 0 {
			return nil, tarnerr.New(tarnerr.Invalid, "reading partition", "no such partition column", "column", column, "columns", c.table.schema.PartitionKeys).
				WithHint("Name partition columns only.")
		}
		one := layout.NewPartitioner(fields[i:i+1], c.table.options.PartitionDefault, c.table.options.PartitionLegacyName)
		row, err := one.Row([]layout.PartitionField{{Name: column, Value: spec[column]}})
		if err != nil {
			return nil, err
		}
		v, err := row.Value(0, fields[i].Type)
		if err != nil {
			return nil, err
		}
		if v == nil {
			all = append(all, expr.IsNull{Column: column})
		} else {
			all = append(all, expr.Compare{Column: column, Op: expr.Eq, Value: v})
		}
	}
	return all, nil
}

// wants judges a partition.
func (c *compaction) wants(partition binaryrow.Row) bool {
	if c.where == nil {
		return true
	}
	fields := c.partitions.Fields()
	values := make(map[string]types.Value, len(fields))
	for i, f := range fields {
		v, err := partition.Value(i, f.Type)
		if err != nil {
			return false
		}
		values[f.Name] = v
	}
	return c.where.Match(func(column string) types.Value { return values[column] })
}

func (c *compaction) wantsBucket(bucket int32) bool {
	return c.opts.Buckets == nil || slices.Contains(c.opts.Buckets, int(bucket))
}

// place names a bucket of a partition.
type place struct {
	partition string // the bytes of its row
	bucket    int32
}

// run goes through the buckets, and once more through those that others were
// faster with.
func (c *compaction) run(ctx context.Context) error {
	var only map[place]bool
	for round := 1; ; round++ {
		lost, err := c.round(ctx, only)
		if err != nil {
			return err
		}
		if len(lost) == 0 || round == rounds {
			c.report.Lost = len(lost)
			return nil
		}
		only = lost
	}
}

// round compacts the buckets as they are in the latest snapshot, all or only some,
// and returns those whose compaction did not fit any more.
func (c *compaction) round(ctx context.Context, only map[place]bool) (map[place]bool, error) {
	snap, err := c.table.snapshots.Latest(ctx)
	if err != nil {
		return nil, err
	}
	holdings, err := compact.Inventory(ctx, c.manifests, snap, c.wants, func(b int32) bool { return b >= 0 && c.wantsBucket(b) })
	if err != nil {
		return nil, err
	}
	if only != nil {
		holdings = slices.DeleteFunc(holdings, func(h compact.Holding) bool { return !only[place{string(h.Partition), h.Bucket}] })
	} else {
		c.report.Buckets = len(holdings)
	}
	jobs, err := c.jobs(ctx, holdings)
	if err != nil {
		return nil, err
	}
	c.begin(jobs)
	return c.work(ctx, jobs)
}
