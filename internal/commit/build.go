package commit

import (
	"context"
	"encoding/json"
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
	partitions *layout.Partitioner
}

func newBuilder(cfg Config) (*builder, error) {
	o := cfg.Options
	partition := cfg.Schema.Select(cfg.Schema.PartitionKeys)
	m, err := manifest.NewStore(manifest.Config{
		FileIO: cfg.FileIO, Table: cfg.Place, Names: layout.NewNamer(cfg.Env), Env: cfg.Env, Partition: partition,
		Compression: o.ManifestCompression, ZstdLevel: o.ZstdLevel, TargetSize: o.ManifestTargetSize, Workers: cfg.Workers, Lists: cfg.Lists,
	})
	if err != nil {
		return nil, tarnerr.Trace("opening commit", err)
	}
	names := layout.NewPartitioner(partition, o.PartitionDefault, o.PartitionLegacyName)
	return &builder{cfg: cfg, manifests: m, partitions: names}, nil
}

// draft is what all tries of a commit share: the manifests of its changes.
type draft struct {
	delta      string // name of the delta manifest list
	deltaSize  int64
	records    int64
	partitions []PartitionStats
	files      []string // names written, or begun
}

// draft writes the manifests of ch. Names go into d.files even when it fails.
func (b *builder) draft(ctx context.Context, d *draft, ch change) error {
	metas, err := b.manifests.WriteManifests(ctx, ch.files)
	for _, m := range metas {
		d.files = append(d.files, m.FileName)
	}
	if err != nil {
		return err
	}
	d.delta, d.deltaSize, err = b.manifests.WriteList(ctx, metas)
	d.files = append(d.files, d.delta)
	if err != nil {
		return err
	}
	d.records = ch.records()
	d.partitions, err = b.partitionStats(ch)
	return err
}

// partitionStats sums up a change per partition, in the order of first mention.
func (b *builder) partitionStats(ch change) ([]PartitionStats, error) {
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
	latest, err := b.cfg.Schemas.Latest(ctx)
	if err != nil {
		return err
	}
	next := &snapshot.Snapshot{
		Version: snapshot.Version, ID: idOf(base) + 1, SchemaID: latest.ID,
		BaseManifestList: list, BaseManifestListSize: &size,
		DeltaManifestList: t.draft.delta, DeltaManifestListSize: &t.draft.deltaSize,
		CommitUser: t.req.User, CommitIdentifier: t.req.Identifier, CommitKind: t.change.kind,
		TimeMillis:       b.cfg.Env.Now().UnixMilli(),
		TotalRecordCount: t.draft.records, DeltaRecordCount: t.draft.records,
		Watermark: t.req.Watermark, Properties: t.req.Properties, NextRowID: new(int64),
	}
	if base != nil {
		if err := b.inherit(ctx, next, base); err != nil {
			return err
		}
	}
	out.next = next
	return nil
}

// inherit carries on what a snapshot takes over from the one before.
func (b *builder) inherit(ctx context.Context, next, base *snapshot.Snapshot) error {
	next.TotalRecordCount += base.TotalRecordCount
	next.IndexManifest = base.IndexManifest
	if base.Watermark != nil && (next.Watermark == nil || *next.Watermark < *base.Watermark) {
		next.Watermark = base.Watermark
	}
	if base.NextRowID != nil {
		next.NextRowID = base.NextRowID
	}
	if base.Statistics == nil {
		return nil
	}
	// Table statistics hold for the schema they were made under.
	path := b.cfg.Place.StatisticsFile(*base.Statistics)
	data, err := fileio.ReadFile(ctx, b.cfg.FileIO, path)
	if err != nil {
		return tarnerr.Trace("reading table statistics", err, "path", path)
	}
	var stats struct {
		SchemaID int64 `json:"schemaId"`
	}
	if err := json.Unmarshal(data, &stats); err != nil {
		return tarnerr.Wrap(tarnerr.Corrupt, "reading table statistics", err, "path", path)
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
// commit has merged in between, it leaves the list as it is: merging can wait.
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
	})
	if err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for _, m := range before {
		old[m.FileName] = true
	}
	for _, m := range after {
		if !old[m.FileName] {
			out.merged = append(out.merged, m.FileName)
		}
	}
	out.after = after
	return after, nil
}

func sameFiles(a, b []manifest.FileMeta) bool {
	return slices.EqualFunc(a, b, func(x, y manifest.FileMeta) bool { return x.FileName == y.FileName })
}
