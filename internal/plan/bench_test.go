package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// The table that is planned: a manifest and a partition a day, with four buckets of
// fifty files each.
const (
	benchDays  = 100
	benchFiles = 4 * 50
)

func benchTable(b *testing.B) *planTable {
	b.Helper()
	ctx := context.Background()
	tb := newPlanTable()
	if err := tb.schema(b, &datadriven.TestData{
		CmdArgs: []datadriven.CmdArg{
			{Key: "pk", Vals: []string{"day", "k"}}, {Key: "partition", Vals: []string{"day"}}, {Key: "options", Vals: []string{"bucket=4"}},
		},
		Input: "0 day STRING NOT NULL\n1 k BIGINT NOT NULL\n2 v BIGINT\n",
	}); err != nil {
		b.Fatal(err)
	}
	var metas []manifest.FileMeta
	for day := range benchDays {
		entries := make([]manifest.Entry, benchFiles)
		for i := range entries {
			at := i / 4 * 1000
			entries[i] = tb.parseFile(b, strings.Fields(fmt.Sprintf(
				"data-%03d-%03d.parquet p=day-%03d b=%d level=5 rows=1000 size=2000000 key=%d..%d seq=%[5]d..%[6]d k:%[5]d..%[6]d/0 v:%[7]d..%[8]d/0",
				day, i, day, i%4, at, at+999, at+day, at+day+999)))
		}
		added, err := tb.cfg.Manifests.WriteManifests(ctx, entries)
		if err != nil {
			b.Fatal(err)
		}
		metas = append(metas, added...)
	}
	if len(metas) != benchDays {
		b.Fatalf("%d manifests", len(metas))
	}
	next := &snapshot.Snapshot{Version: snapshot.Version, ID: 1, SchemaID: tb.cfg.Schema.ID, CommitUser: "u", CommitKind: snapshot.Append}
	var err error
	if next.BaseManifestList, _, err = tb.cfg.Manifests.WriteList(ctx, metas); err != nil {
		b.Fatal(err)
	}
	if next.DeltaManifestList, _, err = tb.cfg.Manifests.WriteList(ctx, nil); err != nil {
		b.Fatal(err)
	}
	if err := tb.cfg.FileIO.CreateIfAbsent(ctx, tb.cfg.Layout.SnapshotFile(1), next.Marshal()); err != nil {
		b.Fatal(err)
	}
	return tb
}

// BenchmarkPlan plans a key table of 100 manifests with 20,000 files; the metric
// counts all of them, read or left out.
func BenchmarkPlan(b *testing.B) {
	tb := benchTable(b)
	for _, c := range []struct {
		name, where string
		workers     int
		manifests   int // read
		left        int // files
	}{
		{"whole", "", 1, benchDays, benchDays * benchFiles},
		{"whole/workers=2", "", 2, benchDays, benchDays * benchFiles},
		{"one-partition", "day = 'day-050'", 1, 1, benchFiles},
		// A key lies in one bucket, by its hash.
		{"one-key", "k = 25500", 1, benchDays, benchDays},
		{"one-key-of-a-partition", "day = 'day-050' AND k = 25500", 1, 1, 1},
		{"values", "v >= 49500 AND v < 49600", 1, benchDays, benchDays * 4},
		{"nothing", "day = 'day-500'", 1, 0, 0},
	} {
		where, err := tb.where(c.where)
		if err != nil {
			b.Fatal(err)
		}
		cfg := tb.cfg
		cfg.Workers = c.workers
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := Plan(context.Background(), cfg, Request{Where: where})
				if err != nil {
					b.Fatal(err)
				}
				if r.ManifestsRead != c.manifests || r.FilesLeft != c.left {
					b.Fatalf("%+v, want %d manifests read and %d files left", r.Scanned, c.manifests, c.left)
				}
			}
			b.ReportMetric(float64(b.N)*benchDays*benchFiles/b.Elapsed().Seconds(), "files/s")
		})
	}
}
