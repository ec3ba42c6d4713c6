package paimon

import (
	"context"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// incremental reports a read of what changed between two snapshots.
func (t *Table) incremental() bool { return t.options.Stream.Mode == "incremental" }

// between plans what changed between two snapshots, as Java's incremental reads
// do: between tags the difference of their states, between snapshots their changes,
// unless the options say otherwise.
func (v *view) between(ctx context.Context, cfg plan.Config, req plan.Request) (*plan.Result, error) {
	const op = "choosing snapshots"
	s := v.options.Stream
	mode := plan.ModeOf(v.options.ChangelogProducer)
	switch s.BetweenMode {
	case "delta":
		mode = plan.FromDelta
	case "changelog":
		mode = plan.FromChangelog
	}
	if s.Between == "" && s.BetweenTimes == "" {
		return nil, tarnerr.New(tarnerr.Invalid, op, "scan.mode=incremental without a range").
			WithHint("Set incremental-between=A,B to two snapshots or two tags.")
	}
	var start, end int64
	var err error
	if s.Between == "" {
		start, end, err = v.timeRange(ctx, s.BetweenTimes, s.BetweenMode == "diff")
	} else {
		from, to, ok := strings.Cut(s.Between, ",")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !ok || strings.Contains(to, ",") {
			return nil, tarnerr.New(tarnerr.Invalid, op, "no range of two ends", "incremental-between", s.Between)
		}
		var a, b *snapshot.Snapshot
		if a, err = v.tag(ctx, from); err == nil && a != nil {
			b, err = v.tag(ctx, to)
		}
		if err != nil {
			return nil, err
		}
		if a != nil && b != nil && !s.BetweenSnapshots {
			switch {
			case a.ID > b.ID:
				return nil, tarnerr.New(tarnerr.Invalid, op, "the end is older than the start", "incremental-between", s.Between, "start", a.ID, "end", b.ID)
			case a.ID == b.ID:
				return &plan.Result{Snapshot: b}, nil
			}
			return plan.Diff(ctx, cfg, req, a, b)
		}
		if a != nil && b != nil {
			start, end = a.ID, b.ID
		} else {
			start, end, err = ids(op, "incremental-between", from, to)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case start > end:
		return nil, tarnerr.New(tarnerr.Invalid, op, "the end is older than the start", "start", start, "end", end)
	case start == end:
		return &plan.Result{}, nil
	case s.BetweenMode != "diff":
		return plan.Between(ctx, cfg, req, start, end, mode)
	}
	var a *snapshot.Snapshot // nil: before the first snapshot there was nothing
	if start > 0 {
		if a, err = v.snapshots.Get(ctx, start); err != nil {
			return nil, err
		}
	}
	b, err := v.snapshots.Get(ctx, end)
	if err != nil {
		return nil, err
	}
	return plan.Diff(ctx, cfg, req, a, b)
}

func ids(op, option, from, to string) (start, end int64, err error) {
	if start, err = strconv.ParseInt(from, 10, 64); err == nil {
		end, err = strconv.ParseInt(to, 10, 64)
	}
	if err != nil || start < 0 {
		return 0, 0, tarnerr.New(tarnerr.Invalid, op, "neither two tags nor two numbers", option, from+","+to)
	}
	return start, end, nil
}

// tag reads the snapshot that a tag keeps, nil when there is no such tag.
func (v *view) tag(ctx context.Context, name string) (*snapshot.Snapshot, error) {
	if name == "" || strings.ContainsAny(name, "/\\\x00") {
		return nil, nil
	}
	data, err := fileio.ReadFile(ctx, v.components.FileIO, v.place.TagFile(name))
	if tarnerr.KindOf(err) == tarnerr.NotFound && err != nil {
		return nil, nil
	}
	if err != nil {
		return nil, tarnerr.Trace("reading tag", err, "tag", name, "path", v.place.TagFile(name))
	}
	s, err := snapshot.Parse(data)
	return s, tarnerr.Trace("reading tag", err, "tag", name, "path", v.place.TagFile(name))
}

// timeRange turns two times in milliseconds into snapshots: the last ones that are
// not younger. Before the first snapshot there is 0 when that one is there, and
// otherwise, where states are compared, the oldest there is.
func (v *view) timeRange(ctx context.Context, text string, states bool) (start, end int64, err error) {
	const op = "choosing snapshots"
	from, to, ok := strings.Cut(text, ",")
	if !ok {
		return 0, 0, tarnerr.New(tarnerr.Invalid, op, "no range of two times", "incremental-between-timestamp", text)
	}
	if start, end, err = ids(op, "incremental-between-timestamp", strings.TrimSpace(from), strings.TrimSpace(to)); err != nil {
		return 0, 0, err
	}
	if start > end {
		return 0, 0, tarnerr.New(tarnerr.Invalid, op, "the end is older than the start", "incremental-between-timestamp", text)
	}
	earliest, err := v.snapshots.Earliest(ctx)
	if err != nil || earliest == nil {
		return 0, 0, err
	}
	at := func(millis int64) int64 {
		if err != nil {
			return 0
		}
		var next int64
		next, err = v.snapshots.FirstSince(ctx, millis+1)
		return max(next-1, earliest.ID-1)
	}
	start, end = at(start), at(end)
	if states && start < earliest.ID && earliest.ID > 1 {
		start = earliest.ID
	}
	return start, max(start, end), err
}
