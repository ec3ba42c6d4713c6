package layout

import (
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/env"
)

func TestPaths(t *testing.T) {
	table := Table{Dir: "/w/db.db/t"}
	branch := table.WithBranch("b1")
	moved := Table{Dir: "/w/db.db/t", DataDir: "data"}
	for _, c := range []struct{ got, want string }{
		{table.SchemaFile(0), "/w/db.db/t/schema/schema-0"},
		{table.SnapshotFile(12), "/w/db.db/t/snapshot/snapshot-12"},
		{table.LatestHint(), "/w/db.db/t/snapshot/LATEST"},
		{table.EarliestHint(), "/w/db.db/t/snapshot/EARLIEST"},
		{table.ChangelogFile(3), "/w/db.db/t/changelog/changelog-3"},
		{table.TagFile("v1"), "/w/db.db/t/tag/tag-v1"},
		{table.ConsumerFile("c"), "/w/db.db/t/consumer/consumer-c"},
		{table.ManifestFile("manifest-1"), "/w/db.db/t/manifest/manifest-1"},
		{table.IndexFile("index-1"), "/w/db.db/t/index/index-1"},
		{table.StatisticsFile("stat-1"), "/w/db.db/t/statistics/stat-1"},
		{table.BucketDir("", 0), "/w/db.db/t/bucket-0"},
		{table.BucketDir("dt=1/h=2", PostponeBucket), "/w/db.db/t/dt=1/h=2/bucket-postpone"},
		{table.DataFile("dt=a%2Fb", 3, "data-1.parquet"), "/w/db.db/t/dt=a%2Fb/bucket-3/data-1.parquet"},
		{table.WithBranch(MainBranch).SnapshotFile(1), "/w/db.db/t/snapshot/snapshot-1"},
		// A branch has its own metadata and shares the rest.
		{branch.SchemaFile(1), "/w/db.db/t/branch/branch-b1/schema/schema-1"},
		{branch.SnapshotFile(1), "/w/db.db/t/branch/branch-b1/snapshot/snapshot-1"},
		{branch.TagFile("v"), "/w/db.db/t/branch/branch-b1/tag/tag-v"},
		{branch.ManifestFile("m"), "/w/db.db/t/manifest/m"},
		{branch.DataFile("", 1, "f"), "/w/db.db/t/bucket-1/f"},
		{moved.DataFile("p=1", 1, "f"), "/w/db.db/t/data/p=1/bucket-1/f"},
		{moved.ManifestFile("m"), "/w/db.db/t/manifest/m"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestParseNames(t *testing.T) {
	for name, want := range map[string]int64{
		"snapshot-1": 1, "snapshot-0": 0, "snapshot-9223372036854775807": 1<<63 - 1,
		"snapshot-": -1, "snapshot-01": -1, "snapshot-+1": -1, "snapshot--1": -1, "snapshot-1.tmp": -1, ".snapshot-1.0a.tmp": -1,
		"snapshot-9223372036854775808": -1, "schema-1": -1, "LATEST": -1, "snapshot-1a2b3c": -1,
	} {
		id, ok := ParseVersion(SnapshotPrefix, name)
		if ok != (want >= 0) || ok && id != want {
			t.Errorf("%q: %d %v, want %d", name, id, ok, want)
		}
	}
	for name, want := range map[string]int32{"bucket-0": 0, "bucket-17": 17, "bucket-postpone": PostponeBucket, "bucket--1": -9, "bucket-01": -9, "bucket": -9, "x-1": -9, "bucket-2147483648": -9} {
		b, ok := ParseBucketName(name)
		if ok != (want != -9) || ok && b != want {
			t.Errorf("%q: %d %v, want %d", name, b, ok, want)
		}
		if ok && BucketName(b) != name {
			t.Errorf("%q is named %q", name, BucketName(b))
		}
	}
}

func TestNamer(t *testing.T) {
	e := env.Seeded(1, time.Unix(0, 0))
	n, other := NewNamer(e), NewNamer(e)
	u := n.uuid
	if u == other.uuid || len(u) != 36 {
		t.Fatalf("uuids %q and %q", u, other.uuid)
	}
	for _, c := range []struct{ got, want string }{
		{n.Data("", "parquet"), "data-" + u + "-0.parquet"},
		{n.Data("changelog-", "parquet"), "changelog-" + u + "-1.parquet"},
		{n.Data("x-", "zstd.parquet"), "x-" + u + "-2.zstd.parquet"},
		{n.Manifest(), "manifest-" + u + "-0"},
		{n.Manifest(), "manifest-" + u + "-1"},
		{n.ManifestList(), "manifest-list-" + u + "-0"},
		{n.IndexManifest(), "index-manifest-" + u + "-0"},
		{n.Index(), "index-" + u + "-0"},
		{n.Statistics(), "stat-" + u + "-0"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestEscape(t *testing.T) {
	if got := Escape("a/b=c%d é\x01"); got != "a%2Fb%3Dc%25d é%01" {
		t.Errorf("escaped %q", got)
	}
	for s, want := range map[string]string{"a%2Fb": "a/b", "%": "%", "%2": "%2", "%zz": "%zz", "%2f": "/", "a%20b": "a b", "100%": "100%"} {
		if got := Unescape(s); got != want {
			t.Errorf("%q unescaped %q, want %q", s, got, want)
		}
	}
	for _, bad := range []string{"p", "=v", "a=1/b"} {
		if f, err := ParsePartitionPath(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, f)
		}
	}
}
