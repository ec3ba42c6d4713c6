package paimon

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/advice"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// recentSnapshots is how many of the latest snapshots are looked through for a
// compaction, at least.
const recentSnapshots = 20

// Advise implements table.Table.
func (t *Table) Advise(ctx context.Context) ([]table.Advice, error) {
	found, err := t.advise(ctx)
	out := make([]table.Advice, len(found))
	for i, a := range found {
		out[i] = table.Advice(a)
	}
	return out, err
}

// advise judges the table. Records of commits that cannot be read are told by the
// error, beside the rest.
func (t *Table) advise(ctx context.Context) ([]advice.Advice, error) {
	f, err := t.figures(ctx)
	if err != nil {
		return nil, trace("advising on table", err, t.name)
	}
	pending, unread := t.PendingCommits(ctx)
	for _, p := range pending {
		id := "batch"
		if p.Identifier != table.BatchIdentifier {
			id = strconv.FormatInt(p.Identifier, 10)
		}
		f.Pending = append(f.Pending, advice.PendingFigures{User: p.User, Identifier: id, Base: p.Base, Begun: p.Begun})
	}
	return advice.Of(f), unread
}

// figures gathers what metadata tell: the latest snapshot and its manifests, a few
// older snapshots, the consumers.
func (t *Table) figures(ctx context.Context) (*advice.Figures, error) {
	f := &advice.Figures{
		Table: (table.Identifier{Database: t.name.Database, Table: t.name.Table, Branch: t.name.Branch}).String(), PrimaryKey: t.schema.HasPrimaryKey(), Options: t.options, Now: t.components.Env.Now(),
	}
	latest, err := t.snapshots.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if latest != nil {
		if err := t.fileFigures(ctx, f, latest); err != nil {
			return nil, err
		}
		if err := t.historyFigures(ctx, f, latest); err != nil {
			return nil, err
		}
	}
	if err := t.tagFigures(ctx, f); err != nil {
		return nil, err
	}
	return f, t.consumerFigures(ctx, f)
}

// fileFigures adds up the files of a snapshot.
func (t *Table) fileFigures(ctx context.Context, f *advice.Figures, snap *snapshot.Snapshot) error {
	manifests, err := t.reading()
	if err != nil {
		return err
	}
	metas, err := manifests.ReadList(ctx, snap.BaseManifestList, snap.BaseManifestListSize)
	if err != nil {
		return err
	}
	delta, err := manifests.ReadList(ctx, snap.DeltaManifestList, snap.DeltaManifestListSize)
	if err != nil {
		return err
	}
	metas = append(metas[:len(metas):len(metas)], delta...)
	for _, m := range metas {
		f.Manifests.Count++
		f.Manifests.Entries += m.Added + m.Deleted
		if m.FileSize < t.options.ManifestTargetSize {
			f.Manifests.Small++
		}
	}
	holdings, err := compact.HoldingsOf(ctx, manifests, snap.ID, metas, manifest.EntryFilter{WithoutStats: true})
	if err != nil {
		return err
	}
	partitions := layout.NewPartitioner(t.schema.Select(t.schema.PartitionKeys), t.options.PartitionDefault, t.options.PartitionLegacyName)
	for _, h := range holdings {
		b := advice.BucketFigures{Number: h.Bucket, Total: h.TotalBuckets, Files: len(h.Files)}
		if b.Partition, err = partitionFlag(partitions, h); err != nil {
			return err
		}
		for _, file := range h.Files {
			b.Bytes += file.FileSize
		}
		f.Manifests.Files += int64(b.Files)
		switch {
		case h.Bucket < 0: // postponed: nobody reads or compacts it yet
			continue
		case f.PrimaryKey:
			t.treeFigures(&b, h.Files)
		default:
			b.Joinable = t.joinable(h.Files)
		}
		f.Buckets = append(f.Buckets, b)
	}
	return nil
}

// partitionFlag names a partition as the commands do: column=value,….
func partitionFlag(p *layout.Partitioner, h compact.Holding) (string, error) {
	values, err := p.Values(h.Partition)
	if err != nil {
		return "", err
	}
	text := ""
	for _, v := range values {
		if text != "" {
			text += ","
		}
		text += v.Name + "=" + v.Value
	}
	return text, nil
}

// treeFigures counts the sorted runs of a bucket of a key table, and the files that
// readers or their changelog wait for.
func (t *Table) treeFigures(b *advice.BucketFigures, files []*datafile.Meta) {
	settled := t.settledLevel()
	levels := map[int32]bool{}
	for _, f := range files {
		if f.Level == 0 || !levels[f.Level] {
			b.Runs++
			levels[f.Level] = true
		}
		if f.Level < settled {
			b.Unsettled++
			if f.CreationMillis != nil {
				if made := time.UnixMilli(*f.CreationMillis); b.Oldest.IsZero() || made.Before(b.Oldest) {
					b.Oldest = made
				}
			}
		}
	}
}

// settledLevel is the level from which on no file waits for a compaction to tell, or to
// show, its rows.
func (t *Table) settledLevel() int32 {
	switch {
	case t.options.Changelog.Producer == "full-compaction":
		return int32(t.options.NumLevels - 1)
	case t.options.Changelog.Producer == "lookup", t.options.MergeEngine == "first-row":
		return 1
	}
	return 0
}

// joinable is how many files of a bucket of an append table, or of a partition
// without buckets, a compaction by the options would join.
func (t *Table) joinable(files []*datafile.Meta) int {
	rules := compact.PackRulesOf(&t.options)
	n := 0
	if t.options.Bucket != -1 {
		for rest := files; ; {
			var picked []*datafile.Meta
			if picked, rest = compact.JoinSome(rest, rules); len(picked) == 0 {
				return n
			}
			n += len(picked)
		}
	}
	if t.options.RowTracking {
		files = compact.WithRowIDs(files)
	}
	for _, group := range compact.Pack(files, rules) {
		n += len(group)
	}
	return n
}

// historyFigures looks at the ends of the history.
func (t *Table) historyFigures(ctx context.Context, f *advice.Figures, latest *snapshot.Snapshot) error {
	s := &f.Snapshots
	earliest, err := t.snapshots.Earliest(ctx)
	if err != nil {
		return err
	}
	if earliest == nil {
		earliest = latest
	}
	s.Earliest, s.Latest, s.EarliestTime = earliest.ID, latest.ID, time.UnixMilli(earliest.TimeMillis)
	if s.EarliestChange, err = t.snapshots.EarliestChange(ctx); err != nil {
		return err
	}
	if s.Young, err = t.firstYoung(ctx, s.Earliest, s.Latest, f.Now.Add(-t.options.Retention.Time)); err != nil {
		return err
	}
	behind := func(b advice.BucketFigures) bool { return b.Runs > t.options.Compaction.Trigger }
	if !f.PrimaryKey || !t.options.WriteOnly || !slices.ContainsFunc(f.Buckets, behind) {
		return nil
	}
	most := max(recentSnapshots, t.options.Compaction.Trigger+1)
	for id := s.Latest; id >= s.Earliest && s.Recent < most && s.Compactions == 0; id-- {
		snap := latest
		if id != latest.ID {
			if snap, err = t.snapshots.Try(ctx, id); err != nil {
				return err
			}
		}
		if snap == nil {
			return nil
		}
		if s.Recent++; snap.CommitKind == snapshot.Compact {
			s.Compactions++
		}
	}
	return nil
}

// firstYoung finds the first snapshot that was made at a time or later, one above
// the latest when there is none. What has expired meanwhile is older.
func (t *Table) firstYoung(ctx context.Context, earliest, latest int64, at time.Time) (int64, error) {
	var failed error
	n := sort.Search(int(latest-earliest+1), func(i int) bool {
		if failed != nil {
			return true
		}
		snap, err := t.snapshots.Try(ctx, earliest+int64(i))
		if err != nil {
			failed = err
			return true
		}
		return snap != nil && snap.TimeMillis >= at.UnixMilli()
	})
	return earliest + int64(n), failed
}

// tagFigures counts tags where nothing says when they go.
func (t *Table) tagFigures(ctx context.Context, f *advice.Figures) error {
	set := func(key string) bool {
		k, _ := option.Lookup(key)
		value, set := k.Get(t.schema.Options)
		return set && !strings.EqualFold(value, k.Default)
	}
	if !set("tag.automatic-creation") || set("tag.num-retained-max") || set("tag.default-time-retained") {
		return nil
	}
	tags, err := t.snapshots.Tags().All(ctx)
	f.EndlessTags = len(tags)
	return err
}

// consumerFigures looks at the consumers and the snapshots that they read next.
func (t *Table) consumerFigures(ctx context.Context, f *advice.Figures) error {
	found, err := t.snapshots.Consumers().All(ctx)
	if err != nil {
		return err
	}
	for _, c := range found {
		figures := advice.ConsumerFigures{ID: c.ID, Next: c.Next}
		if c.Next >= f.Snapshots.Earliest && c.Next <= f.Snapshots.Latest {
			snap, err := t.snapshots.Try(ctx, c.Next)
			if err != nil {
				return tarnerr.Trace("reading snapshot of consumer", err, "consumer", c.ID)
			}
			if snap != nil {
				figures.NextTime = time.UnixMilli(snap.TimeMillis)
			}
		}
		f.Consumers = append(f.Consumers, figures)
	}
	return nil
}
