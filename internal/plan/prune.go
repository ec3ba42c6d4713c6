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
	value *expr.Bound // the conjuncts that partition columns alone do not decide
	// exactByPartition: the predicate is nothing but partition columns, which
	// planning judges exactly.
	exactByPartition bool
	level            func(level int32) bool // nil: any
	only             func(partition binaryrow.Row) bool
	bucket           func(number int32) bool

	mu         sync.Mutex
	seen       map[string]*judged // partitions
	evolutions map[int64]*evolutions
}

// judged is a partition with its values, nil when they cannot be read.
type judged struct {
	in     bool
	values map[string]types.Value
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
		level:      req.Level,
		only:       req.Partition,
		bucket:     req.Bucket,
		seen:       map[string]*judged{},
		evolutions: map[int64]*evolutions{},
	}
	in := func(names []string) func(string) bool {
		return func(c string) bool { return slices.Contains(names, c) }
	}
	p.partition = req.Where.Project(in(s.PartitionKeys))
	for _, c := range req.Where.Conjuncts() {
		if slices.ContainsFunc(c.Columns(), func(c string) bool { return !slices.Contains(s.PartitionKeys, c) }) {
			p.value = expr.All(p.value, c)
		}
	}
	p.exactByPartition = p.value == nil
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
	if !someOf(p.bucket, m.MinBucket, m.MaxBucket) || !someOf(p.level, m.MinLevel, m.MaxLevel) {
		return false
	}
	return p.partition.MayMatch(partitionStats{p.partitions.Fields(), m.PartitionStats}, m.Added+m.Deleted)
}

// widest is up to how many numbers of a manifest's range are tried.
const widest = 1000

// someOf reports whether take may take a number from lo to hi, which are nil when
// the manifest does not tell.
func someOf(take func(int32) bool, lo, hi *int32) bool {
	if take == nil || lo == nil || hi == nil || int64(*hi)-int64(*lo) >= widest {
		return true
	}
	for n := int64(*lo); n <= int64(*hi); n++ {
		if take(int32(n)) {
			return true
		}
	}
	return false
}

// realBuckets: files of postponed buckets are no part of the table yet.
func (p *pruning) realBuckets() bool { return p.cfg.Options.Bucket == layout.PostponeBucket }

// inPartition judges a partition exactly.
func (p *pruning) inPartition(row binaryrow.Row) bool {
	return p.partition == nil && p.only == nil || p.judge(row).in
}

func (p *pruning) judge(row binaryrow.Row) *judged {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.seen[string(row)]
	if j == nil {
		j = &judged{in: true, values: p.valuesOf(row)}
		if j.values != nil && p.partition != nil {
			j.in = p.partition.Match(func(c string) types.Value { return j.values[c] })
		}
		j.in = j.in && (p.only == nil || p.only(row))
		p.seen[string(row)] = j
	}
	return j
}

// valuesOf are the values of a partition. One that cannot be read prunes
// nothing: the read will say what is wrong with it.
func (p *pruning) valuesOf(row binaryrow.Row) map[string]types.Value {
	fields := p.partitions.Fields()
	if row.Check(len(fields)) != nil {
		return nil
	}
	values := make(map[string]types.Value, len(fields))
	for i, f := range fields {
		v, err := row.Value(i, f.Type)
		if err != nil {
			return nil
		}
		values[f.Name] = v
	}
	return values
}

// inBucket judges a bucket as far as the manifest entry alone allows.
func (p *pruning) inBucket(number, total int32) bool {
	if number < 0 && p.realBuckets() {
		return false
	}
	if p.bucket != nil && !p.bucket(number) {
		return false
	}
	return !p.early || p.buckets.keep(number, total)
}

// file judges a file by its statistics. keep is false when it can be left out;
// match is false when it has no matching row but may have versions of rows that
// others depend on.
func (p *pruning) file(ctx context.Context, e *manifest.Entry) (keep, match bool, err error) {
	if p.level != nil && !p.level(e.File.Level) {
		return false, false, nil
	}
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
	stats := inPartition{valueStats(ev, e.File), p.judge(e.Partition).values}
	if p.cfg.Options.RowTracking {
		match = p.value.MayMatch(trackedStats{stats, e.File}, e.File.RowCount)
	} else {
		match = p.value.MayMatch(stats, e.File.RowCount)
	}
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
	return fileStats{evolution: ev.values, stats: f.ValueStats, dense: statsColumns(f), rows: f.RowCount}
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
