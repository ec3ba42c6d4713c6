package commit

import (
	"context"
	"slices"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// builder writes the metadata of a snapshot: what only depends on the change
// once per commit, what depends on the base once per try.
type builder struct {
	cfg        Config
	manifests  *manifest.Store
	names      *layout.Namer
	partitions *layout.Partitioner
	keys       keyOrder // nil in tables without a primary key
	unaware    bool     // the table has neither keys nor buckets
	uuids      bool     // snapshots have a uuid
}

func newBuilder(cfg Config) (*builder, error) {
	o := cfg.Options
	partition := cfg.Schema.Select(cfg.Schema.PartitionKeys)
	namer := layout.NewNamer(cfg.Env)
	m, err := manifest.NewStore(manifest.Config{
		FileIO: cfg.FileIO, Table: cfg.Place, Names: namer, Env: cfg.Env, Partition: partition,
		Compression: o.ManifestCompression, ZstdLevel: o.ZstdLevel, TargetSize: o.ManifestTargetSize, Workers: cfg.Workers, Lists: cfg.Lists,
	})
	if err != nil {
		return nil, tarnerr.Trace("opening commit", err)
	}
	names := layout.NewPartitioner(partition, o.PartitionDefault, o.PartitionLegacyName)
	out := &builder{cfg: cfg, manifests: m, names: namer, partitions: names, unaware: !cfg.Schema.HasPrimaryKey() && o.Bucket == -1}
	if c, ok := cfg.Publisher.(comparer); ok {
		out.uuids = c.comparesBase()
	}
	for _, f := range cfg.Schema.Select(cfg.Schema.TrimmedPrimaryKeys()) {
		out.keys = append(out.keys, f.Type)
	}
	return out, nil
}

// beside is a builder whose files are made durable side by side: none refers to
// another's bytes, and all have to be there, when wait has returned, before the
// snapshot is.
func (b *builder) beside() (beside *builder, wait func() error) {
	out := *b
	out.manifests, wait = b.manifests.Beside()
	return &out, wait
}

// draft is what all tries with the same change share: the manifests of it.
type draft struct {
	change        change
	delta         string // name of the delta manifest list
	deltaSize     int64
	changelog     string // name of the changelog manifest list, "" without changelog
	changelogSize int64
	records       int64
	changes       int64  // rows of the changelog
	statistics    string // name of the statistics file, "" when the change has none
	partitions    []PartitionStats
	files         []string // names written, or begun
	intended      bool     // the intent names it
}

// draft writes the manifests of a change. Names go into d.files even when it fails.
func (b *builder) draft(ctx context.Context, d *draft) (err error) {
	ch := &d.change
	if d.delta, d.deltaSize, err = b.listOf(ctx, d, ch.files); err != nil {
		return err
	}
	if len(ch.changelog) > 0 {
		if d.changelog, d.changelogSize, err = b.listOf(ctx, d, ch.changelog); err != nil {
			return err
		}
		for _, e := range ch.changelog {
			d.changes += e.File.RowCount
		}
	}
	if ch.statistics != nil {
		d.statistics = b.names.Statistics()
		d.files = append(d.files, d.statistics)
		if err := b.cfg.FileIO.Replace(ctx, b.cfg.Place.StatisticsFile(d.statistics), ch.statistics.Marshal()); err != nil {
			return tarnerr.Trace("writing table statistics", err)
		}
	}
	d.records = ch.records()
	d.partitions, err = b.partitionStats(ch)
	return err
}

// listOf writes entries into manifests and lists those.
func (b *builder) listOf(ctx context.Context, d *draft, entries []manifest.Entry) (string, int64, error) {
	metas, err := b.manifests.WriteManifests(ctx, entries)
	for _, m := range metas {
		d.files = append(d.files, m.FileName)
	}
	if err != nil {
		return "", 0, err
	}
	name, size, err := b.manifests.WriteList(ctx, metas)
	d.files = append(d.files, name)
	return name, size, err
}

// partitionStats sums up a change per partition, in the order of first mention.
func (b *builder) partitionStats(ch *change) ([]PartitionStats, error) {
	at := map[string]int{}
	var out []PartitionStats
	for _, e := range ch.files {
		i, ok := at[string(e.Partition)]
		if !ok {
			spec, err := b.partitions.Path(e.Partition)
			if err != nil {
				return nil, err
			}
			i = len(out)
			at[string(e.Partition)] = i
			out = append(out, PartitionStats{Spec: spec})
		}
		sign := int64(1)
		if e.Kind == manifest.Delete {
			sign = -1
		}
		out[i].Records += sign * e.File.RowCount
		out[i].Bytes += sign * e.File.FileSize
		out[i].Files += sign
	}
	return out, nil
}

// build writes what depends on the base and drafts the snapshot (P12).
func (b *builder) build(ctx context.Context, t *tries, out *built) error {
	base := out.base
	before, err := b.manifestsOf(ctx, base)
	if err != nil {
		return err
	}
	after, err := b.merge(ctx, t, out, before)
	if err != nil {
		return err
	}
	list, size, err := b.manifests.WriteList(ctx, after)
	out.list = list
	if err != nil {
		return err
	}
	index, err := b.index(ctx, t, out)
	if err != nil {
		return err
	}
	latest, err := b.cfg.Schemas.Latest(ctx)
	if err != nil {
		return err
	}
	d := out.draft
	rowID := nextRowID(base) + d.change.rowIDs
	next := &snapshot.Snapshot{
		Version: snapshot.Version, ID: idOf(base) + 1, SchemaID: latest.ID,
		BaseManifestList: list, BaseManifestListSize: &size,
		DeltaManifestList: d.delta, DeltaManifestListSize: &d.deltaSize, IndexManifest: index,
		CommitUser: t.req.User, CommitIdentifier: t.req.Identifier, CommitKind: d.change.kind,
		TimeMillis:       b.cfg.Env.Now().UnixMilli(),
		TotalRecordCount: d.records, DeltaRecordCount: d.records,
		Watermark: t.req.Watermark, Properties: t.req.Properties, NextRowID: &rowID,
	}
	if b.uuids {
		uuid := b.cfg.Env.UUID()
		next.UUID = &uuid
	}
	if d.changelog != "" {
		next.ChangelogManifestList, next.ChangelogManifestListSize, next.ChangelogRecordCount = &d.changelog, &d.changelogSize, &d.changes
	}
	if d.statistics != "" {
		next.Statistics = &d.statistics
	}
	if base != nil {
		if err := b.inherit(ctx, next, base); err != nil {
			return err
		}
	}
	out.next = next
	return nil
}

// index is the name of the snapshot's index manifest: that of the base when the
// change has nothing to do with index files.
func (b *builder) index(ctx context.Context, t *tries, out *built) (*string, error) {
	changes := out.draft.change.index
	if len(changes) == 0 {
		if out.base == nil {
			return nil, nil
		}
		return out.base.IndexManifest, nil
	}
	previous, err := b.indexOf(ctx, out.base)
	if err != nil {
		return nil, err
	}
	entries, c := combineIndex(previous, changes, b.unaware)
	if c != nil {
		return nil, t.refusal(ctx, out.base, &out.draft.change, c)
	}
	out.index, _, err = b.manifests.WriteIndex(ctx, entries)
	return &out.index, err
}

// inherit carries on what a snapshot takes over from the one before.
func (b *builder) inherit(ctx context.Context, next, base *snapshot.Snapshot) error {
	next.TotalRecordCount += base.TotalRecordCount
	if base.Watermark != nil && (next.Watermark == nil || *next.Watermark < *base.Watermark) {
		next.Watermark = base.Watermark
	}
	if next.Statistics != nil || base.Statistics == nil {
		return nil
	}
	// Table statistics hold for the schema they were made under.
	path := b.cfg.Place.StatisticsFile(*base.Statistics)
	data, err := fileio.ReadFile(ctx, b.cfg.FileIO, path)
	if err != nil {
		return tarnerr.Trace("reading table statistics", err, "path", path)
	}
	stats, err := snapshot.ParseStatistics(data)
	if err != nil {
		return tarnerr.Trace("inheriting table statistics", err, "path", path)
	}
	if stats.SchemaID == next.SchemaID {
		next.Statistics = base.Statistics
	}
	return nil
}

// manifestsOf lists the manifests of a snapshot, base then delta; none for nil.
func (b *builder) manifestsOf(ctx context.Context, s *snapshot.Snapshot) ([]manifest.FileMeta, error) {
	if s == nil {
		return nil, nil
	}
	base, err := b.manifests.ReadList(ctx, s.BaseManifestList, s.BaseManifestListSize)
	if err != nil {
		return nil, err
	}
	delta, err := b.manifests.ReadList(ctx, s.DeltaManifestList, s.DeltaManifestListSize)
	return slices.Concat(base, delta), err
}

// merge merges the manifests of the base. A retry takes over the merge of the
// try before where what that had merged still leads the list; when another
// commit has merged in between, or what was merged was rolled back, it leaves the
// list as it is: merging can wait.
func (b *builder) merge(ctx context.Context, t *tries, out *built, before []manifest.FileMeta) ([]manifest.FileMeta, error) {
	out.before = before
	if len(t.built) > 1 {
		last := t.built[len(t.built)-2]
		if n := len(last.before); n <= len(before) && sameFiles(before[:n], last.before) {
			out.merged = last.merged
			out.after = slices.Concat(last.after, before[n:])
			return out.after, nil
		}
		out.after = before
		return before, nil
	}
	o := b.cfg.Options
	after, err := manifest.Merge(ctx, b.manifests, before, manifest.MergeOptions{
		TargetSize: o.ManifestTargetSize, FullThreshold: o.ManifestFullThreshold, MinCount: o.ManifestMergeMinCount,
		Budget: b.cfg.MergeBudget, Turn: idOf(out.base),
	})
	if err != nil {
		return nil, err
	}
	out.merged = namesBut(after, before)
	out.after = after
	t.report.Rewritten += bytesBut(before, after)
	return after, nil
}

func sameFiles(a, b []manifest.FileMeta) bool {
	return slices.EqualFunc(a, b, func(x, y manifest.FileMeta) bool { return x.FileName == y.FileName })
}

// namesBut are the manifests of a that b has not.
func namesBut(a, b []manifest.FileMeta) (names []string) {
	in := nameSet(b)
	for _, m := range a {
		if !in[m.FileName] {
			names = append(names, m.FileName)
		}
	}
	return names
}

// bytesBut is the size of the manifests of a that b has not.
func bytesBut(a, b []manifest.FileMeta) (size int64) {
	in := nameSet(b)
	for _, m := range a {
		if !in[m.FileName] {
			size += m.FileSize
		}
	}
	return size
}

func nameSet(metas []manifest.FileMeta) map[string]bool {
	set := make(map[string]bool, len(metas))
	for _, m := range metas {
		set[m.FileName] = true
	}
	return set
}
