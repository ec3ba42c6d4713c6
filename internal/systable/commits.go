package systable

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// commitFields are the columns of $commits, which Java does not have: one row for
// each snapshot that a commit of this engine has set out to make. Times are in
// microseconds.
var commitFields = fieldsOf(
	nullable("snapshot_id", bigint),
	column("commit_user", text),
	column("commit_identifier", bigint),
	column("commit_kind", text),
	column("status", text),
	nullable("reason", text),
	nullable("error", text),
	column("base_snapshot_id", bigint),
	column("start_time", timestamp),
	nullable("end_time", timestamp),
	column("attempts", bigint),
	nullable("attempt_log", text),
	nullable("conflicts", text),
	nullable("files_added", bigint),
	nullable("files_deleted", bigint),
	nullable("delta_record_count", bigint),
	nullable("bytes_added", bigint),
	nullable("bytes_deleted", bigint),
	nullable("manifest_bytes_rewritten", bigint),
	nullable("rolled_back", text),
	nullable("read_micros", bigint),
	nullable("check_micros", bigint),
	nullable("write_micros", bigint),
	nullable("intent_micros", bigint),
	nullable("publish_micros", bigint),
	nullable("backoff_micros", bigint),
)

// commitRows are the records of commits, those written longest ago first.
func commitRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for f, err := range commitlog.NewStore(cfg.FileIO, cfg.Layout, cfg.Workers).All(ctx) {
			var r row
			if err == nil {
				r, err = commitRow(cfg, &f.Record)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func commitRow(cfg *Config, r *commitlog.Record) (row, error) {
	out := row{nil, r.User, r.Identifier, string(r.Kind), string(commitlog.Unknown), nil, nil, r.Base, cfg.wallClock(r.Millis)}
	e := r.End
	if e == nil { // at work, or dead
		out = append(out, nil, int64(0))
		for len(out) < len(commitFields) {
			out = append(out, nil)
		}
		return out, nil
	}
	if e.Snapshot != 0 {
		out[0] = e.Snapshot
	}
	out[4] = string(e.Status)
	if e.Reason != "" {
		out[5] = e.Reason
	}
	if e.Error != "" {
		out[6] = e.Error
	}
	if e.Base != 0 {
		out[7] = e.Base
	}
	out = append(out, cfg.wallClock(e.Millis), int64(len(e.Attempts)))
	for _, list := range []struct {
		of any
		n  int
	}{{e.Attempts, len(e.Attempts)}, {e.Conflicts, len(e.Conflicts)}} {
		v, err := jsonText(list.of, list.n)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	out = append(out, int64(e.FilesAdded), int64(e.FilesDeleted), e.Rows, e.Bytes, e.BytesDeleted, e.Rewritten)
	v, err := jsonText(e.RolledBack, len(e.RolledBack))
	out = append(out, v)
	for _, d := range []time.Duration{e.Phases.Read, e.Phases.Check, e.Phases.Write, e.Phases.Intent, e.Phases.Publish, e.Phases.Backoff} {
		out = append(out, d.Microseconds())
	}
	return out, err
}

// jsonText is a list as JSON, null when it is empty.
func jsonText(list any, n int) (types.Value, error) {
	if n == 0 {
		return nil, nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "showing commit record", err)
	}
	return string(data), nil
}
