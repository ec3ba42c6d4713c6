package advice

import (
	"fmt"
	"time"
)

// patience is how long rows may wait for a compaction that their changelog comes
// of: the retention of snapshots by default.
const patience = time.Hour

// changelogWaits finds rows whose changelog, or which themselves, are seen only
// after a compaction that does not come.
func changelogWaits(f *Figures) []Advice {
	if !f.PrimaryKey {
		return nil
	}
	var worst *BucketFigures
	n := 0
	for i := range f.Buckets {
		b := &f.Buckets[i]
		if b.Unsettled == 0 || b.Oldest.IsZero() || f.Now.Sub(b.Oldest) <= patience {
			continue
		}
		if n++; worst == nil || b.Oldest.Before(worst.Oldest) {
			worst = b
		}
	}
	if worst == nil {
		return nil
	}
	waited := f.Now.Sub(worst.Oldest)
	text := "Readers of changes see the bucket's newest rows only after a compaction (changelog-producer=%[1]s), and for so long there was none."
	mode := "--minor"
	switch {
	case f.Options.MergeEngine == "first-row":
		text = "Rows of a first-row table are seen only after a compaction, and for so long the bucket had none."
	case f.Options.Changelog.Producer == "full-compaction":
		text = "Readers of changes see the bucket's newest rows only after a full compaction (changelog-producer=%[1]s), and for so long there was none."
		mode = "--full"
	}
	if f.Options.MergeEngine != "first-row" {
		text = fmt.Sprintf(text, f.Options.Changelog.Producer)
	}
	return []Advice{{
		Subject: Changelog, Severity: severe(int64(waited), int64(24*time.Hour)), Rule: "changelog-waits", Where: worst.where(false),
		Figure: int64(waited.Seconds()), Limit: int64(patience.Seconds()), Unit: Seconds,
		Text: text + others(n, "bucket"), Remedy: command("table", "compact", f.Table, mode),
	}}
}

// changelogMissing finds readers of changes of a key table that does not tell what
// rows were before.
func changelogMissing(f *Figures) []Advice {
	if !f.PrimaryKey || f.Options.Changelog.Producer != "none" || f.Options.MergeEngine == "first-row" || len(f.Consumers) == 0 {
		return nil
	}
	return []Advice{{
		Subject: Changelog, Severity: Note, Rule: "changelog-none", Where: "changelog-producer",
		Figure: int64(len(f.Consumers)), Limit: 0, Unit: "consumers",
		Text:   "Consumers read the table's changes, and it keeps no changelog: they see rows as they were written, without what was there before, and of a merge only its parts.",
		Remedy: f.set("changelog-producer", "lookup"),
	}}
}

// changelogRetention finds options by which changelogs would go before snapshots,
// with which they stay all the same. Where another option keeps them longer, a
// shorter one is a bound.
func changelogRetention(f *Figures) []Advice {
	r := &f.Options.Retention
	if r.Decoupled() || r.ChangelogMin > r.ChangelogMax {
		return nil
	}
	var out []Advice
	shorter := func(key, of, unit string, figure, limit int64) {
		out = append(out, Advice{
			Subject: Changelog, Severity: Note, Rule: "changelog-retention", Where: key,
			Figure: figure, Limit: limit, Unit: unit,
			Text:   fmt.Sprintf("Changelogs are to go before the snapshots they belong to (%s). A snapshot keeps its own, so that the option does nothing.", of),
			Remedy: command("table", "alter", f.Table, "--unset", key),
		})
	}
	if r.ChangelogTime < r.Time {
		shorter("changelog.time-retained", "snapshot.time-retained", Seconds, int64(r.ChangelogTime.Seconds()), int64(r.Time.Seconds()))
	}
	if r.ChangelogMin < r.Min {
		shorter("changelog.num-retained.min", "snapshot.num-retained.min", "snapshots", int64(r.ChangelogMin), int64(r.Min))
	}
	if r.ChangelogMax < r.Max {
		shorter("changelog.num-retained.max", "snapshot.num-retained.max", "snapshots", int64(r.ChangelogMax), int64(r.Max))
	}
	return out
}
