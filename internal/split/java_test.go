package split

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
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

// javaSplits are the splits of testdata/splits.txt, by name.
func javaSplits(t testing.TB) map[string]*Split {
	return map[string]*Split{
		"full": {
			SnapshotID: 7, Partition: row(t, "STRING,INT", "2024-01-01", int64(5)), Bucket: 3, TotalBuckets: ptr[int32](16),
			BucketPath: "file:/w/db.db/t/dt=2024-01-01/h=5/bucket-3", Files: []*datafile.Meta{full(t, "a"), bare("b")},
			Deletions: []*DeletionFile{{Path: "file:/w/db.db/t/index/index-1", Offset: 1, Length: 22, Cardinality: ptr[int64](3)}, nil},
			Streaming: true,
		},
		"bare": {SnapshotID: 1, Partition: binaryrow.Empty, BucketPath: "grüße\x00😀", Files: []*datafile.Meta{bare("b")}, RawConvertible: true},
		"unknown-cardinality": {
			SnapshotID: 1, Partition: binaryrow.Empty, BucketPath: "x", TotalBuckets: ptr[int32](-1), Files: []*datafile.Meta{bare("b")},
			Deletions: []*DeletionFile{{Path: "y", Offset: 1, Length: 22}}, RawConvertible: true,
		},
	}
}

func javaBytes(t testing.TB) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile("testdata/splits.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		name, text, _ := strings.Cut(line, "\t")
		if out[name], err = hex.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Java 1.4.2's bytes, both ways.
func TestSplitsOfJava(t *testing.T) {
	want := javaBytes(t)
	ours := javaSplits(t)
	if len(want) != len(ours) {
		t.Fatalf("%d splits of Java's, %d of ours", len(want), len(ours))
	}
	for name, s := range ours {
		got, err := s.MarshalBinary()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(got, want[name]) {
			t.Errorf("%s: bytes\n%x, want\n%x", name, got, want[name])
		}
		var back Split
		if err := back.UnmarshalBinary(want[name]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(s, &back); diff != "" {
			t.Errorf("%s: read (-want +got):\n%s", name, diff)
		}
	}
}

func TestSplitsThatAreNone(t *testing.T) {
	data := javaBytes(t)["full"]
	var s Split
	for n := range data {
		if err := s.UnmarshalBinary(data[:n]); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Fatalf("cut at %d: %v, want Corrupt", n, err)
		}
	}
	later := bytes.Clone(data)
	binary.BigEndian.PutUint32(later[8:], 9)
	if err := s.UnmarshalBinary(later); err == nil || tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("version 9: %v, want Unsupported", err)
	}
	if _, err := (&Split{BucketPath: strings.Repeat("x", 1<<16)}).MarshalBinary(); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("path of 64 KiB: %v, want Invalid", err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, data := range javaBytes(f) {
		f.Add(data)
		f.Add(data[12:]) // without magic and version: version 1
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again Split
		if s.UnmarshalBinary(data) != nil {
			return
		}
		ours, err := s.MarshalBinary()
		if err != nil {
			return
		}
		if err := again.UnmarshalBinary(ours); err != nil {
			t.Fatalf("our own bytes: %v", err)
		}
	})
}
