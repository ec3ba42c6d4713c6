package commitmsg

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func ptr[T any](v T) *T { return &v }

func row(t testing.TB, ts string, vs ...types.Value) binaryrow.Row {
	t.Helper()
	var list []types.Type
	for _, s := range strings.Split(ts, ",") {
		list = append(list, types.MustParse(s))
	}
	r, err := binaryrow.Encode(list, vs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// full and bare are the data files of testdata: one with all columns set, one with none.
func full(t testing.TB, name string) *datafile.Meta {
	return &datafile.Meta{
		FileName: name, FileSize: 1234, RowCount: 10, MinKey: row(t, "INT", int64(1)), MaxKey: row(t, "INT", int64(9)),
		KeyStats:    datafile.Stats{Min: row(t, "INT", int64(1)), Max: row(t, "INT", int64(9)), NullCounts: []*int64{ptr[int64](0)}},
		ValueStats:  datafile.Stats{Min: row(t, "INT,STRING", int64(1), "a"), Max: row(t, "INT,STRING", int64(9), nil), NullCounts: []*int64{ptr[int64](0), nil}},
		MinSequence: 5, MaxSequence: 14, SchemaID: 2, Level: 3, ExtraFiles: []string{name + ".index"},
		CreationMillis: ptr[int64](1700000000123), DeleteRowCount: ptr[int64](4), EmbeddedIndex: []byte{1, 2, 3}, FileSource: ptr(datafile.Compact),
		ValueStatsCols: []string{"k", "v"}, ExternalPath: ptr("oss://b/p/" + name), FirstRowID: ptr[int64](77), WriteCols: []string{"k", "v"},
	}
}

func bare(name string) *datafile.Meta {
	return &datafile.Meta{
		FileName: name, FileSize: 1, RowCount: 2, MinKey: binaryrow.Empty, MaxKey: binaryrow.Empty,
		KeyStats: datafile.EmptyStats(), ValueStats: datafile.EmptyStats(), MaxSequence: 1, ExtraFiles: []string{},
	}
}

// javaMessages are the messages of testdata/messages.txt, by name.
func javaMessages(t testing.TB) map[string]*Message {
	partition := row(t, "STRING,INT", "2024-01-01", int64(5))
	index := func(kind manifest.Kind, e manifest.IndexEntry) manifest.IndexEntry {
		e.Kind, e.Partition, e.Bucket = kind, partition, 3
		return e
	}
	vectors := manifest.IndexEntry{
		IndexType: "DELETION_VECTORS", FileName: "index-1", FileSize: 50, RowCount: 2, ExternalPath: ptr("oss://b/index-1"),
		Vectors: []manifest.VectorRange{{DataFile: "data-1.parquet", Offset: 1, Length: 22, Cardinality: ptr[int64](3)}, {DataFile: "data-2.parquet", Offset: 31, Length: 22}},
	}
	hash := manifest.IndexEntry{IndexType: "HASH", FileName: "index-2", FileSize: 40, RowCount: 10}
	btree := manifest.IndexEntry{
		IndexType: "btree", FileName: "btree-global-index-1.index", FileSize: 60, RowCount: 11,
		Global: &manifest.GlobalIndex{RowRangeStart: 5, RowRangeEnd: 15, FieldID: 3, ExtraFieldIDs: []int32{4, 5}, Meta: []byte{9}},
	}
	bitmap := manifest.IndexEntry{
		IndexType: "bitmap", FileName: "g2.index", FileSize: 61, RowCount: 12, Global: &manifest.GlobalIndex{RowRangeEnd: 1, FieldID: 1},
	}
	return map[string]*Message{
		"empty": {Partition: binaryrow.Empty},
		"full": {
			Partition: partition, Bucket: 3, TotalBuckets: ptr[int32](16),
			NewFiles: []*datafile.Meta{full(t, "a"), bare("b")}, DeletedFiles: []*datafile.Meta{bare("c")}, ChangelogFiles: []*datafile.Meta{bare("d")},
			NewIndex:      []manifest.IndexEntry{index(manifest.Add, vectors), index(manifest.Add, hash)},
			DeletedIndex:  []manifest.IndexEntry{index(manifest.Delete, btree)},
			CompactBefore: []*datafile.Meta{bare("e")}, CompactAfter: []*datafile.Meta{full(t, "f")}, CompactChangelog: []*datafile.Meta{bare("g"), bare("h")},
			CompactNewIndex:     []manifest.IndexEntry{index(manifest.Add, bitmap)},
			CompactDeletedIndex: []manifest.IndexEntry{index(manifest.Delete, hash)},
		},
	}
}

func javaBytes(t testing.TB, file string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		name, text, _ := strings.Cut(line, "\t")
		if name == "version" {
			if text != "11" {
				t.Fatalf("written by version %s of the serializer", text)
			}
			continue
		}
		if out[name], err = hex.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Java 1.4.2's bytes, both ways.
func TestMessagesOfJava(t *testing.T) {
	want := javaBytes(t, "testdata/messages.txt")
	ours := javaMessages(t)
	if len(want) != len(ours) {
		t.Fatalf("%d messages of Java's, %d of ours", len(want), len(ours))
	}
	for name, m := range ours {
		got, err := m.MarshalBinary()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(got, want[name]) {
			t.Errorf("%s: bytes\n%x, want\n%x", name, got, want[name])
		}
		var back Message
		if err := back.UnmarshalBinary(want[name]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(m, &back); diff != "" {
			t.Errorf("%s: read (-want +got):\n%s", name, diff)
		}
	}
}

// Cut anywhere, a message is Corrupt; of a later version it is Unsupported.
func TestMessagesThatAreNone(t *testing.T) {
	data := javaBytes(t, "testdata/messages.txt")["full"]
	for n := range data {
		if _, err := Decode(Version, data[:n]); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Fatalf("cut at %d: %v, want Corrupt", n, err)
		}
	}
	for _, v := range []int{0, 12, 13} {
		if _, err := Decode(v, data); err == nil || tarnerr.KindOf(err) != tarnerr.Unsupported {
			t.Errorf("version %d: %v, want Unsupported", v, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range javaBytes(f, "testdata/messages.txt") {
		f.Add(11, data)
		f.Add(3, data)
	}
	f.Fuzz(func(t *testing.T, version int, data []byte) {
		m, err := Decode(version, data)
		if err != nil {
			return
		}
		again, err := m.MarshalBinary()
		if err != nil {
			return // a text of Java's in another version may be no text of ours
		}
		if _, err := Decode(Version, again); err != nil {
			t.Fatalf("our own bytes: %v", err)
		}
	})
}
