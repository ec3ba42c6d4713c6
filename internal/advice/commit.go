package advice

import (
	"fmt"
	"time"
)

const (
	// grace is how long a commit is taken to be at work.
	grace = 10 * time.Minute
	// Manifests below their target size are merged from manifest.merge-min-count on;
	// so many times that is a writer that does not merge.
	unmerged = 4
	// Manifests may have so many times as many entries as the table has files.
	dead = 4
	// And so many entries cost nothing that is felt.
	fewEntries = 10000
)

// openCommits finds commits that are not at work any more and of which nobody knows
// whether they landed.
func openCommits(f *Figures) []Advice {
	var oldest *PendingFigures
	n := int64(0)
	for i := range f.Pending {
		p := &f.Pending[i]
		if f.Now.Sub(p.Begun) <= grace {
			continue
		}
		if n++; oldest == nil || p.Begun.Before(oldest.Begun) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil
	}
	text := "The outcome of commits is not known: nothing of them may be repeated or removed, and expiry stops at their base, until somebody looks."
	if !oldest.Begun.IsZero() {
		text += fmt.Sprintf(" The oldest began %s ago.", age(f.Now.Sub(oldest.Begun)))
	}
	return []Advice{{
		Subject: Commit, Severity: Warn, Rule: "open-commits", Where: fmt.Sprintf("user %s, identifier %s", oldest.User, oldest.Identifier),
		Figure: n, Limit: 0, Unit: "commits",
		Text: text, Remedy: command("commit", "resolve", f.Table, "--all"),
	}}
}

// smallManifests finds manifests that writers leave unmerged.
func smallManifests(f *Figures) []Advice {
	limit := unmerged * int64(f.Options.ManifestMergeMinCount)
	n := int64(f.Manifests.Small)
	if limit <= 0 || n <= limit {
		return nil
	}
	return []Advice{{
		Subject: Commit, Severity: severe(n, 10*limit), Rule: "small-manifests", Where: "manifest.merge-min-count",
		Figure: n, Limit: limit, Unit: "manifests",
		Text:   "Every plan and commit opens so many small manifests. Commits of Tarn and Java merge them from manifest.merge-min-count on, some other writers do not.",
		Remedy: command("table", "compact", f.Table),
	}}
}

// deadEntries finds manifests that mostly tell of files that are gone.
func deadEntries(f *Figures) []Advice {
	m := f.Manifests
	limit := max(fewEntries, dead*m.Files)
	if m.Entries <= limit {
		return nil
	}
	return []Advice{{
		Subject: Commit, Severity: Note, Rule: "dead-entries", Where: "manifest.full-compaction-threshold-size",
		Figure: m.Entries, Limit: limit, Unit: "entries",
		Text:   fmt.Sprintf("Every plan and commit reads so many entries of manifests, and the table has %s. With a lower threshold the next commits rewrite manifests without what is gone.", countOf(m.Files, "file")),
		Remedy: f.set("manifest.full-compaction-threshold-size", "1mb"),
	}}
}
