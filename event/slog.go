package event

import (
	"context"
	"log/slog"
)

// Slog returns a listener that writes to logger: ends of commits at Info (failed
// ones, and snapshots that were displaced, at Error), conflicts, attempts that did not commit, waits for compactions and
// warnings at Warn, flushes, spills, compactions, plans and storage calls at Debug.
func Slog(logger *slog.Logger) *Listener {
	log := func(level slog.Level, msg string, err error, attrs ...slog.Attr) {
		ctx := context.Background() // a listener has no caller to wait for
		if !logger.Enabled(ctx, level) {
			return
		}
		if err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		logger.LogAttrs(ctx, level, msg, attrs...)
	}
	failedAs := func(level slog.Level, err error, otherwise slog.Level) slog.Level {
		if err != nil {
			return level
		}
		return otherwise
	}
	return &Listener{
		AttemptEnd: func(i AttemptEnd) {
			level := slog.LevelWarn
			if i.Outcome == "committed" {
				level = slog.LevelDebug
			}
			log(level, "commit attempt", i.Err, slog.String("table", i.Table), slog.String("user", i.User),
				slog.Int64("snapshot", i.Snapshot), slog.Int("attempt", i.Number), slog.String("outcome", i.Outcome),
				slog.Duration("elapsed", i.Elapsed))
		},
		CommitConflict: func(i CommitConflict) {
			log(slog.LevelWarn, "commit conflict", nil, slog.String("table", i.Table), slog.String("user", i.User),
				slog.String("operation", i.Operation), slog.String("check", i.Check), slog.String("partition", i.Partition),
				slog.Int("bucket", i.Bucket), slog.String("otherUser", i.OtherUser), slog.String("otherOperation", i.OtherOperation),
				slog.Int64("otherSnapshot", i.OtherSnapshot), slog.Bool("maintenance", i.Maintenance))
		},
		CommitEnd: func(i CommitEnd) {
			log(failedAs(slog.LevelError, i.Err, slog.LevelInfo), "commit", i.Err, slog.String("table", i.Table),
				slog.String("user", i.User), slog.Int64("identifier", i.Identifier), slog.String("status", i.Status),
				slog.String("reason", i.Reason), slog.Int64("base", i.Base), slog.Any("snapshots", i.Snapshots),
				slog.Int("attempts", i.Attempts), slog.Int("filesAdded", i.FilesAdded),
				slog.Int("filesDeleted", i.FilesDeleted), slog.Int64("rows", i.Rows), slog.Int64("bytes", i.Bytes),
				slog.Int64("bytesDeleted", i.BytesDeleted), slog.Int64("manifestBytesRewritten", i.Rewritten),
				slog.Any("rolledBack", i.RolledBack), slog.Bool("alreadyCommitted", i.Already), slog.Int("ahead", i.Ahead),
				slog.Duration("queue", i.Phases.Queue), slog.Duration("read", i.Phases.Read), slog.Duration("check", i.Phases.Check),
				slog.Duration("write", i.Phases.Write), slog.Duration("intent", i.Phases.Intent),
				slog.Duration("publish", i.Phases.Publish), slog.Duration("backoff", i.Phases.Backoff), slog.Duration("elapsed", i.Elapsed))
		},
		SnapshotDisplaced: func(i SnapshotDisplaced) {
			log(slog.LevelError, "snapshot displaced", nil, slog.String("table", i.Table), slog.Int64("snapshot", i.Snapshot),
				slog.String("user", i.User), slog.Int64("identifier", i.Identifier), slog.String("operation", i.Operation),
				slog.String("otherUser", i.OtherUser), slog.Int64("latest", i.Latest))
		},
		FlushEnd: func(i FlushEnd) {
			log(failedAs(slog.LevelError, i.Err, slog.LevelDebug), "flush", i.Err, slog.String("table", i.Table),
				slog.String("partition", i.Partition), slog.Int("bucket", i.Bucket), slog.Int("files", i.Files),
				slog.Int64("rowsIn", i.RowsIn), slog.Int64("rowsOut", i.RowsOut), slog.Int64("bytes", i.Bytes),
				slog.Duration("elapsed", i.Elapsed))
		},
		SpillEnd: func(i SpillEnd) {
			log(failedAs(slog.LevelWarn, i.Err, slog.LevelDebug), "spill", i.Err, slog.String("table", i.Table),
				slog.Int64("rows", i.Rows), slog.Int64("bytes", i.Bytes), slog.Duration("elapsed", i.Elapsed))
		},
		CompactWait: func(i CompactWait) {
			log(slog.LevelWarn, "write waited for compaction", nil, slog.String("table", i.Table),
				slog.String("partition", i.Partition), slog.Int("bucket", i.Bucket), slog.Int("runs", i.Runs),
				slog.Duration("elapsed", i.Elapsed))
		},
		CompactEnd: func(i CompactEnd) {
			log(failedAs(slog.LevelError, i.Err, slog.LevelDebug), "compact", i.Err, slog.String("table", i.Table),
				slog.String("partition", i.Partition), slog.Int("bucket", i.Bucket),
				slog.Int("filesBefore", i.FilesBefore), slog.Int("filesAfter", i.FilesAfter),
				slog.Int64("bytesBefore", i.BytesBefore), slog.Int64("bytesAfter", i.BytesAfter),
				slog.Duration("elapsed", i.Elapsed))
		},
		ScanPlanned: func(i ScanPlanned) {
			log(slog.LevelDebug, "plan", nil, slog.String("table", i.Table), slog.Int64("snapshot", i.Snapshot),
				slog.Int("manifestsRead", i.ManifestsRead), slog.Int("manifestsSkipped", i.ManifestsSkipped),
				slog.Int("filesKept", i.FilesKept), slog.Int("filesSkipped", i.FilesSkipped),
				slog.Int("splits", i.Splits), slog.Duration("elapsed", i.Elapsed))
		},
		StorageCall: func(i StorageCall) {
			log(slog.LevelDebug, "storage", i.Err, slog.String("method", i.Method), slog.String("path", i.Path),
				slog.Int64("bytes", i.Bytes), slog.Duration("elapsed", i.Elapsed))
		},
		Warning: func(i Warning) {
			log(slog.LevelWarn, i.Doing, i.Err, slog.String("table", i.Table))
		},
	}
}
