package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// goldenStore opens the manifests of a golden table with its partition columns.
func goldenStore(t testing.TB, g *golden.Table) *Store {
	t.Helper()
	ctx := context.Background()
	table := layout.Table{Dir: g.Path()}
	data, err := fileio.ReadFile(ctx, g.FileIO, table.SchemaFile(0))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Fields        []types.Field `json:"fields"`
		PartitionKeys []string      `json:"partitionKeys"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var fields []types.Field
	for _, k := range schema.PartitionKeys {
		for _, f := range schema.Fields {
			if f.Name == k {
				fields = append(fields, f)
			}
		}
	}
	e := env.Seeded(1, time.Unix(0, 0))
	s, err := NewStore(Config{FileIO: g.FileIO, Table: table, Names: layout.NewNamer(e), Env: e, Partition: fields, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// manifestFiles lists the names in a table's manifest directory by kind.
func manifestFiles(t testing.TB, fio fileio.FileIO, dir string) (manifests, lists, indexes []string) {
	t.Helper()
	for e, err := range fileio.All(context.Background(), fio, dir, fileio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch name := path.Base(e.Path); {
		case strings.HasPrefix(name, layout.ManifestListPrefix):
			lists = append(lists, name)
		case strings.HasPrefix(name, layout.IndexManifestPrefix):
			indexes = append(indexes, name)
		default:
			manifests = append(manifests, name)
		}
	}
	return
}

// writtenBy142 tells whether a golden table is all of Java 1.4.2's making.
func writtenBy142(name string) bool {
	return !strings.HasPrefix(name, "py-") && !strings.HasSuffix(name, "-0.8.2") && !strings.HasSuffix(name, "-1.0.1")
}

// Every manifest, list and index manifest of every golden table decodes, and
// what a list says of a manifest is what we would say. 1.4.2's files encode to
// the same bytes again, header included, but for the compression.
func TestGoldenManifests(t *testing.T) {
	set := golden.Open(t)
	ctx := context.Background()
	for _, name := range set.Names() {
		g := set.Table(t, name)
		s := goldenStore(t, g)
		table := s.cfg.Table
		manifests, lists, indexes := manifestFiles(t, g.FileIO, table.ManifestDir())
		if name == "manifest-parquet" {
			for _, m := range manifests {
				if _, err := s.ReadManifest(ctx, FileMeta{FileName: m}, EntryFilter{}); tarnerr.KindOf(err) != tarnerr.Unsupported {
					t.Errorf("%s: reading a Parquet manifest: %v, want Unsupported", name, err)
				}
			}
			continue
		}
		for _, m := range manifests {
			entries, err := s.ReadManifest(ctx, FileMeta{FileName: m}, EntryFilter{})
			if err != nil {
				t.Errorf("%s/%s: %v", name, m, err)
				continue
			}
			if writtenBy142(name) {
				sameBytes(t, g.FileIO, table.ManifestFile(m), entrySchema(), len(entries), func(dst []byte, i int) []byte { return appendEntry(dst, &entries[i]) })
			}
		}
		for _, l := range lists {
			metas, err := s.ReadList(ctx, l, nil)
			if err != nil {
				t.Errorf("%s/%s: %v", name, l, err)
				continue
			}
			if writtenBy142(name) {
				sameBytes(t, g.FileIO, table.ManifestFile(l), listSchema(), len(metas), func(dst []byte, i int) []byte { return appendFileMeta(dst, &metas[i]) })
			}
			for _, m := range metas {
				checkSummary(t, s, name, m)
			}
		}
		for _, l := range indexes {
			entries, err := s.ReadIndex(ctx, l)
			if err != nil {
				t.Errorf("%s/%s: %v", name, l, err)
				continue
			}
			if writtenBy142(name) {
				sameBytes(t, g.FileIO, table.ManifestFile(l), indexSchema(), len(entries), func(dst []byte, i int) []byte { return appendIndexEntry(dst, &entries[i]) })
			}
		}
	}
}

// checkSummary recomputes a list's line about a manifest from its entries.
func checkSummary(t *testing.T, s *Store, table string, m FileMeta) {
	t.Helper()
	entries, err := s.ReadManifest(context.Background(), m, EntryFilter{})
	if tarnerr.KindOf(orNone(err)) == tarnerr.NotFound {
		return // expired
	}
	if err != nil {
		t.Errorf("%s/%s: %v", table, m.FileName, err)
		return
	}
	sum := newSummary(s.cfg.Partition)
	for i := range entries {
		if err := sum.add(&entries[i]); err != nil {
			t.Fatalf("%s/%s: %v", table, m.FileName, err)
		}
	}
	if len(entries) == 0 {
		return
	}
	got, err := sum.meta(m.FileName, m.FileSize)
	if err != nil {
		t.Fatal(err)
	}
	// Releases before the ranges wrote none.
	if m.MinBucket == nil {
		got.MinBucket, got.MaxBucket, got.MinLevel, got.MaxLevel = nil, nil, nil, nil
	}
	if m.MinRowID == nil && !writtenBy142(table) {
		got.MinRowID, got.MaxRowID = nil, nil
	}
	if diff := differ(m, got); diff != "" {
		t.Errorf("%s/%s: the list's line and ours (-want +got):\n%s", table, m.FileName, diff)
	}
}

func orNone(err error) error {
	if err == nil {
		return tarnerr.Internal
	}
	return err
}

// differ is cmp.Diff, which is slow, only where there is a difference.
func differ(want, got any, opts ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, opts...)
}

// sameBytes encodes n records anew and compares header and decompressed blocks
// with a file's; without compression the whole files.
func sameBytes(t *testing.T, fio fileio.FileIO, file, schema string, n int, record func(dst []byte, i int) []byte) {
	t.Helper()
	want, err := fileio.ReadFile(context.Background(), fio, file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openContainer(want)
	if err != nil {
		t.Fatal(err)
	}
	z, err := newZstd(1)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	w := containerWriter{zstd: z, codec: f.codec, marker: [16]byte(f.marker), write: func(b []byte) error { got.Write(b); return nil }}
	if err := w.begin(schema); err != nil {
		t.Fatal(err)
	}
	if head := want[:f.pos]; !bytes.Equal(got.Bytes(), head) {
		t.Fatalf("%s: header\n%q, want\n%q", file, got.Bytes(), head)
	}
	for i := range n {
		w.records = record(w.records, i)
		if err := w.added(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	if f.codec == ocf.CodecNull && !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("%s: bytes differ", file)
	}
	ours, err := openContainer(got.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for {
		a, na, moreA, err := f.next(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, nb, moreB, err := ours.next(nil)
		if err != nil {
			t.Fatal(err)
		}
		if na != nb || moreA != moreB || !bytes.Equal(a, b) {
			t.Fatalf("%s: block of %d records\n%x, want %d\n%x", file, nb, b, na, a)
		}
		if !moreA {
			return
		}
	}
}
