package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/split"
)

func TestPlainFilesOfASplit(t *testing.T) {
	none, some, away := int64(0), int64(1), "file:///else/g.parquet"
	files := []*datafile.Meta{
		{FileName: "a.parquet", RowCount: 1, DeleteRowCount: &none},
		{FileName: "b.parquet", RowCount: 2, DeleteRowCount: &some},
		{FileName: "c.parquet", RowCount: 4}, // of an old writer: nobody knows
		{FileName: "d.orc", RowCount: 8, DeleteRowCount: &none},
		{FileName: "e.parquet", RowCount: 16, DeleteRowCount: &none},
		{FileName: "f.parquet", RowCount: 32, DeleteRowCount: &none, WriteCols: []string{"x"}},
		{FileName: "g.parquet", RowCount: 64, DeleteRowCount: &none, ExternalPath: &away},
		{FileName: "h.parquet", RowCount: 128, DeleteRowCount: &none},
	}
	s := Split{&split.Split{BucketPath: "file:/t/bucket-0", Files: files, RawConvertible: true, Deletions: make([]*split.DeletionFile, len(files))}}
	s.s.Deletions[4] = &split.DeletionFile{Path: "index"}
	plain, rest, more := s.Plain(func(f DataFile) bool { return !strings.HasSuffix(f.URI, "h.parquet") })
	got := ""
	for _, f := range plain {
		got += fmt.Sprint(f.URI, " ", f.Rows, "; ")
	}
	if want := "file:/t/bucket-0/a.parquet 1; file:///else/g.parquet 64; "; got != want || !more {
		t.Errorf("%s, want %s", got, want)
	}
	if rest.RowCount()+1+64 != s.RowCount() || len(rest.s.Deletions) != len(rest.s.Files) || rest.s.Deletions[3] == nil {
		t.Errorf("the rest is %v", rest.s)
	}
	s.s.RawConvertible = false
	if plain, rest, more := s.Plain(func(DataFile) bool { return true }); plain != nil || rest != s || !more {
		t.Errorf("rows that need a merge: %v", plain)
	}
	one := Split{&split.Split{Files: files[:1], RawConvertible: true}}
	if plain, _, more := one.Plain(func(DataFile) bool { return true }); len(plain) != 1 || more {
		t.Error("nothing is to be left")
	}
}
