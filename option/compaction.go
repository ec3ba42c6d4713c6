package option

import "time"

// Compaction are the options that decide what is compacted, and when.
type Compaction struct {
	Trigger              int            // num-sorted-run.compaction-trigger
	StopTrigger          int            // num-sorted-run.stop-trigger, at least Trigger
	MaxSizeAmplification int            // percent
	SizeRatio            int            // percent
	ForceUpLevel0        bool           // compaction.force-up-level-0, or a table that needs lookups
	ForceUpInterval      int            // how many picks of nothing force level 0 up; 0 and 1 = each
	OffPeakStart         int            // hour of the day, −1 when not set
	OffPeakEnd           int            // the hour after it, −1 when not set
	OffPeakRatio         int            // percent, on top of SizeRatio
	MinFileNum           int            // of append tables: from how many small files on
	FileNumLimit         int            // of append tables: files looked at in one go
	ForceRewriteAll      bool           // a full compaction rewrites what needs no rewriting
	OptimizationInterval *time.Duration // nil when not set, as the two below
	TotalSize            *int64         // compaction.total-size-threshold
	IncrementalSize      *int64         // compaction.incremental-size-threshold
	Force                bool           // commit.force-compact: a commit waits for compactions
	FullDelta            int            // full-compaction.delta-commits, 0 when nothing asks for full compactions
}

// compaction reads the options of compaction, as Java's CoreOptions does.
func (r *reader) compaction() Compaction {
	c := Compaction{
		Trigger: r.int("num-sorted-run.compaction-trigger"), MaxSizeAmplification: r.int("compaction.max-size-amplification-percent"),
		SizeRatio: r.int("compaction.size-ratio"), ForceUpLevel0: r.bool("compaction.force-up-level-0"),
		OffPeakStart: r.int("compaction.offpeak.start.hour"), OffPeakEnd: r.int("compaction.offpeak.end.hour"),
		OffPeakRatio: r.int("compaction.offpeak-ratio"), MinFileNum: r.int("compaction.min.file-num"),
		FileNumLimit: r.int("compaction.file-num-limit"), ForceRewriteAll: r.bool("compaction.force-rewrite-all-files"),
	}
	c.Force = r.bool("commit.force-compact")
	if r.set("full-compaction.delta-commits") {
		if n := r.int("full-compaction.delta-commits"); n >= 0 {
			c.FullDelta = max(1, n)
		}
	} else if r.word("changelog-producer") == "full-compaction" && !r.bool("write-only") {
		c.FullDelta = 1 // as Java's writers have it: else nothing would tell a change
	}
	c.StopTrigger = c.Trigger + 3
	if r.set("num-sorted-run.stop-trigger") {
		c.StopTrigger = max(c.Trigger, r.int("num-sorted-run.stop-trigger"))
	}
	if r.set("compaction.optimization-interval") {
		d := r.duration("compaction.optimization-interval")
		c.OptimizationInterval = &d
	}
	if r.set("compaction.total-size-threshold") {
		n := r.size("compaction.total-size-threshold")
		c.TotalSize = &n
	}
	if r.set("compaction.incremental-size-threshold") {
		n := r.size("compaction.incremental-size-threshold")
		c.IncrementalSize = &n
	}
	if r.needsLookup() {
		c.ForceUpLevel0 = true
		if r.word("lookup-compact") == "gentle" {
			c.ForceUpInterval = 2 * c.Trigger
			if r.set("lookup-compact.max-interval") {
				c.ForceUpInterval = r.int("lookup-compact.max-interval")
			}
			c.ForceUpInterval = max(c.Trigger, c.ForceUpInterval)
		}
	}
	return c
}

// needsLookup reports a table whose compactions look old rows up, so that level
// 0 has to go up (Java: LookupStrategy).
func (r *reader) needsLookup() bool {
	return r.word("merge-engine") == "first-row" || r.word("changelog-producer") == "lookup" ||
		r.bool("deletion-vectors.enabled") || r.bool("force-lookup")
}

// CompactionFileSize is from which size on a file is not compacted for being
// small: seven tenths of the target, as Java rounds them.
func (o *Options) CompactionFileSize(primaryKey bool) int64 {
	return o.TargetFileSize(primaryKey) / 10 * 7
}
