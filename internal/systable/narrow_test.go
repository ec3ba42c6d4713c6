package systable

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// opens counts the manifests that are opened.
type opens struct {
	fileio.FileIO
	manifests int
}

func (o *opens) Open(ctx context.Context, path string) (fileio.File, error) {
	if strings.Contains(path, "/manifest/manifest-") && !strings.Contains(path, "manifest-list-") {
		o.manifests++
	}
	return o.FileIO.Open(ctx, path)
}

// places are partitions whose texts are alike.
var places = [][]types.Value{
	{"a", int64(1)}, {"a", int64(2)}, {"b", int64(1)}, {nil, int64(1)}, {"null", int64(1)}, {"a, 1", int64(2)}, {"a/n=1", int64(2)},
	{" ", int64(3)}, {layout.DefaultPartitionName, int64(3)}, {"b", nil}, {"{", int64(-7)},
}

// placed is a table of metadata with two manifests for each of places: one of its
// bucket 0 with files of the levels 0 and 5, and one of its bucket 1 with a file of
// level 0.
func placed(t *testing.T) (Config, *opens) {
	t.Helper()
	ctx := context.Background()
	fs := &opens{FileIO: mem.New(mem.Posix)}
	l := layout.Table{Dir: "/w/db.db/t"}
	e := env.Seeded(1, time.Unix(0, 0))
	fields := types.MustParse("ROW<s STRING, n INT, id BIGINT NOT NULL>").Fields
	for i := range fields {
		fields[i].ID = i
	}
	s := &schema.Schema{
		Version: schema.Version, Fields: fields, HighestFieldID: 2, Options: map[string]string{"bucket": "2"},
		PartitionKeys: []string{"s", "n"}, PrimaryKeys: []string{"s", "n", "id"},
	}
	if err := fs.CreateIfAbsent(ctx, l.SchemaFile(0), s.JSON()); err != nil {
		t.Fatal(err)
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fs, Table: l, Names: layout.NewNamer(e), Env: e, Partition: s.Select(s.PartitionKeys)})
	if err != nil {
		t.Fatal(err)
	}
	row := func(fields []types.Field, values ...types.Value) binaryrow.Row {
		ts := make([]types.Type, len(fields))
		for i, f := range fields {
			ts[i] = f.Type
		}
		r, err := binaryrow.Encode(ts, values)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	none := int64(0)
	bounds := datafile.Stats{
		Min: row(fields, nil, nil, int64(1)), Max: row(fields, nil, nil, int64(9)), NullCounts: []*int64{nil, nil, &none},
	}
	var metas []manifest.FileMeta
	for i, p := range places {
		for bucket, levels := range [][]int32{{0, 5}, {0}} {
			var entries []manifest.Entry
			for _, level := range levels {
				entries = append(entries, manifest.Entry{
					Partition: row(fields[:2], p...), Bucket: int32(bucket), TotalBuckets: 2,
					File: &datafile.Meta{
						FileName: fmt.Sprintf("data-%d-%d-%d.parquet", i, bucket, level), FileSize: 10, RowCount: int64(100*i + bucket), Level: level,
						MinKey: row(fields[2:], int64(1)), MaxKey: row(fields[2:], int64(9)), KeyStats: datafile.EmptyStats(), ValueStats: bounds,
						ExtraFiles: []string{}, DeleteRowCount: &none,
					},
				})
			}
			added, err := manifests.WriteManifests(ctx, entries)
			if err != nil {
				t.Fatal(err)
			}
			metas = append(metas, added...)
		}
	}
	snap := &snapshot.Snapshot{Version: snapshot.Version, ID: 1, CommitUser: "u", CommitKind: snapshot.Append}
	if snap.BaseManifestList, _, err = manifests.WriteList(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if snap.DeltaManifestList, _, err = manifests.WriteList(ctx, metas); err != nil {
		t.Fatal(err)
	}
	if err := fs.CreateIfAbsent(ctx, l.SnapshotFile(1), snap.Marshal()); err != nil {
		t.Fatal(err)
	}
	return Config{Config: plan.Config{
		FileIO: fs, Layout: l, Schema: s, Options: o, Schemas: schema.NewStore(fs, l.Dir, e), Snapshots: snapshot.NewStore(fs, l), Manifests: manifests,
	}}, fs
}

// TestWhereReadsLess: what is asked of partitions, buckets and levels leaves
// manifests out, and never a row.
func TestWhereReadsLess(t *testing.T) {
	cfg, fs := placed(t)
	all := 2 * len(places)
	for _, c := range []struct {
		table, where    string
		manifests, rows int
	}{
		{"files", "", all, 33},
		{"files", "record_count >= 0", all, 33},
		{"files", "partition = '{a, 1}'", 2, 3},
		{"files", "partition in ('{a, 1}', '{b, 1}', '{z, 1}')", 4, 6},
		{"files", "partition = '{a, 1}' and bucket = 1", 1, 1},
		{"files", "partition = '{a, 1}' and level = 5", 1, 1},
		{"files", "partition = '{a, 1}' or bucket = 1", all, 13},
		{"files", "bucket = 1", all / 2, 11},
		{"files", "bucket in (0, 7)", all / 2, 22},
		{"files", "bucket > 1", 0, 0},
		{"files", "not (bucket = 0)", all / 2, 11},
		{"files", "level = 5", all / 2, 11},
		{"files", "level > 0 and bucket = 1", 0, 0},
		{"files", "level = 3", all / 2, 0},
		// Both a null and the text are shown so.
		{"files", "partition = '{null, 1}'", 4, 6},
		{"files", "partition = '{b, null}'", 2, 3},
		// Where a value may hold what stands between values, partitions are told by
		// their texts alone.
		{"files", "partition = '{a, 1, 2}'", all, 3},
		{"files", "partition like '{a, %'", all, 9},
		{"files", "partition = '{{, -7}'", 2, 3},
		{"files", "partition = '{a, x}'", 4, 0},
		{"files", "partition = '{a}'", 0, 0},
		{"files", "partition = 'a, 1'", 0, 0},
		{"files", "partition = '{'", 0, 0},
		{"files", "partition = '{z, 1}'", 0, 0},
		{"files", "partition is null", all, 0},
		{"buckets", "", all, 22},
		{"buckets", "partition = '{b, 1}' and bucket <= 0", 1, 1},
		{"buckets", "record_count > 300 and bucket = 1", all / 2, 8},
		{"partitions", "", all, 11},
		{"partitions", "partition = 's=a/n=1'", 2, 1},
		{"partitions", "partition in ('s=a/n=1', 's=b/n=2', 's=b/n=1') and file_count = 3", 4, 2},
		{"partitions", "partition = 's=a/n=1/n=2'", all, 1},
		// Null, blank and the name of both are one text.
		{"partitions", "partition = 's=__DEFAULT_PARTITION__/n=3'", 4, 2},
		{"partitions", "partition = 's=__DEFAULT_PARTITION__/n=1'", 8, 1},
		{"partitions", "partition = 's=b/n=__DEFAULT_PARTITION__'", 4, 1},
		{"partitions", "partition = '{a, 1}'", 0, 0},
		{"partitions", "partition = 'n=1/s=a'", 0, 0},
		{"partitions", "partition = ''", 0, 0},
	} {
		fs.manifests = 0
		got := rowsOf(t, cfg, c.table, c.where, Request{})
		if fs.manifests != c.manifests || len(got) != c.rows {
			t.Errorf("$%s where %s: %d manifests opened, %d rows, want %d and %d", c.table, c.where, fs.manifests, len(got), c.manifests, c.rows)
		}
		want := unnarrowed(t, cfg, c.table, c.where)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("$%s where %s: %q, want %q", c.table, c.where, got, want)
		}
	}
}

// unnarrowed are the rows of a table that is made whole and filtered then.
func unnarrowed(t *testing.T, cfg Config, name, where string) []string {
	t.Helper()
	whole := sources[name]
	s := source{whole.fields, func(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
		return whole.rows(ctx, cfg, Request{})
	}}
	out := rowsFrom(t, cfg, s, Request{Where: bound(t, name, where)})
	slices.Sort(out)
	return out
}

// TestStatisticsOnDemand: only who asks for statistics has them made.
func TestStatisticsOnDemand(t *testing.T) {
	cfg, _ := placed(t)
	for _, c := range []struct {
		where   string
		columns []string
		want    bool
	}{
		{"", nil, true},
		{"", []string{"bucket", "max_value_stats"}, true},
		{"min_value_stats like '{id=1%'", []string{"bucket"}, true},
		{"null_value_counts is not null", []string{}, true},
		{"bucket = 1", []string{"min_key", "level"}, false},
	} {
		req := Request{Columns: c.columns, Where: bound(t, "files", c.where)}
		if got := req.reads("null_value_counts", "min_value_stats", "max_value_stats"); got != c.want {
			t.Errorf("%v where %s: %v", c.columns, c.where, got)
		}
	}
	if got := rowsOf(t, cfg, "files", "min_value_stats = '{id=1, n=null, s=null}' and bucket = 1", Request{Columns: []string{"bucket"}}); len(got) != len(places) {
		t.Errorf("%d rows by their statistics: %q", len(got), got)
	}
	want := "[1] | [9] | {id=9, n=null, s=null}"
	if got := rowsOf(t, cfg, "files", "bucket = 1", Request{Columns: []string{"min_key", "max_key", "max_value_stats"}, Limit: 1}); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	if got := rowsOf(t, cfg, "files", "", Request{Columns: []string{"min_key", "record_count"}, Limit: 1}); len(got) != 1 || got[0] != "[1] | 0" {
		t.Errorf("%q", got)
	}
}
