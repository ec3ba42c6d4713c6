//go:build interop

package player

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/interop"
)

// Java and Tarn do the same with a table whose levels differ in format, compression and
// statistics, and write the files of each level alike.
func TestLevelsAreWrittenAlike(t *testing.T) {
	t.Parallel()
	var rows []string
	for k := range 300 {
		rows = append(rows, fmt.Sprintf(`["+I",%d,"%x"]`, k, sha256.Sum256([]byte{byte(k), byte(k >> 8)})))
	}
	large := `{"op":"write","rows":[` + strings.Join(rows, ",") + `]}`
	const full, minor, small = `{"op":"compact","full":true}`, `{"op":"compact","full":false}`, `{"op":"write","rows":[["+I",1,"x"]]}`
	ops := strings.Join([]string{
		`{"op":"create_table","columns":[["k","INT NOT NULL"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1","write-only":"true",
		"num-sorted-run.compaction-trigger":"2","num-levels":"6","file.format.per.level":"0:avro","file.compression":"gzip",
		"file.compression.per.level":"0:snappy,5:none","metadata.stats-mode":"counts","metadata.stats-mode.per.level":"0:none,5:full"}}`,
		large, large, full, small, small, minor,
	}, ",")
	text := json.RawMessage(`{"name":"levels","table":"db.t","ops":[` + ops + `]}`)
	scenario, err := interop.ParseScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := t.TempDir(), t.TempDir()
	if err := judges.of(t).Scenario(t.Context(), theirs, text); err != nil {
		t.Fatal(err)
	}
	if err := replay(t.Context(), ours, scenario); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`0 avro snappy, statistics of columns "": 0 counts of nulls, 0 least values`,
		`4 parquet GZIP, statistics of columns "all": 2 counts of nulls, 0 least values`,
		`5 parquet UNCOMPRESSED, statistics of columns "all": 2 counts of nulls, 2 least values`,
	}
	for who, warehouse := range map[string]string{"Java": theirs, "Tarn": ours} {
		if d := cmp.Diff(want, filesByLevel(t, warehouse)); d != "" {
			t.Errorf("files of %s (-want +got):\n%s", who, d)
		}
	}
}

// filesByLevel says how the files of each level were written that the table's snapshots add.
func filesByLevel(t *testing.T, warehouse string) []string {
	t.Helper()
	ctx, fio := t.Context(), local.New(local.Options{})
	place := layout.Table{Dir: filepath.ToSlash(filepath.Join(warehouse, "db.db", "t"))}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fio, Table: place})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for s, err := range snapshot.NewStore(fio, place).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		metas, err := manifests.ReadList(ctx, s.DeltaManifestList, s.DeltaManifestListSize)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := manifests.ReadAll(ctx, metas, manifest.EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Kind == manifest.Add {
				out = append(out, fmt.Sprint(e.File.Level, " ", writtenAs(t, fio, place.DataFile("", e.Bucket, e.File.FileName), e.File)))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// writtenAs is how a file is written.
func writtenAs(t *testing.T, fio *local.FS, p string, f *datafile.Meta) string {
	t.Helper()
	ending := strings.TrimPrefix(filepath.Ext(p), ".")
	format, err := formats.ByName(ending)
	if err != nil {
		t.Fatal(err)
	}
	in, err := format.Open(t.Context(), fio, p, f.FileSize, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	columns := "all"
	if f.ValueStatsCols != nil {
		columns = strings.Join(f.ValueStatsCols, "+")
	}
	nulls, values := 0, 0
	for i, n := range f.ValueStats.NullCounts {
		if n != nil {
			nulls++
		}
		if !f.ValueStats.Min.IsNull(i) {
			values++
		}
	}
	return fmt.Sprintf("%s %s, statistics of columns %q: %d counts of nulls, %d least values", ending,
		strings.Join(in.(interface{ Codecs() []string }).Codecs(), "+"), columns, nulls, values)
}
