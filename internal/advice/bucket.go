package advice

import (
	"fmt"
	"strings"
)

// What Paimon recommends a bucket to hold, 200 MB to 1 GB: a bucket is the unit of
// reading, writing and compacting side by side. Source: Paimon's documentation,
// primary-key-table/overview.
const (
	smallBucket  = 200 << 20
	largeBucket  = 1 << 30
	wantedBucket = 512 << 20

	// So many buckets must hold files before it matters that they are small.
	manyBuckets = 64
	// So many times the mean of its partition is a bucket out of balance.
	skewPercent = 400
)

// largeBuckets finds the partition with too few buckets for what it holds.
func largeBuckets(f *Figures) []Advice {
	var worst *partition
	n := 0
	for _, p := range f.partitions() {
		if p.mean() <= largeBucket {
			continue
		}
		if n++; worst == nil || p.mean() > worst.mean() {
			worst = p
		}
	}
	if worst == nil {
		return nil
	}
	return []Advice{{
		Subject: Bucket, Severity: severe(worst.mean(), 4*largeBucket), Rule: "bucket-large", Where: worst.where(),
		Figure: worst.mean(), Limit: largeBucket, Unit: Bytes,
		Text: "The mean bucket holds more than Paimon recommends: a bucket is read, written and compacted by one at a time, and a full compaction rewrites all of it." +
			others(n, "partition") + " More buckets take a rewrite of the partitions there are.",
		Remedy: f.rescale(max(wanted(worst.bytes), f.Options.Bucket)),
	}}
}

// smallBuckets finds a table cut into more buckets than its size is worth.
func smallBuckets(f *Figures) []Advice {
	var bytes, largest int64
	n, cut := int64(0), false
	for _, p := range f.partitions() {
		largest = max(largest, p.bytes)
		cut = cut || p.total > 1
	}
	for _, b := range f.Buckets {
		if b.Total > 0 {
			n, bytes = n+1, bytes+b.Bytes
		}
	}
	fewer := wanted(largest)
	if !cut || n < manyBuckets || bytes/n >= smallBucket || fewer >= f.Options.Bucket {
		return nil
	}
	return []Advice{{
		Subject: Bucket, Severity: Note, Rule: "bucket-small", Where: "table",
		Figure: bytes / n, Limit: smallBucket, Unit: Bytes,
		Text: fmt.Sprintf("The mean of %d buckets holds less than Paimon recommends: each has files of its own to open, to write and to compact. Fewer buckets take a rewrite of the partitions there are.",
			n),
		Remedy: f.rescale(fewer),
	}}
}

// skewedBuckets finds the bucket that most of a partition's rows go to.
func skewedBuckets(f *Figures) []Advice {
	var worst *partition
	var most int64
	n := 0
	for _, p := range f.partitions() {
		if p.total < 2 || p.largest.Bytes <= largeBucket {
			continue
		}
		percent := p.largest.Bytes * 100 / max(p.mean(), 1)
		if percent <= skewPercent {
			continue
		}
		if n++; percent > most {
			worst, most = p, percent
		}
	}
	if worst == nil {
		return nil
	}
	return []Advice{{
		Subject: Bucket, Severity: severe(worst.largest.Bytes, 4*largeBucket), Rule: "bucket-skew", Where: worst.largest.where(false),
		Figure: most, Limit: skewPercent, Unit: Percent,
		Text: "The bucket holds that much of its partition's mean: work on it goes on when the others are done. Rows are spread by bucket-key, which only a new table can have anew." +
			others(n, "partition"),
		Remedy: command("table", "read", f.Table+"$buckets"),
	}}
}

// wanted is the number of buckets for so many bytes.
func wanted(bytes int64) int { return int(max(1, (bytes+wantedBucket-1)/wantedBucket)) }

// rescale gives the table another number of buckets, its rows included.
func (f *Figures) rescale(buckets int) string {
	db, name, _ := strings.Cut(f.Table, ".")
	quoted := quotedName(db) + "." + quotedName(name)
	return f.set("bucket", buckets) + " && " + command("sql", "-c", fmt.Sprintf("INSERT OVERWRITE %s SELECT * FROM %s", quoted, quoted))
}

// quotedName is a name as SQL takes it.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
