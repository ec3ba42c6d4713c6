package commit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

const (
	// blameDepth is how many snapshots are looked at for the commit in the way.
	blameDepth = 100
	// filesShown is how many files an error names.
	filesShown = 10
)

// refusal is the error of a commit that a conflict ends. It says which check,
// where, which files, who is in the way, and what can be done (P16).
func (t *tries) refusal(ctx context.Context, base *snapshot.Snapshot, ch *change, c *conflict) error {
	const op = "checking conflicts"
	other := t.blame(ctx, base, c)
	files := c.files
	if len(files) > filesShown {
		files = append(slices.Clone(files[:filesShown]), fmt.Sprintf("and %d more", len(c.files)-filesShown))
	}
	kv := []any{"check", c.check, "commit", ch.kind}
	if c.partition != nil {
		if name := t.c.builder.partitionName(c.partition); name != "" {
			kv = append(kv, "partition", name)
		}
	}
	if c.bucket >= 0 {
		kv = append(kv, "bucket", c.bucket)
	}
	if c.level >= 0 {
		kv = append(kv, "level", c.level)
	}
	if len(files) > 0 {
		kv = append(kv, "files", strings.Join(files, ", "))
	}
	kv = append(kv, "base", idOf(base)) // the user is told with the commit
	if other != nil {
		kv = append(kv, "other user", other.CommitUser, "other commit", other.CommitKind, "other snapshot", other.ID)
	} else if base != nil {
		kv = append(kv, "latest user", base.CommitUser)
	}
	t.conflicted(ch, c, other)
	way, redo := advise(c, ch, t.req.User, other)
	retry := "no"
	if redo {
		retry = "redo"
	}
	return tarnerr.New(tarnerr.Conflict, op, c.what, append(kv, "retry", retry)...).WithHint("%s", way)
}

// advise says what a conflict suggests, and whether doing the work again on the
// new snapshot can succeed; committing the same messages again never can.
func advise(c *conflict, ch *change, user string, other *snapshot.Snapshot) (way string, redo bool) {
	same := other != nil && other.CommitUser == user
	switch c.check {
	case LastSafeSnapshot:
		return "Look at what the other user did, then set commit.strict-mode.last-safe-snapshot to a later snapshot and do the work again.", true
	case BucketCount:
		return "Set the option bucket back, or write the whole partition anew with INSERT OVERWRITE.", false
	case ExpiredPartition:
		return "Filter rows of expired partitions out before they are written, or keep partitions longer (partition.expiration-time).", false
	case FileAddition:
		return "The same files were committed before; commit.discard-duplicate-files leaves them out of an APPEND. A job that was restored from an old checkpoint has to start from its newest one.", false
	case GlobalIndex:
		return "Remove the older index in the same commit.", true
	}
	if same {
		return "The same user made the other commit: the job was restored from an old checkpoint, or runs twice. Restore it from its newest one, or roll the table back to the snapshot of the old one.", false
	}
	if ch.kind == snapshot.Compact {
		return "Another job works on the same buckets. Compact again on the new snapshot; to end it for good set write-only on all writers and compact with one dedicated job.", true
	}
	if c.check == KeyRange {
		return "Another job has moved files to the same level. Do the work again on the new snapshot; to end it for good let one job alone compact.", true
	}
	return "Another job has changed the same files. Do the work again on the new snapshot; let one job write a partition at a time.", true
}

// blame finds the commit that is in the way: the newest one, back from base, that
// added or removed one of the files. nil when it lies too far back or cannot be
// read; the error is no less true without.
func (t *tries) blame(ctx context.Context, base *snapshot.Snapshot, c *conflict) *snapshot.Snapshot {
	if c.id > 0 {
		s, err := t.c.snapshots.Get(ctx, c.id)
		if err != nil {
			return nil
		}
		return s
	}
	mine := map[string]bool{}
	for _, e := range t.work.change.files {
		if e.Kind == manifest.Add {
			mine[e.File.FileName] = true
		}
	}
	// Whoever added what this commit adds, too, is the one to blame; else our own
	// new files are in nobody's way but ours.
	wanted := map[string]bool{}
	for _, f := range c.files {
		if c.check == FileAddition || !mine[f] {
			wanted[f] = true
		}
	}
	filter := manifest.EntryFilter{WithoutStats: true}
	if c.partition != nil {
		filter.Partition = func(p binaryrow.Row) bool { return string(p) == string(c.partition) }
	}
	for s, n := base, 0; s != nil && n < blameDepth; n++ {
		var before *snapshot.Snapshot
		if s.ID > 1 {
			before, _ = t.c.snapshots.Get(ctx, s.ID-1) // nil when it has expired
		}
		hit, err := t.touches(ctx, s, before, filter, wanted)
		if err != nil {
			return nil
		}
		if hit {
			return s
		}
		s = before
	}
	return nil
}

// touches reports that a snapshot adds or removes one of the files, or changes
// the deletion vector of one.
func (t *tries) touches(ctx context.Context, s, before *snapshot.Snapshot, filter manifest.EntryFilter, files map[string]bool) (bool, error) {
	delta, err := t.c.builder.delta(ctx, s, filter)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(delta, func(e manifest.Entry) bool { return files[e.File.FileName] }) {
		return true, nil
	}
	if s.IndexManifest == nil || before != nil && before.IndexManifest != nil && *before.IndexManifest == *s.IndexManifest {
		return false, nil
	}
	now, err := t.c.builder.indexOf(ctx, s)
	if err != nil {
		return false, err
	}
	then, err := t.c.builder.indexOf(ctx, before)
	if err != nil {
		return false, err
	}
	known := map[string]bool{}
	for _, e := range then {
		known[e.FileName] = true
	}
	return slices.ContainsFunc(now, func(e manifest.IndexEntry) bool {
		return !known[e.FileName] && slices.ContainsFunc(e.Vectors, func(v manifest.VectorRange) bool { return files[v.DataFile] })
	}), nil
}
