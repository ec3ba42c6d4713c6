package option

import (
	"math"
	"strings"
	"time"
)

// Options is the typed view of the options this version honours, defaults of
// Java 1.4.2 filled in. The zero value is not useful; see [Parse].
type Options struct {
	// Bucket is the number of buckets, -1 unaware or dynamic, -2 postponed.
	Bucket         int
	BucketKeys     []string // empty when not set: then the trimmed primary key
	BucketFunction string   // "default", "mod" or "hive"

	MergeEngine         string // "deduplicate" unless the table cannot be read here
	SequenceFields      []string
	SequenceDescending  bool
	RowKindField        string // "" when not set
	IgnoreDelete        bool   // drop -D rows when writing
	IgnoreUpdateBefore  bool   // drop -U rows when writing
	ChangelogProducer   string
	RowTracking         bool   // rows have ids that stay
	RowTrackingGrouped  bool   // new row ids are given out partition by partition
	PartitionDefault    string // directory name of null and blank values
	PartitionLegacyName bool

	// PartitionExpiration is how long partitions are kept, 0 when they do not
	// expire; by PartitionExpirationStrategy "values-time" their age is told by
	// PartitionTimePattern and PartitionTimeFormatter, "" when not set.
	PartitionExpiration         time.Duration
	PartitionExpirationStrategy string
	PartitionTimePattern        string
	PartitionTimeFormatter      string

	RecordExpire RecordExpire // of key tables

	FileFormat             string
	FormatPerLevel         map[int]string // overrides by LSM level
	Compression            string         // lower case: "zstd", "none", "snappy", …
	CompressionPerLevel    map[int]string // overrides by LSM level
	ZstdLevel              int
	FileBlockSize          int64 // row group bytes, 0 when not set
	DataFilePrefix         string
	ThinMode               bool
	targetFileSize         int64 // 0 when not set
	StatsMode              string
	statsModePerLevel      map[int]string
	statsModePerColumn     map[string]string
	StatsDense             bool
	StatsKeepFirstNColumns int // -1 = all

	ManifestCompression   string
	ManifestTargetSize    int64
	ManifestFullThreshold int64
	ManifestMergeMinCount int

	CommitMaxRetries   int
	CommitMinRetryWait time.Duration
	CommitMaxRetryWait time.Duration
	CommitTimeout      time.Duration // the longest interval when not set
	IgnoreEmptyCommit  *bool         // of batch writes; nil when not set
	CommitUserPrefix   string
	DiscardDuplicates  bool   // leave out of an APPEND what the table has already
	LastSafeSnapshot   *int64 // strict mode; nil when not set
	DynamicOverwrite   bool   // INSERT OVERWRITE replaces the partitions written to
	OverwriteUpgrade   bool   // an overwrite moves its files to the highest level
	DropDeletedStats   bool   // entries of deleted files have no value statistics

	WriteBufferSize int64
	WriteOnly       bool
	Spill           Spill
	LookupFiles     LookupFiles
	NumLevels       int // num-levels, else compaction trigger + 1
	Compaction      Compaction

	ReadBatchSize     int
	SplitTargetSize   int64
	SplitOpenFileCost int64
	ScanSnapshotID    int64 // 0 when not set
	Stream            Stream
	Changelog         Changelog
	Retention         Retention
}

// TargetFileSize is target-file-size, by default 128 MB for tables with a
// primary key and 256 MB for append tables.
func (o *Options) TargetFileSize(primaryKey bool) int64 {
	switch {
	case o.targetFileSize > 0:
		return o.targetFileSize
	case primaryKey:
		return 128 << 20
	}
	return 256 << 20
}

// FormatAt is the format of data files of an LSM level; append files are of level 0.
func (o *Options) FormatAt(level int) string {
	if f, ok := o.FormatPerLevel[level]; ok {
		return f
	}
	return o.FileFormat
}

// CompressionAt is the codec of data files of an LSM level; append files are of level 0.
func (o *Options) CompressionAt(level int) string {
	if c, ok := o.CompressionPerLevel[level]; ok {
		return c
	}
	return o.Compression
}

// ColumnStatsMode is the mode set for one column, false when none is.
func (o *Options) ColumnStatsMode(column string) (string, bool) {
	m, ok := o.statsModePerColumn[column]
	return m, ok
}

// StatsModeAt is the table-wide mode for data files of an LSM level.
func (o *Options) StatsModeAt(level int) string {
	if m, ok := o.statsModePerLevel[level]; ok {
		return m
	}
	return o.StatsMode
}

// Parse reads the typed view. Every known key that is set must parse, honoured
// or not; a value that does not is Invalid and names key, value and way out.
// Unknown keys are passed over.
func Parse(options map[string]string) (Options, error) {
	for _, g := range groups {
		for i := range g.keys {
			if v, _, set := g.keys[i].explicit(options); set {
				if err := g.keys[i].Check(v); err != nil {
					return Options{}, err
				}
			}
		}
	}
	r := reader{options: options}
	o := Options{
		Bucket: r.int("bucket"), BucketKeys: r.list("bucket-key", false), BucketFunction: r.word("bucket-function.type"),
		MergeEngine: r.word("merge-engine"), SequenceFields: r.list("sequence.field", true),
		SequenceDescending: r.word("sequence.field.sort-order") == "descending",
		RowKindField:       r.text("rowkind.field"), IgnoreDelete: r.bool("ignore-delete"),
		IgnoreUpdateBefore: r.bool("ignore-update-before"), ChangelogProducer: r.word("changelog-producer"),
		RowTracking: r.bool("row-tracking.enabled"), RowTrackingGrouped: r.bool("row-tracking.partition-group-on-commit"),
		PartitionDefault: r.text("partition.default-name"), PartitionLegacyName: r.bool("partition.legacy-name"),

		PartitionExpiration: r.duration("partition.expiration-time"), PartitionExpirationStrategy: r.word("partition.expiration-strategy"),
		PartitionTimePattern: r.text("partition.timestamp-pattern"), PartitionTimeFormatter: r.text("partition.timestamp-formatter"),

		FileFormat: r.word("file.format"), FormatPerLevel: r.levels("file.format.per.level"), Compression: r.word("file.compression"),
		CompressionPerLevel: r.levels("file.compression.per.level"), ZstdLevel: r.int("file.compression.zstd-level"),
		FileBlockSize: r.size("file.block-size"), DataFilePrefix: r.text("data-file.prefix"),
		ThinMode: r.bool("data-file.thin-mode"), targetFileSize: r.size("target-file-size"),
		StatsMode: r.word("metadata.stats-mode"), statsModePerLevel: r.levels("metadata.stats-mode.per.level"),
		statsModePerColumn: r.columns(".stats-mode"), StatsDense: r.bool("metadata.stats-dense-store"),
		StatsKeepFirstNColumns: r.int("metadata.stats-keep-first-n-columns"),

		ManifestCompression: r.word("manifest.compression"), ManifestTargetSize: r.size("manifest.target-file-size"),
		ManifestFullThreshold: r.size("manifest.full-compaction-threshold-size"),
		ManifestMergeMinCount: r.int("manifest.merge-min-count"),

		CommitMaxRetries: r.int("commit.max-retries"), CommitMinRetryWait: r.duration("commit.min-retry-wait"),
		CommitMaxRetryWait: r.duration("commit.max-retry-wait"), CommitTimeout: r.duration("commit.timeout"),
		CommitUserPrefix:  r.text("commit.user-prefix"),
		DiscardDuplicates: r.bool("commit.discard-duplicate-files"), DynamicOverwrite: r.bool("dynamic-partition-overwrite"),
		OverwriteUpgrade: r.bool("overwrite-upgrade"), DropDeletedStats: r.bool("manifest.delete-file-drop-stats"),

		WriteBufferSize: r.size("write-buffer-size"), WriteOnly: r.bool("write-only"),
		ReadBatchSize: r.int("read.batch-size"), SplitTargetSize: r.size("source.split.target-size"),
		SplitOpenFileCost: r.size("source.split.open-file-cost"), ScanSnapshotID: r.long("scan.snapshot-id"),
	}
	if r.set("snapshot.ignore-empty-commit") {
		b := r.bool("snapshot.ignore-empty-commit")
		o.IgnoreEmptyCommit = &b
	}
	if r.set("commit.strict-mode.last-safe-snapshot") {
		id := r.long("commit.strict-mode.last-safe-snapshot")
		o.LastSafeSnapshot = &id
	}
	if o.CommitTimeout == 0 && !r.set("commit.timeout") {
		o.CommitTimeout = math.MaxInt64
	}
	o.NumLevels = r.int("num-levels")
	if !r.set("num-levels") {
		o.NumLevels = r.int("num-sorted-run.compaction-trigger") + 1
	}
	o.Compaction = r.compaction()
	o.Spill, o.LookupFiles, o.RecordExpire = r.spill(), r.lookupFiles(), r.recordExpire()
	o.Stream, o.Changelog, o.Retention = r.stream(), r.changelog(), r.retention()
	if r.err == nil {
		r.err = o.check(&r)
	}
	return o, r.err
}

// check holds honoured values to the ranges in which they mean something.
func (o *Options) check(r *reader) error {
	modes := map[string]string{"metadata.stats-mode": o.StatsMode}
	for c, m := range o.statsModePerColumn {
		modes["fields."+c+".stats-mode"] = m
	}
	if o.Changelog.StatsMode != "" {
		modes["changelog-file.stats-mode"] = o.Changelog.StatsMode
	}
	for _, m := range o.statsModePerLevel {
		modes["metadata.stats-mode.per.level"] = m
	}
	for key, m := range modes {
		if _, _, ok := ParseStatsMode(m); !ok {
			return bad(key, m, "no such mode").WithHint("Modes are none, counts, full and truncate(n).")
		}
	}
	for _, c := range []struct {
		key string
		ok  bool
		why string
	}{
		{"read.batch-size", o.ReadBatchSize > 0, "it must be at least 1"},
		{"source.split.target-size", o.SplitTargetSize > 0, "it must be at least 1"},
		{"write-buffer-size", o.WriteBufferSize > 0, "it must be at least 1"},
		{"sort-spill-threshold", o.Spill.Threshold >= 2 || !r.set("sort-spill-threshold"), "it must be at least 2"},
		{"manifest.target-file-size", o.ManifestTargetSize > 0, "it must be at least 1"},
		{"target-file-size", o.targetFileSize > 0 || !r.set("target-file-size"), "it must be at least 1"},
		{"commit.max-retries", o.CommitMaxRetries >= 0, "it must not be negative"},
		{"continuous.discovery-interval", o.Stream.Interval > 0, "it must be longer than nothing"},
		{"num-levels", o.NumLevels >= 1, "it must be at least 1"},
		{"num-sorted-run.compaction-trigger", o.Compaction.Trigger >= 1, "it must be at least 1"},
		{"data-file.prefix", o.DataFilePrefix != "" && !strings.ContainsAny(o.DataFilePrefix, "/\x00"), "it must be the beginning of a file name"},
		{"changelog-file.prefix", o.Changelog.Prefix != "" && !strings.ContainsAny(o.Changelog.Prefix, "/\x00"), "it must be the beginning of a file name"},
		{"partition.default-name", o.PartitionDefault != "" && !strings.Contains(o.PartitionDefault, "/"), "it must be a directory name"},
	} {
		if !c.ok {
			return bad(c.key, r.text(c.key), c.why).WithHint("Change the value, or unset the option for its default.")
		}
	}
	return nil
}
