package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// partitionOf is the row (n, "p"+n); a negative n gives nulls.
func partitionOf(t testing.TB, n int) binaryrow.Row {
	t.Helper()
	vs := []types.Value{nil, nil}
	if n >= 0 {
		vs = []types.Value{int64(n), fmt.Sprint("p", n)}
	}
	row, err := binaryrow.Encode([]types.Type{types.MustParse("INT"), types.MustParse("STRING")}, vs)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// entryOf is an entry of file data-n in partition p, bucket n mod 4, level n mod 3.
func entryOf(t testing.TB, kind Kind, p, n int) Entry {
	t.Helper()
	key := partitionOf(t, n)
	zero := int64(0)
	source := datafile.Append
	created := int64(1_700_000_000_000 + n)
	return Entry{Kind: kind, Partition: partitionOf(t, p), Bucket: int32(n % 4), TotalBuckets: 4, File: &datafile.Meta{
		FileName: fmt.Sprintf("data-6f0a3b1e-0000-4000-8000-%012d.parquet", n), FileSize: int64(1000 + n), RowCount: 10, MinKey: key, MaxKey: key,
		KeyStats:    datafile.Stats{Min: key, Max: key, NullCounts: []*int64{&zero, &zero}},
		ValueStats:  datafile.Stats{Min: key, Max: key, NullCounts: []*int64{&zero, nil}},
		MinSequence: int64(n), MaxSequence: int64(n + 9), SchemaID: int64(n % 2), Level: int32(n % 3), ExtraFiles: []string{},
		CreationMillis: &created, DeleteRowCount: &zero, FileSource: &source,
	}}
}

func fileNames(entries []Entry) string {
	var out []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.File.FileName, ".parquet")
		name = strings.TrimLeft(name[strings.LastIndexByte(name, '-')+1:], "0")
		out = append(out, map[Kind]string{Add: "+", Delete: "-"}[e.Kind]+name)
	}
	return strings.Join(out, " ")
}

func TestFilters(t *testing.T) {
	s, _ := newTestStore(t, nil)
	ctx := context.Background()
	var entries []Entry
	for n := 1; n <= 12; n++ {
		kind := Add
		if n%6 == 0 {
			kind = Delete
		}
		entries = append(entries, entryOf(t, kind, n%3, n))
	}
	metas, err := s.WriteManifests(ctx, entries)
	if err != nil {
		t.Fatal(err)
	}
	second := string(partitionOf(t, 2))
	for name, c := range map[string]struct {
		filter EntryFilter
		want   string
	}{
		"all":        {EntryFilter{}, "+1 +2 +3 +4 +5 -6 +7 +8 +9 +10 +11 -12"},
		"partition":  {EntryFilter{Partition: func(p binaryrow.Row) bool { return string(p) == second }}, "+2 +5 +8 +11"},
		"bucket":     {EntryFilter{Bucket: func(b, total int32) bool { return b == 1 && total == 4 }}, "+1 +5 +9"},
		"level":      {EntryFilter{Level: func(l int32) bool { return l == 0 }}, "+3 -6 +9 -12"},
		"kind":       {EntryFilter{Kind: func(k Kind) bool { return k == Delete }}, "-6 -12"},
		"keep":       {EntryFilter{Keep: func(e *Entry) bool { return e.File.FileSize > 1010 }}, "+11 -12"},
		"two":        {EntryFilter{Level: func(l int32) bool { return l == 0 }, Kind: func(k Kind) bool { return k == Add }}, "+3 +9"},
		"with stats": {EntryFilter{WithoutStats: true, Keep: func(e *Entry) bool { return e.File.KeyStats.Min.Arity() == 2 && e.Bucket == 2 }}, "+2 -6 +10"},
	} {
		got, err := s.ReadManifest(ctx, metas[0], c.filter)
		if err != nil || fileNames(got) != c.want {
			t.Errorf("%s: %q %v, want %q", name, fileNames(got), err, c.want)
		}
		for _, e := range got {
			if c.filter.WithoutStats != (e.File.KeyStats.Min.Arity() == 0) {
				t.Errorf("%s: statistics %x", name, e.File.KeyStats.Min)
			}
		}
	}
}

// Entries without statistics are copies: nothing of the manifest's bytes shows through.
func TestWithoutStatsKeepsTheRest(t *testing.T) {
	for _, compression := range []string{"zstd", "null"} {
		s, _ := newTestStore(t, func(c *Config) { c.Compression = compression })
		ctx := context.Background()
		var entries []Entry
		for n := range 1000 { // several blocks
			e := entryOf(t, Add, n%3, n)
			e.File.ExtraFiles = []string{e.File.FileName + ".index"}
			e.File.EmbeddedIndex = []byte{byte(n)}
			entries = append(entries, e)
		}
		metas, err := s.WriteManifests(ctx, entries)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.ReadManifest(ctx, metas[0], EntryFilter{WithoutStats: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			m := *entries[i].File
			m.KeyStats, m.ValueStats, m.ValueStatsCols = datafile.EmptyStats(), datafile.EmptyStats(), []string{}
			entries[i].File = &m
		}
		if diff := differ(entries, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", compression, diff)
		}
	}
}

func TestRolling(t *testing.T) {
	s, fio := newTestStore(t, func(c *Config) { c.TargetSize = 10_000; c.Workers = 3 })
	ctx := context.Background()
	var entries []Entry
	for n := range 4500 {
		entries = append(entries, entryOf(t, Kind(n/4400), n/1000, n))
	}
	metas, err := s.WriteManifests(ctx, entries)
	if err != nil {
		t.Fatal(err)
	}
	if len(metas) != 5 {
		t.Fatalf("%d manifests, want one per thousand entries", len(metas))
	}
	for i, m := range metas {
		info, err := fio.Stat(ctx, s.cfg.Table.ManifestFile(m.FileName))
		if err != nil || info.Size != m.FileSize {
			t.Errorf("manifest %d has %d bytes %v, its line says %d", i, info.Size, err, m.FileSize)
		}
		lo, err := m.PartitionStats.Min.Value(0, types.MustParse("INT"))
		if err != nil || lo != int64(i) {
			t.Errorf("manifest %d begins with partition %v %v", i, lo, err)
		}
	}
	if last := metas[4]; last.Added != 400 || last.Deleted != 100 {
		t.Errorf("last manifest adds %d and deletes %d", last.Added, last.Deleted)
	}
	got, err := s.ReadAll(ctx, metas, EntryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := differ(entries, got); diff != "" {
		t.Error(diff)
	}
	name, size, err := s.WriteList(ctx, metas)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ReadList(ctx, name, &size)
	if err != nil {
		t.Fatal(err)
	}
	if diff := differ(metas, list); diff != "" {
		t.Error(diff)
	}
	// A consumer that stops early stops the readers too.
	n := 0
	for range s.ReadManifests(ctx, metas, EntryFilter{}) {
		if n++; n == 2 {
			break
		}
	}
}

func TestEmptyLists(t *testing.T) {
	s, _ := newTestStore(t, nil)
	ctx := context.Background()
	if metas, err := s.WriteManifests(ctx, nil); err != nil || len(metas) != 0 {
		t.Errorf("no entries: %v %v", metas, err)
	}
	name, size, err := s.WriteList(ctx, nil)
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	if metas, err := s.ReadList(ctx, name, &size); err != nil || len(metas) != 0 {
		t.Errorf("empty list: %v %v", metas, err)
	}
	name, _, err = s.WriteIndex(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if es, err := s.ReadIndex(ctx, name); err != nil || len(es) != 0 {
		t.Errorf("empty index manifest: %v %v", es, err)
	}
}

func TestIndexManifests(t *testing.T) {
	s, _ := newTestStore(t, nil)
	ctx := context.Background()
	n, path := int64(3), "oss://b/i"
	want := []IndexEntry{
		{Partition: partitionOf(t, 1), Bucket: 2, IndexType: "HASH", FileName: "index-1", FileSize: 40, RowCount: 10},
		{Kind: Delete, Partition: partitionOf(t, -1), IndexType: "DELETION_VECTORS", FileName: "index-2", FileSize: 41, RowCount: 2, ExternalPath: &path,
			Vectors: []VectorRange{{"data-1", 1, 22, &n}, {"data-2", 31, 22, nil}}},
		{Partition: partitionOf(t, 1), IndexType: "DELETION_VECTORS", FileName: "index-3", FileSize: 1, Vectors: []VectorRange{}},
		{Partition: partitionOf(t, 1), IndexType: "btree", FileName: "g", Global: &GlobalIndex{RowRangeStart: 1, RowRangeEnd: 9, FieldID: 3, ExtraFieldIDs: []int32{4}, Meta: []byte{1}}},
		{Partition: partitionOf(t, 1), IndexType: "bitmap", FileName: "h", Global: &GlobalIndex{}},
	}
	name, _, err := s.WriteIndex(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.ReadIndex(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := differ(want, got); diff != "" {
		t.Error(diff)
	}
}

// A manifest cut or changed anywhere is Corrupt, with its path; never a panic,
// never entries that are not there.
func TestDamagedManifests(t *testing.T) {
	s, fio := newTestStore(t, func(c *Config) { c.Compression = "snappy" })
	ctx := context.Background()
	entries := []Entry{entryOf(t, Add, 0, 1), entryOf(t, Delete, 1, 2)}
	metas, err := s.WriteManifests(ctx, entries)
	if err != nil {
		t.Fatal(err)
	}
	path := s.cfg.Table.ManifestFile(metas[0].FileName)
	data, err := fileio.ReadFile(ctx, fio, path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) error {
		if err := fio.Replace(ctx, path, b); err != nil {
			t.Fatal(err)
		}
		got, err := s.ReadManifest(ctx, metas[0], EntryFilter{})
		// A copy from elsewhere among equal bytes decompresses to the same records.
		if err == nil && cmp.Equal(entries, got) {
			return tarnerr.Corrupt
		}
		return err
	}
	for n := range data {
		if err := read(data[:n]); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), path) {
			t.Fatalf("cut at %d: %v, want Corrupt with the path", n, err)
		}
	}
	header := bytes.LastIndex(data[:len(data)-20], data[len(data)-16:]) // where the first marker begins
	for i := header; i < len(data); i++ {
		b := bytes.Clone(data)
		b[i] ^= 0x10
		if err := read(b); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Fatalf("byte %d changed: %v, want Corrupt", i, err)
		}
	}
	if _, err := s.ReadManifest(ctx, FileMeta{FileName: "manifest-gone"}, EntryFilter{}); err == nil || tarnerr.KindOf(err) != tarnerr.NotFound {
		t.Errorf("missing manifest: %v, want NotFound", err)
	}
}

// boxOf is a container of one block with one record.
func boxOf(codec, schema string, record []byte) []byte {
	var b bytes.Buffer
	b.Write(append(ocf.AppendHeader(nil, schema, codec), make([]byte, ocf.MarkerSize)...))
	b.Write(append(appendLong(appendLong(nil, 1), int64(len(record))), record...))
	b.Write(make([]byte, ocf.MarkerSize))
	return b.Bytes()
}

func TestVersionsAndCodecs(t *testing.T) {
	s, _ := newTestStore(t, func(c *Config) { c.Compression = "null" })
	e := entryOf(t, Add, 0, 1)
	record := appendEntry(nil, &e)
	if _, err := s.decodeEntries(boxOf("null", entrySchema(), record), EntryFilter{}); err != nil {
		t.Fatal(err)
	}
	later := append(appendLong(nil, 3), record[1:]...)
	missing := strings.Replace(entrySchema(), `"_FILE_NAME"`, `"_OTHER"`, 1)
	wrongType := strings.Replace(entrySchema(), `{"name":"_BUCKET","type":"int"}`, `{"name":"_BUCKET","type":"string"}`, 1)
	for name, c := range map[string]struct {
		data []byte
		want tarnerr.Kind
	}{
		"later version":  {boxOf("null", entrySchema(), later), tarnerr.Unsupported},
		"first version":  {boxOf("null", entrySchema(), append(appendLong(nil, 1), record[1:]...)), tarnerr.Unsupported},
		"xz":             {boxOf("xz", entrySchema(), record), tarnerr.Unsupported},
		"bzip2":          {boxOf("bzip2", entrySchema(), record), tarnerr.Corrupt}, // which the record is not
		"Parquet":        {[]byte("PAR1…"), tarnerr.Unsupported},
		"ORC":            {[]byte("ORC…"), tarnerr.Unsupported},
		"text":           {[]byte("hello"), tarnerr.Corrupt},
		"missing column": {boxOf("null", missing, record), tarnerr.Corrupt},
		"wrong type":     {boxOf("null", wrongType, record), tarnerr.Corrupt},
		"not a record":   {boxOf("null", `"int"`, record), tarnerr.Corrupt},
		"no JSON":        {boxOf("null", `{`, record), tarnerr.Corrupt},
		"unknown type":   {boxOf("null", `{"type":"nothing"}`, record), tarnerr.Corrupt},
		"one byte more":  {boxOf("null", entrySchema(), append(bytes.Clone(record), 0)), tarnerr.Corrupt},
		"endless":        {boxOf("null", `{"type":"record","name":"r","fields":[{"name":"f","type":"r"}]}`, record), tarnerr.Unsupported},
	} {
		if es, err := s.decodeEntries(c.data, EntryFilter{}); err == nil || tarnerr.KindOf(err) != c.want {
			t.Errorf("%s: %d entries, %v, want %v", name, len(es), err, c.want)
		}
	}
	if _, err := NewStore(Config{Compression: "lz4"}); err == nil || tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("lz4: %v, want Unsupported", err)
	}
}

// TestBombs: what decompresses beyond all measure is no manifest.
func TestBombs(t *testing.T) {
	s, _ := newTestStore(t, func(*Config) {})
	one := s.zstd.EncodeAll(make([]byte, 40<<20), nil)
	data := append(ocf.AppendHeader(nil, entrySchema(), ocf.CodecZstd), make([]byte, ocf.MarkerSize)...)
	for range 3 {
		data = append(appendBytes(appendLong(data, 1<<20), one), make([]byte, ocf.MarkerSize)...)
	}
	box, err := openContainer(data)
	if err != nil {
		t.Fatal(err)
	}
	block, _, _, err := box.next(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := box.next(block); !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "decompresses to more") {
		t.Errorf("80 MiB of %d bytes: %v", len(data), err)
	}
}

func FuzzContainer(f *testing.F) {
	s, fio := newTestStore(f, func(c *Config) { c.Compression = "null" })
	ctx := context.Background()
	metas, err := s.WriteManifests(ctx, []Entry{entryOf(f, Add, 0, 1), entryOf(f, Delete, -1, 2)})
	if err != nil {
		f.Fatal(err)
	}
	list, _, err := s.WriteList(ctx, metas)
	if err != nil {
		f.Fatal(err)
	}
	index, _, err := s.WriteIndex(ctx, []IndexEntry{{Partition: binaryrow.Empty, Vectors: []VectorRange{{DataFile: "d"}}, Global: &GlobalIndex{}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{metas[0].FileName, list, index} {
		data, err := fileio.ReadFile(ctx, fio, s.cfg.Table.ManifestFile(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for i, read := range []func() error{
			func() error { _, err := s.decodeEntries(data, EntryFilter{}); return err },
			func() error { _, err := decodeList(s.schemas, data); return err },
			func() error { _, err := decodeIndex(s.schemas, data); return err },
		} {
			if err := read(); err != nil {
				if k := tarnerr.KindOf(err); k != tarnerr.Corrupt && k != tarnerr.Unsupported {
					t.Fatalf("reader %d: %v is %v", i, err, k)
				}
			}
		}
	})
}
