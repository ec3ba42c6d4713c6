package systable

import (
	"context"
	"iter"

	"github.com/tarnlake/tarn/internal/snapshot"
)

var snapshotFields = fieldsOf(
	column("snapshot_id", bigint),
	column("schema_id", bigint),
	column("commit_user", text),
	column("commit_identifier", bigint),
	column("commit_kind", text),
	column("commit_time", timestamp),
	column("base_manifest_list", text),
	column("delta_manifest_list", text),
	nullable("changelog_manifest_list", text),
	nullable("total_record_count", bigint),
	nullable("delta_record_count", bigint),
	nullable("changelog_record_count", bigint),
	nullable("watermark", bigint),
	nullable("next_row_id", bigint),
)

func snapshotRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for s, err := range cfg.Snapshots.All(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(snapshotRow(cfg, s), nil) {
				return
			}
		}
	}
}

func snapshotRow(cfg *Config, s *snapshot.Snapshot) row {
	return row{
		s.ID, s.SchemaID, s.CommitUser, s.CommitIdentifier, string(s.CommitKind), cfg.wallClock(s.TimeMillis),
		s.BaseManifestList, s.DeltaManifestList, optional(s.ChangelogManifestList),
		s.TotalRecordCount, s.DeltaRecordCount, optional(s.ChangelogRecordCount), optional(s.Watermark), optional(s.NextRowID),
	}
}
