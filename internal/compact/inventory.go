package compact

import (
	"context"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// Holding is what a bucket holds.
type Holding struct {
	Partition    binaryrow.Row
	Bucket       int32
	TotalBuckets int32 // of the partition when the files were written
	Files        []*datafile.Meta
}

// Inventory reads what the buckets of a snapshot hold, all levels, in the order
// in which manifests name them first. Filters of partitions and buckets may be
// nil. It is empty for no snapshot.
func Inventory(ctx context.Context, manifests *manifest.Store, snap *snapshot.Snapshot, partition func(binaryrow.Row) bool, bucket func(int32) bool) ([]Holding, error) {
	if snap == nil {
		return nil, nil
	}
	base, err := manifests.ReadList(ctx, snap.BaseManifestList, snap.BaseManifestListSize)
	if err != nil {
		return nil, err
	}
	delta, err := manifests.ReadList(ctx, snap.DeltaManifestList, snap.DeltaManifestListSize)
	if err != nil {
		return nil, err
	}
	filter := manifest.EntryFilter{Partition: partition}
	if bucket != nil {
		filter.Bucket = func(b, _ int32) bool { return bucket(b) }
	}
	return HoldingsOf(ctx, manifests, snap.ID, append(base[:len(base):len(base)], delta...), filter)
}

// HoldingsOf is Inventory for manifests that are known, those of a snapshot, and a
// filter of entries.
func HoldingsOf(ctx context.Context, manifests *manifest.Store, id int64, metas []manifest.FileMeta, filter manifest.EntryFilter) ([]Holding, error) {
	var live manifest.Merger
	for entries, err := range manifests.ReadManifests(ctx, metas, filter) {
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := live.Add(e); err != nil {
				return nil, tarnerr.Trace("reading manifests", err, "snapshot", id)
			}
		}
	}
	type key struct {
		partition string
		bucket    int32
	}
	var out []Holding
	at := map[key]int{}
	for _, e := range live.Entries() {
		if e.Kind != manifest.Add {
			continue
		}
		k := key{string(e.Partition), e.Bucket}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Holding{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets})
		}
		out[i].Files = append(out[i].Files, e.File)
	}
	return out, nil
}
