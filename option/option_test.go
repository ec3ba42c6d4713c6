package option

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestDefaults(t *testing.T) {
	got, err := Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Bucket: -1, BucketFunction: "default", MergeEngine: "deduplicate", ChangelogProducer: "none",
		PartitionDefault: "__DEFAULT_PARTITION__", PartitionLegacyName: true,
		PartitionExpirationStrategy: "values-time", DynamicOverwrite: true, OverwriteUpgrade: true,
		FileFormat: "parquet", Compression: "zstd", ZstdLevel: 1, DataFilePrefix: "data-",
		StatsMode: "truncate(16)", StatsDense: true, StatsKeepFirstNColumns: -1,
		ManifestCompression: "zstd", ManifestTargetSize: 8 << 20, ManifestFullThreshold: 16 << 20, ManifestMergeMinCount: 30,
		CommitMaxRetries: 10, CommitMinRetryWait: 10 * time.Millisecond, CommitMaxRetryWait: 10 * time.Second, CommitTimeout: math.MaxInt64,
		WriteBufferSize: 256 << 20, NumLevels: 6, ReadBatchSize: 1024, SplitTargetSize: 128 << 20, SplitOpenFileCost: 4 << 20,
		Compaction: Compaction{
			Trigger: 5, StopTrigger: 8, MaxSizeAmplification: 200, SizeRatio: 1, OffPeakStart: -1, OffPeakEnd: -1,
			MinFileNum: 5, FileNumLimit: 100000,
		},
		Spill:       Spill{Enabled: true, MaxDisk: math.MaxInt64, MaxWriters: 10, Handles: 128, Compression: "zstd", ZstdLevel: 1},
		LookupFiles: LookupFiles{MaxDisk: math.MaxInt64, MaxMemory: 256 << 20, Retention: time.Hour, Filter: true, FalsePositives: 0.05, Compression: "zstd", ZstdLevel: 1},
		Stream:      Stream{Mode: "latest-full", Interval: 10 * time.Second, BetweenMode: "auto"},
		Changelog:   Changelog{Producer: "none", LookupWait: true, Prefix: "changelog-"},
		Retention: Retention{
			Min: 10, Max: math.MaxInt32, Time: time.Hour, Limit: 50,
			ChangelogMin: 10, ChangelogMax: math.MaxInt32, ChangelogTime: time.Hour,
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Options{})); d != "" {
		t.Error(d)
	}
	if got.TargetFileSize(true) != 128<<20 || got.TargetFileSize(false) != 256<<20 {
		t.Error("target file sizes")
	}
}

func TestParse(t *testing.T) {
	yes := true
	got, err := Parse(map[string]string{
		"bucket": "4", "bucket-key": "a, b", "bucket-function.type": "MOD",
		"sequence.field": "s, t", "sequence.field.sort-order": "DESCENDING", "rowkind.field": "k",
		"deduplicate.ignore-delete": "TRUE", "ignore-update-before": "true",
		"partition.legacy-name": "False", "target-file-size": "1 mb", "file.block-size": "64 KiBiBytes",
		"file.compression.per.level": "0:LZ4,5:none", "metadata.stats-mode.per.level": "0:none",
		"metadata.stats-mode": "FULL", "fields.a.b.stats-mode": "Counts",
		"commit.timeout": "1 h", "commit.min-retry-wait": "5", "commit.max-retry-wait": "2 minutes", "snapshot.ignore-empty-commit": "true",
		"num-sorted-run.compaction-trigger": "3", "scan.snapshot-id": "17", "consumer.expiration-time": "1 d", "write.compaction-skip": "true", "my.own": "kept",
		"commit.discard-duplicate-files": "true", "commit.strict-mode.last-safe-snapshot": "9", "dynamic-partition-overwrite": "false",
		"overwrite-upgrade": "false", "manifest.delete-file-drop-stats": "true", "partition.expiration-time": "7 d",
		"partition.expiration-strategy": "update-time", "partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMdd",
	})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := Parse(nil)
	want.Bucket, want.BucketKeys, want.BucketFunction = 4, []string{"a", " b"}, "mod"
	want.SequenceFields, want.SequenceDescending, want.RowKindField = []string{"s", "t"}, true, "k"
	want.IgnoreDelete, want.IgnoreUpdateBefore, want.PartitionLegacyName, want.FileBlockSize = true, true, false, 64<<10
	want.CompressionPerLevel, want.StatsMode = map[int]string{0: "lz4", 5: "none"}, "full"
	want.CommitTimeout, want.CommitMinRetryWait, want.CommitMaxRetryWait = time.Hour, 5*time.Millisecond, 2*time.Minute
	safe := int64(9)
	want.DiscardDuplicates, want.LastSafeSnapshot, want.DynamicOverwrite, want.OverwriteUpgrade, want.DropDeletedStats = true, &safe, false, false, true
	want.PartitionExpiration, want.PartitionExpirationStrategy = 7*24*time.Hour, "update-time"
	want.PartitionTimePattern, want.PartitionTimeFormatter = "$dt", "yyyyMMdd"
	want.IgnoreEmptyCommit, want.NumLevels, want.ScanSnapshotID, want.WriteOnly = &yes, 4, 17, true
	want.Stream.Mode, want.Stream.ConsumerExpiration = "from-snapshot", 24*time.Hour
	want.Compaction.Trigger, want.Compaction.StopTrigger = 3, 6
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Options{})); d != "" {
		t.Error(d)
	}
	if got.TargetFileSize(true) != 1<<20 || got.CompressionAt(0) != "lz4" || got.CompressionAt(1) != "zstd" ||
		got.StatsModeAt(0) != "none" || got.StatsModeAt(1) != "full" {
		t.Error("values by table kind and level")
	}
	if m, ok := got.ColumnStatsMode("a.b"); !ok || m != "counts" {
		t.Errorf("mode of column a.b: %q", m)
	}
	// The newer name wins over the older one.
	both, err := Parse(map[string]string{"ignore-delete": "false", "first-row.ignore-delete": "true"})
	if err != nil || both.IgnoreDelete {
		t.Error("an older name overrode the newer one")
	}
	prefixed, err := Parse(map[string]string{"file.compression.per.level.2": "snappy"})
	if err != nil || prefixed.CompressionAt(2) != "snappy" {
		t.Errorf("prefixed map: %v, %v", prefixed.CompressionPerLevel, err)
	}
}

// Every value that does not parse is refused by key and value, honoured or not.
func TestParseRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{"bucket", "four"}, {"bucket", "2147483648"}, {"bucket", " 1"}, {"ignore-delete", "yes"}, {"ignore-delete", ""},
		{"target-file-size", "mb"}, {"target-file-size", "1 xb"}, {"target-file-size", "-1 mb"}, {"target-file-size", "0"},
		{"target-file-size", "9223372036854775807 kb"}, {"target-file-size", "99999999999999999999"},
		{"commit.timeout", "1 year"}, {"commit.timeout", ""}, {"bucket-function.type", "crc"}, {"merge-engine", "dedup"},
		{"file.compression.per.level", "0"}, {"file.compression.per.level", "x:zstd"}, {"file.compression.per.level", "0:a:b"},
		{"metadata.stats-mode", "truncate"}, {"metadata.stats-mode", "truncate(0)"}, {"metadata.stats-mode", "truncate(-1)"},
		{"fields.a.stats-mode", "some"}, {"read.batch-size", "0"}, {"commit.max-retries", "-1"}, {"data-file.prefix", "a/b"},
		{"data-file.prefix", ""}, {"partition.default-name", "a/b"}, {"compaction.delete-ratio-threshold", "half"},
		{"snapshot.time-retained", "soon"}, {"num-levels", "0"}, {"source.split.target-size", "0 b"},
	} {
		_, err := Parse(map[string]string{c[0]: c[1]})
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%s=%q: %v", c[0], c[1], err)
		}
	}
}

func TestDurationsAndSizes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Millisecond, "7ms": 7 * time.Millisecond, " 7 MS ": 7 * time.Millisecond, "2 d": 48 * time.Hour, "2days": 48 * time.Hour,
		"3 m": 3 * time.Minute, "3 min": 3 * time.Minute, "4 secs": 4 * time.Second, "5µs": 5 * time.Microsecond, "6 nanos": 6,
		"9999999 d": math.MaxInt64,
	} {
		if got, err := parseDuration("x", text); err != nil || got != want {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]int64{
		"7": 7, "7 b": 7, "2k": 2048, "2 KB": 2048, "3 m": 3 << 20, "1 gibibytes": 1 << 30, "2tb": 2 << 40, "9223372036854775807 bytes": math.MaxInt64,
	} {
		if got, err := parseMemorySize("x", text); err != nil || got != want {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
	got, err := parseMap("x", "a:1,'b:,':'x''y'")
	if err != nil || !cmp.Equal(got, map[string]string{"a": "1", "b:,": "x'y"}) {
		t.Errorf("map %v, %v", got, err)
	}
}

func TestChecks(t *testing.T) {
	const read, write, both, none = 1, 2, 3, 0
	key, app := Table{PrimaryKey: true}, Table{}
	for _, c := range []struct {
		option, value string
		table         Table
		refuses       int
	}{
		{"merge-engine", "deduplicate", key, none}, {"merge-engine", "Deduplicate", key, none}, {"merge-engine", "partial-update", key, none},
		{"merge-engine", "aggregation", key, none}, {"merge-engine", "first-row", key, none},
		{"changelog-producer", "none", key, none}, {"changelog-producer", "lookup", key, none}, {"changelog-file.format", "orc", key, write},
		{"deletion-vectors.enabled", "true", key, both}, {"deletion-vectors.enabled", "false", key, none},
		{"row-tracking.enabled", "true", app, none}, {"data-evolution.enabled", "true", app, both},
		{"bucket", "-1", app, none}, {"bucket", "-1", key, write}, {"bucket", "-2", key, both}, {"bucket", "4", key, none},
		{"bucket-function.type", "mod", key, none}, {"bucket-function.type", "hive", key, write},
		{"orc.timestamp-ltz.legacy.type", "false", app, both}, {"orc.timestamp-ltz.legacy.type", "TRUE", app, none}, {"orc.compress", "ZLIB", app, none},
		{"file.format", "orc", app, write}, {"file.format", "PARQUET", app, none}, {"file.format.per.level", "0:parquet", app, none},
		{"file.format.per.level", "0:avro,1:parquet", app, none}, {"file.format.per.level", "0:avro,5:orc", key, write}, {"file.format", "avro", key, none}, {"manifest.format", "parquet", app, both},
		{"scan.mode", "latest-full", app, none}, {"scan.mode", "from-timestamp", app, both}, {"scan.snapshot-id", "3", app, none},
		{"scan.tag-name", "t", app, both}, {"scan.tag-name", "", app, none}, {"log.scan", "latest", app, none}, {"log.scan.timestamp-millis", "5", app, both},
		{"incremental-to-auto-tag", "t", app, both}, {"scan.fallback-branch", "b", app, both}, {"branch", "main", app, none}, {"branch", "x", app, both},
		{"type", "materialized-table", app, none}, {"type", "format-table", app, both}, {"query-auth.enabled", "true", app, both},
		{"metadata.iceberg.storage", "hadoop-catalog", app, write}, {"metadata.iceberg.storage", "disabled", app, none},
		{"commit.callbacks", "com.example.C", app, write}, {"commit.callbacks", "", app, none},
		{"tag.automatic-creation", "process-time", app, write}, {"data-file.external-paths", "s3://x", app, write}, {"upsert-key", "a", app, write},
		{"write-only", "true", key, none}, {"snapshot.time-retained", "1 h", key, none}, {"file-index.bloom-filter.columns", "a", app, none},
		{"parquet.page.size", "1024", app, none}, {"never.heard.of", "x", app, none}, {"fields.a.sequence-group", "b", key, none},
	} {
		options := map[string]string{c.option: c.value}
		if c.option != "bucket" {
			options["bucket"] = "2"
		}
		for way, check := range map[int]func(map[string]string, Table) error{read: CheckRead, write: CheckWrite} {
			err := check(options, c.table)
			switch {
			case c.refuses&way == 0 && err != nil:
				t.Errorf("%s=%s: %v", c.option, c.value, err)
			case c.refuses&way != 0 && (!errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "option="+c.option+" value="+c.value)):
				t.Errorf("%s=%s: %v, want it refused by key and value", c.option, c.value, err)
			}
		}
	}
	if err := CheckRead(map[string]string{"bucket": "x"}, app); !errors.Is(err, tarnerr.Invalid) {
		t.Errorf("a bad value: %v", err)
	}
	if err := CheckWrite(nil, key); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("dynamic buckets by default: %v", err)
	}
}

// The table itself: names once, defaults that parse and are accepted, notes
// where a state needs one.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		for _, name := range append([]string{k.Name}, k.Fallbacks...) {
			if name != "file.compression" && seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
		if k.HasDefault() {
			if err := k.Check(k.Default); err != nil && k.Default != "" {
				t.Errorf("default of %s: %v", k.Name, err)
			}
			if !k.accepts(k.Default) {
				t.Errorf("%s does not accept its default", k.Name)
			}
		}
		for _, a := range k.Accept {
			if err := k.Check(a); err != nil {
				t.Errorf("accepted value of %s: %v", k.Name, err)
			}
		}
		if (k.Kind == Enum) != (len(k.Values) > 0) {
			t.Errorf("%s: kind %v, values %v", k.Name, k.Kind, k.Values)
		}
		if k.State == Harmless && k.Note == "" {
			t.Errorf("%s: say why it is harmless", k.Name)
		}
		if k.State < RefusesWrites && len(k.Accept) > 0 {
			t.Errorf("%s is %v and needs no accepted values", k.Name, k.State)
		}
		if _, family := match(k.Name); family && !strings.HasPrefix(k.Name, "metadata.iceberg.") &&
			!slices.Contains([]string{"fields.default-aggregate-function", "parquet.enable.dictionary", "orc.timestamp-ltz.legacy.type", "file-index.in-manifest-threshold", "file-index.read.enabled"}, k.Name) {
			t.Errorf("%s is hidden in a family", k.Name)
		}
		if got, ok := Lookup(k.Name); !ok || got.Name != k.Name {
			t.Errorf("Lookup(%s) = %s", k.Name, got.Name)
		}
	}
	if len(seen) < 283 {
		t.Errorf("%d names, Java 1.4.2 has more", len(seen))
	}
	immutable := 0
	for _, k := range Keys() {
		if k.Immutable {
			immutable++
		}
	}
	if immutable != 18 {
		t.Errorf("%d immutable options, Java 1.4.2 has 18", immutable)
	}
	if _, ok := Lookup("no.such.key"); ok {
		t.Error("found a key that is not there")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("target-file-size", "128 mb")
	f.Add("commit.timeout", "1 h")
	f.Add("file.compression.per.level", "0:'a:b',1:zstd")
	f.Add("fields.a.stats-mode", "truncate(3)")
	f.Fuzz(func(t *testing.T, key, value string) {
		options := map[string]string{key: value}
		o, err := Parse(options)
		if err == nil && (o.TargetFileSize(true) <= 0 || o.ReadBatchSize <= 0 || o.NumLevels < 1) {
			t.Fatalf("%s=%q gave %+v", key, value, o)
		}
		if err != nil && !errors.Is(err, tarnerr.Invalid) {
			t.Fatalf("%s=%q: %v", key, value, err)
		}
		CheckWrite(options, Table{PrimaryKey: true})
	})
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    Retention
		apart   bool
	}{
		{map[string]string{"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "5", "snapshot.time-retained": "1 min", "snapshot.expire.limit": "7"},
			Retention{Min: 2, Max: 5, Time: time.Minute, Limit: 7, ChangelogMin: 2, ChangelogMax: 5, ChangelogTime: time.Minute}, false},
		{map[string]string{"changelog.num-retained.min": "11", "consumer.changelog-only": "true"},
			Retention{Min: 10, Max: math.MaxInt32, Time: time.Hour, Limit: 50, ChangelogMin: 11, ChangelogMax: math.MaxInt32, ChangelogTime: time.Hour, ChangelogOnly: true}, true},
		{map[string]string{"changelog.time-retained": "2 h", "snapshot.expire.clean-empty-directories": "true"},
			Retention{Min: 10, Max: math.MaxInt32, Time: time.Hour, Limit: 50, ChangelogMin: 10, ChangelogMax: math.MaxInt32, ChangelogTime: 2 * time.Hour, CleanDirectories: true}, true},
		{map[string]string{"snapshot.num-retained.max": "20", "changelog.num-retained.max": "21"},
			Retention{Min: 10, Max: 20, Time: time.Hour, Limit: 50, ChangelogMin: 10, ChangelogMax: 21, ChangelogTime: time.Hour}, true},
		{map[string]string{"changelog.num-retained.min": "3", "changelog.time-retained": "1 min", "consumer.changelog-only": "true"},
			Retention{Min: 10, Max: math.MaxInt32, Time: time.Hour, Limit: 50, ChangelogMin: 3, ChangelogMax: math.MaxInt32, ChangelogTime: time.Minute}, false},
	} {
		got, err := Parse(c.options)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got.Retention); d != "" || got.Retention.Decoupled() != c.apart {
			t.Errorf("%v: decoupled %v\n%s", c.options, got.Retention.Decoupled(), d)
		}
	}
}
