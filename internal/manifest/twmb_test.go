package manifest

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/types"
)

// The structs below are how another Avro library sees our records.

type avroStats struct {
	Min    []byte    `avro:"_MIN_VALUES"`
	Max    []byte    `avro:"_MAX_VALUES"`
	Counts *[]*int64 `avro:"_NULL_COUNTS"`
}

type avroFile struct {
	Name     string    `avro:"_FILE_NAME"`
	Size     int64     `avro:"_FILE_SIZE"`
	Rows     int64     `avro:"_ROW_COUNT"`
	MinKey   []byte    `avro:"_MIN_KEY"`
	MaxKey   []byte    `avro:"_MAX_KEY"`
	Key      avroStats `avro:"_KEY_STATS"`
	Value    avroStats `avro:"_VALUE_STATS"`
	MinSeq   int64     `avro:"_MIN_SEQUENCE_NUMBER"`
	MaxSeq   int64     `avro:"_MAX_SEQUENCE_NUMBER"`
	Schema   int64     `avro:"_SCHEMA_ID"`
	Level    int32     `avro:"_LEVEL"`
	Extra    []string  `avro:"_EXTRA_FILES"`
	Created  *int64    `avro:"_CREATION_TIME"`
	Deletes  *int64    `avro:"_DELETE_ROW_COUNT"`
	Index    *[]byte   `avro:"_EMBEDDED_FILE_INDEX"`
	Source   *int32    `avro:"_FILE_SOURCE"`
	StatCols *[]string `avro:"_VALUE_STATS_COLS"`
	External *string   `avro:"_EXTERNAL_PATH"`
	FirstRow *int64    `avro:"_FIRST_ROW_ID"`
	Columns  *[]string `avro:"_WRITE_COLS"`
}

type avroEntry struct {
	Version   int32    `avro:"_VERSION"`
	Kind      int32    `avro:"_KIND"`
	Partition []byte   `avro:"_PARTITION"`
	Bucket    int32    `avro:"_BUCKET"`
	Total     int32    `avro:"_TOTAL_BUCKETS"`
	File      avroFile `avro:"_FILE"`
}

func deref[T any](p *[]T) []T {
	if p == nil {
		return nil
	}
	if *p == nil {
		return []T{}
	}
	return *p
}

func refer[T any](s []T) *[]T {
	if s == nil {
		return nil
	}
	return &s
}

func (e *avroEntry) entry() Entry {
	f := &e.File
	out := Entry{Kind: Kind(e.Kind), Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.Total, File: &datafile.Meta{
		FileName: f.Name, FileSize: f.Size, RowCount: f.Rows, MinKey: f.MinKey, MaxKey: f.MaxKey,
		KeyStats:    datafile.Stats{Min: f.Key.Min, Max: f.Key.Max, NullCounts: deref(f.Key.Counts)},
		ValueStats:  datafile.Stats{Min: f.Value.Min, Max: f.Value.Max, NullCounts: deref(f.Value.Counts)},
		MinSequence: f.MinSeq, MaxSequence: f.MaxSeq, SchemaID: f.Schema, Level: f.Level, ExtraFiles: f.Extra,
		CreationMillis: f.Created, DeleteRowCount: f.Deletes, EmbeddedIndex: deref(f.Index), ValueStatsCols: deref(f.StatCols),
		ExternalPath: f.External, FirstRowID: f.FirstRow, WriteCols: deref(f.Columns),
	}}
	if f.Source != nil {
		s := datafile.Source(*f.Source)
		out.File.FileSource = &s
	}
	return out
}

func avroOf(e Entry) *avroEntry {
	m := e.File
	out := &avroEntry{Version: entryVersion, Kind: int32(e.Kind), Partition: e.Partition, Bucket: e.Bucket, Total: e.TotalBuckets, File: avroFile{
		Name: m.FileName, Size: m.FileSize, Rows: m.RowCount, MinKey: m.MinKey, MaxKey: m.MaxKey,
		Key:    avroStats{m.KeyStats.Min, m.KeyStats.Max, refer(m.KeyStats.NullCounts)},
		Value:  avroStats{m.ValueStats.Min, m.ValueStats.Max, refer(m.ValueStats.NullCounts)},
		MinSeq: m.MinSequence, MaxSeq: m.MaxSequence, Schema: m.SchemaID, Level: m.Level, Extra: m.ExtraFiles,
		Created: m.CreationMillis, Deletes: m.DeleteRowCount, Index: refer(m.EmbeddedIndex), StatCols: refer(m.ValueStatsCols),
		External: m.ExternalPath, FirstRow: m.FirstRowID, Columns: refer(m.WriteCols),
	}}
	if m.FileSource != nil {
		s := int32(*m.FileSource)
		out.File.Source = &s
	}
	return out
}

// Empty and missing lists of extra files are the same to Avro; others are not.
var sameEntries = cmp.Options{
	cmpopts.EquateEmpty(),
}

func genRow(t *rapid.T) binaryrow.Row {
	row, err := binaryrow.Encode([]types.Type{types.MustParse("INT"), types.MustParse("STRING")},
		[]types.Value{int64(rapid.Int32().Draw(t, "int")), rapid.StringN(0, 12, 20).Draw(t, "text")})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	if rapid.Bool().Draw(t, label+" set") {
		v := g.Draw(t, label)
		return &v
	}
	return nil
}

func names(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,8}`), 0, 3).Draw(t, label)
}

func genEntry(t *rapid.T) Entry {
	stats := func(label string) datafile.Stats {
		s := datafile.Stats{Min: genRow(t), Max: genRow(t)}
		for range rapid.IntRange(0, 3).Draw(t, label) {
			s.NullCounts = append(s.NullCounts, maybe(t, rapid.Int64(), label))
		}
		return s
	}
	m := &datafile.Meta{
		FileName: rapid.StringMatching(`data-[a-f0-9]{8}-\d\.parquet`).Draw(t, "name"), FileSize: rapid.Int64().Draw(t, "size"), RowCount: rapid.Int64().Draw(t, "rows"),
		MinKey: genRow(t), MaxKey: genRow(t), KeyStats: stats("key"), ValueStats: stats("value"),
		MinSequence: rapid.Int64().Draw(t, "min seq"), MaxSequence: rapid.Int64().Draw(t, "max seq"), SchemaID: rapid.Int64Range(0, 9).Draw(t, "schema"),
		Level: rapid.Int32Range(0, 5).Draw(t, "level"), ExtraFiles: names(t, "extra"),
		CreationMillis: maybe(t, rapid.Int64(), "created"), DeleteRowCount: maybe(t, rapid.Int64(), "deletes"),
		ExternalPath: maybe(t, rapid.String(), "external"), FirstRowID: maybe(t, rapid.Int64(), "row id"),
	}
	if rapid.Bool().Draw(t, "index") {
		m.EmbeddedIndex = rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "index bytes")
	}
	if rapid.Bool().Draw(t, "columns") {
		m.ValueStatsCols, m.WriteCols = names(t, "stats columns"), names(t, "write columns")
	}
	if s := maybe(t, rapid.SampledFrom([]datafile.Source{datafile.Append, datafile.Compact}), "source"); s != nil {
		m.FileSource = s
	}
	return Entry{Kind: rapid.SampledFrom([]Kind{Add, Delete}).Draw(t, "kind"), Partition: genRow(t), Bucket: rapid.Int32Range(-2, 9).Draw(t, "bucket"), TotalBuckets: rapid.Int32Range(-2, 9).Draw(t, "total"), File: m}
}

// newTestStore returns a store of an empty table partitioned by INT and STRING.
func newTestStore(t testing.TB, change func(*Config)) (*Store, *mem.FS) {
	t.Helper()
	e := env.Seeded(7, time.Unix(0, 0))
	fio := mem.New(mem.Posix)
	cfg := Config{FileIO: fio, Table: layout.Table{Dir: "/t"}, Names: layout.NewNamer(e), Env: e, Partition: []types.Field{
		{Name: "i", Type: types.MustParse("INT")}, {Name: "s", Type: types.MustParse("STRING")},
	}}
	if change != nil {
		change(&cfg)
	}
	s, err := NewStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, fio
}

// What we write another library reads the same, in every compression.
func TestAnotherLibraryReadsOurs(t *testing.T) {
	for _, compression := range []string{"zstd", "snappy", "deflate", "null"} {
		t.Run(compression, func(t *testing.T) {
			s, fio := newTestStore(t, func(c *Config) { c.Compression = compression })
			rapid.Check(t, func(r *rapid.T) {
				var entries []Entry
				for range rapid.IntRange(1, 5).Draw(r, "entries") {
					entries = append(entries, genEntry(r))
				}
				ctx := context.Background()
				metas, err := s.WriteManifests(ctx, entries)
				if err != nil {
					r.Fatal(err)
				}
				if len(metas) != 1 {
					r.Fatalf("%d manifests", len(metas))
				}
				data, err := fileio.ReadFile(ctx, fio, s.cfg.Table.ManifestFile(metas[0].FileName))
				if err != nil {
					r.Fatal(err)
				}
				if diff := differ(entries, twmbEntries(r, data), sameEntries); diff != "" {
					r.Fatalf("another library's reading (-want +got):\n%s", diff)
				}
				ours, err := s.ReadManifest(ctx, metas[0], EntryFilter{})
				if err != nil {
					r.Fatal(err)
				}
				if diff := differ(entries, ours, sameEntries); diff != "" {
					r.Fatalf("our reading (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func twmbEntries(t interface{ Fatal(...any) }, data []byte) []Entry {
	rd, err := ocf.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	var out []Entry
	for {
		var e avroEntry
		if err := rd.Decode(&e); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.entry())
	}
}

// otherSchemas are writers' schemas that say the same in other ways.
var otherSchemas = map[string]func(string) string{
	"as written":      func(s string) string { return s },
	"nullable record": func(s string) string { return `["null",` + s + `]` },
	"null last": func(s string) string {
		s = strings.ReplaceAll(s, `["null","long"],"default":null`, `["long","null"]`)
		return strings.ReplaceAll(s, `["null","string"],"default":null`, `["string","null"]`)
	},
	"file first": func(s string) string {
		head, rest, _ := strings.Cut(s, `{"name":"_VERSION","type":"int"},`)
		columns, file, _ := strings.Cut(rest, `{"name":"_FILE","type"`)
		return head + `{"name":"_FILE","type"` + strings.TrimSuffix(file, "]}") + "," + columns + `{"name":"_VERSION","type":"int"}]}`
	},
	"columns of a later release": func(s string) string {
		return strings.Replace(s, `{"name":"_ROW_COUNT"`, `{"name":"_LATER","type":{"type":"map","values":{"type":"array","items":["null","double"]}}},{"name":"_ROW_COUNT"`, 1)
	},
	"nullable statistics": func(s string) string {
		i := strings.Index(s, `{"type":"record","name":"record__FILE__KEY_STATS"`)
		j := i + strings.Index(s[i:], `]}},`) + 2
		return s[:i] + `["null",` + s[i:j] + `]` + s[j:]
	},
}

// What another library writes in schemas like those of other releases we read the same.
func TestWeReadAnotherLibrarys(t *testing.T) {
	s := &Store{decoded: new(atomic.Int64)}
	for name, change := range otherSchemas {
		text := change(entrySchema())
		if name != "as written" && text == entrySchema() {
			t.Fatalf("%s: the schema did not change", name)
		}
		schema, err := avro.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				var b bytes.Buffer
				w, err := ocf.NewWriter(&b, schema, ocf.WithCodec(ocf.SnappyCodec()), ocf.WithBlockCount(3))
				if err != nil {
					r.Fatal(err)
				}
				var entries []Entry
				for range rapid.IntRange(1, 5).Draw(r, "entries") {
					e := genEntry(r)
					entries = append(entries, e)
					var v any = avroOf(e)
					if name == "columns of a later release" {
						v = &laterEntry{avroEntry: *avroOf(e), File: laterFile{avroFile: avroOf(e).File, Later: map[string][]*float64{"a": {nil}}}}
					}
					if err := w.Encode(v); err != nil {
						r.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					r.Fatal(err)
				}
				for _, filter := range []EntryFilter{{}, {Bucket: func(b, _ int32) bool { return b > 3 }}} {
					var want []Entry
					for _, e := range entries {
						if filter.takes(&e) {
							want = append(want, e)
						}
					}
					got, err := s.decodeEntries(b.Bytes(), filter)
					if err != nil {
						r.Fatal(err)
					}
					if diff := differ(want, got, sameEntries); diff != "" {
						r.Fatalf("our reading (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

type laterFile struct {
	avroFile
	Later map[string][]*float64 `avro:"_LATER"`
}

type laterEntry struct {
	avroEntry
	File laterFile `avro:"_FILE"`
}

// FuzzEntryBlock decodes arbitrary bytes as one entry with both libraries: what
// both can read they must read the same.
func FuzzEntryBlock(f *testing.F) {
	for _, e := range []Entry{
		{Partition: binaryrow.Empty, File: &datafile.Meta{FileName: "f"}},
		{Kind: Delete, Partition: binaryrow.Empty, Bucket: 3, TotalBuckets: 4, File: &datafile.Meta{
			FileName: "g", ExtraFiles: []string{"x"}, CreationMillis: ptr[int64](5), EmbeddedIndex: []byte{1}, ValueStatsCols: []string{"a", "b"}, ExternalPath: ptr("p"),
			ValueStats: datafile.Stats{NullCounts: []*int64{ptr[int64](1), nil}}, FirstRowID: ptr[int64](9)}},
	} {
		f.Add(appendEntry(nil, &e))
	}
	theirs := avro.MustParse(entrySchema())
	plan := ownSchemas().entryPlan
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newEntryDecoder(plan, EntryFilter{})
		got, err := d.block(cursorOf(data), 1, nil)
		var e avroEntry
		rest, theirErr := theirs.Decode(data, &e)
		if err != nil || theirErr != nil || len(rest) > 0 {
			return
		}
		if diff := differ([]Entry{e.entry()}, got, sameEntries); diff != "" {
			t.Fatalf("another library's reading and ours:\n%s", diff)
		}
		again := appendEntry(nil, &got[0])
		back, err := d.block(cursorOf(again), 1, nil)
		if err != nil {
			t.Fatalf("our own bytes: %v", err)
		}
		if diff := differ(got, back, sameEntries); diff != "" {
			t.Fatalf("read again:\n%s", diff)
		}
	})
}

func cursorOf(block []byte) *cursor {
	c := new(cursor)
	c.begin(block)
	return c
}
