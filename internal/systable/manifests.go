package systable

import (
	"context"
	"iter"
)

var manifestFields = fieldsOf(
	column("file_name", text),
	column("file_size", bigint),
	column("num_added_files", bigint),
	column("num_deleted_files", bigint),
	column("schema_id", bigint),
	nullable("min_partition_stats", text),
	nullable("max_partition_stats", text),
	nullable("min_row_id", bigint),
	nullable("max_row_id", bigint),
)

// manifestRows are the manifests of one snapshot: base, delta and changelog.
func manifestRows(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		s, err := snapshotOf(ctx, cfg, req)
		if err != nil {
			yield(nil, err)
			return
		}
		if s == nil {
			return
		}
		type list struct {
			name string
			size *int64
		}
		lists := []list{{s.BaseManifestList, s.BaseManifestListSize}, {s.DeltaManifestList, s.DeltaManifestListSize}}
		if s.ChangelogManifestList != nil {
			lists = append(lists, list{*s.ChangelogManifestList, s.ChangelogManifestListSize})
		}
		for _, l := range lists {
			metas, err := cfg.Manifests.ReadList(ctx, l.name, l.size)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range metas {
				lo, err := cfg.partitionText(m.PartitionStats.Min)
				if err != nil {
					yield(nil, err)
					return
				}
				hi, err := cfg.partitionText(m.PartitionStats.Max)
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(row{
					m.FileName, m.FileSize, m.Added, m.Deleted, m.SchemaID, lo, hi, optional(m.MinRowID), optional(m.MaxRowID),
				}, nil) {
					return
				}
			}
		}
	}
}
