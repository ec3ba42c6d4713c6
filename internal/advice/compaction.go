package advice

import "fmt"

// fewFiles: from so many times compaction.min.file-num on, small files are many.
const fewFiles = 20

// sortedRuns finds the bucket of a key table that reads have most to merge in.
func sortedRuns(f *Figures) []Advice {
	if !f.PrimaryKey {
		return nil
	}
	trigger, stop := f.Options.Compaction.Trigger, f.Options.Compaction.StopTrigger
	var worst *BucketFigures
	n := 0
	for i := range f.Buckets {
		b := &f.Buckets[i]
		if b.Runs <= trigger {
			continue
		}
		if n++; worst == nil || b.Runs > worst.Runs {
			worst = b
		}
	}
	if worst == nil {
		return nil
	}
	text := "Reads merge all sorted runs of the bucket; from num-sorted-run.compaction-trigger on they are compacted."
	if !f.Options.WriteOnly && worst.Runs >= stop {
		text += fmt.Sprintf(" From num-sorted-run.stop-trigger (%d) on a stream waits for it.", stop)
	}
	words := []string{"table", "compact", f.Table, "--minor"}
	if n == 1 && worst.Partition != "" {
		words = append(words, "--partition", worst.Partition)
	}
	return []Advice{{
		Subject: Compaction, Severity: severe(int64(worst.Runs), int64(stop)), Rule: "sorted-runs", Where: worst.where(false),
		Figure: int64(worst.Runs), Limit: int64(trigger), Unit: "sorted runs",
		Text: text + others(n, "bucket"), Remedy: command(words...),
	}}
}

// noCompactor finds a table whose writers leave compacting to a job that is not there.
func noCompactor(f *Figures) []Advice {
	if !f.PrimaryKey || !f.Options.WriteOnly || f.Snapshots.Compactions > 0 {
		return nil
	}
	most := 0
	for _, b := range f.Buckets {
		most = max(most, b.Runs)
	}
	trigger := f.Options.Compaction.Trigger
	if most <= trigger || f.Snapshots.Recent <= trigger {
		return nil
	}
	return []Advice{{
		Subject: Compaction, Severity: Warn, Rule: "no-compactor", Where: "write-only",
		Figure: int64(f.Snapshots.Recent), Limit: int64(trigger), Unit: "snapshots",
		Text:   "Writers do not compact (write-only), and none of so many latest snapshots is a compaction's, while sorted runs are above the trigger: a job has to compact, again and again.",
		Remedy: command("table", "upkeep", f.Table, "--every", "10m"),
	}}
}

// smallFiles finds files of append tables that the options find worth joining.
func smallFiles(f *Figures) []Advice {
	if f.PrimaryKey {
		return nil
	}
	var worst *BucketFigures
	n, files := 0, 0
	for i := range f.Buckets {
		b := &f.Buckets[i]
		if b.Joinable == 0 {
			continue
		}
		files += b.Joinable
		if n++; worst == nil || b.Joinable > worst.Joinable {
			worst = b
		}
	}
	if worst == nil {
		return nil
	}
	least := int64(f.Options.Compaction.MinFileNum)
	noun, place := "partition", worst.where(true)
	if worst.Total > 0 {
		noun, place = "bucket", worst.where(false)
	}
	words := []string{"table", "compact", f.Table, "--minor"}
	if n == 1 && worst.Partition != "" {
		words = append(words, "--partition", worst.Partition)
	}
	return []Advice{{
		Subject: Compaction, Severity: severe(int64(files), fewFiles*least), Rule: "small-files", Where: place,
		// Fewer that come to twice the target size are worth it as well.
		Figure: int64(worst.Joinable), Limit: min(least, int64(worst.Joinable)), Unit: "files",
		Text:   "So many small files are worth joining by the table's options (compaction.min.file-num, target-file-size): each costs a read of the storage and a place in every plan." + others(n, noun),
		Remedy: command(words...),
	}}
}
