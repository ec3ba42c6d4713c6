package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// pruning is what a predicate tells about manifests, entries and files. Safe
// for concurrent use.
type pruning struct {
	cfg        Config
	partitions *layout.Partitioner
	partition  *expr.Bound // over partition columns
	buckets    *bucketFilter
	// early: buckets may be judged without looking at the file's schema.
	early bool
	keys  *expr.Bound // over the trimmed primary key
	value *expr.Bound // over all columns but partition ones
	// exactByPartition: the predicate is nothing but partition columns, which
	// planning judges exactly.
	exactByPartition bool

	mu         sync.Mutex
	seen       map[string]bool // partitions judged
	evolutions map[int64]*evolutions
}

// evolutions relate the columns of one file schema to the table's.
type evolutions struct {
	values, keys *evolution
	firstKey     types.Field
	sameBuckets  bool // bucket keys have the types they have now, so the hashes agree
}

func newPruning(cfg Config, req Request) *pruning {
	s := cfg.Schema
	partition := s.Select(s.PartitionKeys)
	p := &pruning{
		cfg:        cfg,
		partitions: layout.NewPartitioner(partition, cfg.Options.PartitionDefault, cfg.Options.PartitionLegacyName),
		seen:       map[string]bool{},
		evolutions: map[int64]*evolutions{},
	}
	in := func(names []string) func(string) bool {
		return func(c string) bool { return slices.Contains(names, c) }
	}
	p.partition = req.Where.Project(in(s.PartitionKeys))
	p.value = req.Where.Project(func(c string) bool { return !slices.Contains(s.PartitionKeys, c) })
	p.exactByPartition = !slices.ContainsFunc(req.Where.Columns(), func(c string) bool { return !slices.Contains(s.PartitionKeys, c) })
	if s.HasPrimaryKey() {
		p.keys = req.Where.Project(in(s.TrimmedPrimaryKeys()))
	}
	if cfg.Options.Bucket > 0 {
		names := cfg.Options.BucketKeys
		if len(names) == 0 {
			names = s.TrimmedPrimaryKeys()
		}
		if fields := s.Select(names); len(fields) == len(names) {
			p.buckets = newBucketFilter(req.Where, cfg.Options.BucketFunction, fields)
		}
		p.early = s.HasPrimaryKey() || s.ID == 0
	}
	return p
}

// manifest reports whether a manifest can have entries of interest.
func (p *pruning) manifest(m *manifest.FileMeta) bool {
	if m.MaxBucket != nil && *m.MaxBucket < 0 && p.realBuckets() {
		return false
	}
	return p.partition.MayMatch(partitionStats{p.partitions.Fields(), m.PartitionStats}, m.Added+m.Deleted)
}

// realBuckets: files of postponed buckets are no part of the table yet.
func (p *pruning) realBuckets() bool { return p.cfg.Options.Bucket == layout.PostponeBucket }

// inPartition judges a partition exactly.
func (p *pruning) inPartition(row binaryrow.Row) bool {
	if p.partition == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok, seen := p.seen[string(row)]; seen {
		return ok
	}
	ok := p.judge(row)
	p.seen[string(row)] = ok
	return ok
}

func (p *pruning) judge(row binaryrow.Row) bool {
	fields := p.partitions.Fields()
	values := make(map[string]types.Value, len(fields))
	if row.Check(len(fields)) != nil {
		return true // the read will say what is wrong with it
	}
	for i, f := range fields {
		v, err := row.Value(i, f.Type)
		if err != nil {
			return true
		}
		values[f.Name] = v
	}
	return p.partition.Match(func(c string) types.Value { return values[c] })
}

// inBucket judges a bucket as far as the manifest entry alone allows.
func (p *pruning) inBucket(number, total int32) bool {
	if number < 0 && p.realBuckets() {
		return false
	}
	return !p.early || p.buckets.keep(number, total)
}

// file judges a file by its statistics. keep is false when it can be left out;
// match is false when it has no matching row but may have versions of rows that
// others depend on.
func (p *pruning) file(ctx context.Context, e *manifest.Entry) (keep, match bool, err error) {
	if p.value == nil && (p.buckets == nil || p.early) {
		return true, true, nil
	}
	ev, err := p.evolution(ctx, e.File.SchemaID)
	if err != nil {
		return false, false, err
	}
	if !p.early && ev.sameBuckets && !p.buckets.keep(e.Bucket, e.TotalBuckets) {
		return false, false, nil
	}
	match = p.value.MayMatch(valueStats(ev, e.File), e.File.RowCount)
	if !p.cfg.Schema.HasPrimaryKey() {
		return match, match, nil
	}
	if p.keys == nil {
		return true, match, nil
	}
	// All versions of a key lie in files whose key range holds it: what the
	// predicate says of keys may drop any file.
	return p.keys.MayMatch(keyStats(ev, e.File), e.File.RowCount), match, nil
}

func valueStats(ev *evolutions, f *datafile.Meta) fileStats {
	return fileStats{evolution: ev.values, stats: f.ValueStats, dense: f.ValueStatsCols, rows: f.RowCount}
}

func keyStats(ev *evolutions, f *datafile.Meta) keyRange {
	return keyRange{
		first: ev.firstKey.Name, typ: ev.firstKey.Type, min: f.MinKey, max: f.MaxKey,
		next: fileStats{evolution: ev.keys, stats: f.KeyStats, rows: f.RowCount},
	}
}

// evolution relates a file's schema to the table's.
func (p *pruning) evolution(ctx context.Context, id int64) (*evolutions, error) {
	p.mu.Lock()
	hit := p.evolutions[id]
	p.mu.Unlock()
	if hit != nil {
		return hit, nil
	}
	table, written := p.cfg.Schema, p.cfg.Schema
	if id != table.ID {
		var err error
		if written, err = p.cfg.Schemas.Get(ctx, id); err != nil {
			return nil, err
		}
	}
	ev := &evolutions{values: newEvolution(table.Fields, written.Fields), sameBuckets: true}
	if table.HasPrimaryKey() {
		keys := table.Select(table.TrimmedPrimaryKeys())
		ev.keys = newEvolution(keys, written.Select(written.TrimmedPrimaryKeys()))
		if len(keys) > 0 && ev.keys.columns[keys[0].Name].at == 0 && ev.keys.columns[keys[0].Name].known {
			ev.firstKey = keys[0]
		}
	}
	if p.buckets != nil {
		ev.sameBuckets = !slices.ContainsFunc(p.buckets.fields, func(f types.Field) bool { return !sameType(written, f) })
	}
	p.mu.Lock()
	p.evolutions[id] = ev
	p.mu.Unlock()
	return ev, nil
}

func sameType(written *schema.Schema, f types.Field) bool {
	for _, w := range written.Fields {
		if w.ID == f.ID {
			return w.Type.EqualIgnoringNull(f.Type)
		}
	}
	return false
}
