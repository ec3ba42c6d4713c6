package run

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Rows of files of a table with row tracking have the ids that the file carries, or
// else those that its commit gave it; sequence numbers likewise.
func TestTrackedRows(t *testing.T) {
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	first := int64(100)
	carried := []string{"k", "new", "b", types.RowIDName, types.SequenceNumberName}
	all := append(types.RowTrackingFields(), current.Fields[2])
	for name, c := range map[string]struct {
		file datafile.Meta
		rows string
		cols []types.Field
		from int64
		want string
	}{
		"given by the commit": {
			file: datafile.Meta{FirstRowID: &first}, cols: all, rows: `[{"k": 1, "number": 0}, {"k": 2, "number": 7}]`,
			want: `{"_ROW_ID":100,"_SEQUENCE_NUMBER":9,"k":1}` + "\n" + `{"_ROW_ID":107,"_SEQUENCE_NUMBER":9,"k":2}` + "\n",
		},
		"nothing else": {
			file: datafile.Meta{FirstRowID: &first}, cols: types.RowTrackingFields(), from: 1,
			want: `{"_ROW_ID":101,"_SEQUENCE_NUMBER":9}` + "\n" + `{"_ROW_ID":102,"_SEQUENCE_NUMBER":9}` + "\n",
		},
		"carried": {
			file: datafile.Meta{WriteCols: carried}, cols: all,
			rows: `[{"k": 1, "_ROW_ID": 5, "_SEQUENCE_NUMBER": 2}, {"k": 2, "_ROW_ID": 3, "_SEQUENCE_NUMBER": null}]`,
			want: `{"_ROW_ID":5,"_SEQUENCE_NUMBER":2,"k":1}` + "\n" + `{"_ROW_ID":3,"_SEQUENCE_NUMBER":9,"k":2}` + "\n",
		},
		"some carried, some new": {
			file: datafile.Meta{WriteCols: carried, FirstRowID: &first}, cols: all[:1],
			rows: `[{"_ROW_ID": 5, "number": 0}, {"_ROW_ID": null, "number": 1}]`,
			want: `{"_ROW_ID":5}` + "\n" + `{"_ROW_ID":101}` + "\n",
		},
		"not all columns": {
			file: datafile.Meta{WriteCols: []string{"k"}, FirstRowID: &first}, cols: current.Fields[1:], rows: `[{"k": 1}]`,
			want: `{"k":1,"new":null}` + "\n",
		},
	} {
		f := &oneFile{mem: m, rows: c.rows}
		s := sourceOf(f, m)
		s.Tracks = true
		c.file.FileName, c.file.RowCount, c.file.MaxSequence, c.file.SchemaID = "a.parquet", 3, 9, 4
		r, err := s.Open(context.Background(), "/d", &c.file, Request{Columns: c.cols, From: c.from, BatchRows: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := readAll(t, r); got != c.want {
			t.Errorf("%s: rows are\n%swant\n%s", name, got, c.want)
		}
	}
}

// A file whose rows lost their ids is no reason to make some up.
func TestRowsWithoutIDs(t *testing.T) {
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	s := sourceOf(&oneFile{mem: m}, m)
	s.Tracks = true
	r, err := s.Open(context.Background(), "/d", &datafile.Meta{FileName: "a.parquet", RowCount: 3, SchemaID: 4}, Request{Columns: types.RowTrackingFields()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err = r.Next(context.Background()); err == io.EOF || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), "a.parquet") {
		t.Error(err)
	}
}
