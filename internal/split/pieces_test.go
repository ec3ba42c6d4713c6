package split

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestPieces(t *testing.T) {
	file := func(name string, rows int64) *datafile.Meta { return &datafile.Meta{FileName: name, RowCount: rows} }
	for _, c := range []struct {
		split Split
		rows  int64
		want  string
	}{
		{Split{Files: []*datafile.Meta{file("a.parquet", 500_000), file("b.parquet", 10)}, RawConvertible: true}, 125_000, "a[0,140000) a[140000,280000) a[280000,420000) a[420000,500000) b"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 200_000)}, RawConvertible: true}, 100_000, "a[0,100000) a[100000,200000)"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 199_999)}, RawConvertible: true}, 100_000, "a"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 25_000)}, RawConvertible: true}, 1, "a[0,20000) a[20000,25000)"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 0)}, RawConvertible: true}, 1, "a"},
		{Split{Files: []*datafile.Meta{file("a.orc", 500_000), file("b.parquet", 40_000)}, RawConvertible: true}, 20_000, "a b[0,20000) b[20000,40000)"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 500_000), file("b.parquet", 1)}}, 1, "a+b"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 500_000)}, Deletions: []*DeletionFile{nil}, RawConvertible: true}, 1, "a"},
		{Split{Files: []*datafile.Meta{file("a.parquet", 500_000)}, RawConvertible: true}, 0, "a"},
	} {
		var got []string
		var rows int64
		for _, p := range c.split.Pieces(c.rows) {
			var names []string
			for _, f := range p.Files {
				names = append(names, strings.TrimSuffix(strings.TrimSuffix(f.FileName, ".parquet"), ".orc"))
			}
			text := strings.Join(names, "+")
			if p.Part != nil {
				text += fmt.Sprintf("[%d,%d)", p.Part.From, p.Part.To)
				if _, err := p.MarshalBinary(); tarnerr.KindOf(err) != tarnerr.Unsupported {
					t.Errorf("bytes of a piece: %v", err)
				}
			}
			got = append(got, text)
			rows += p.RowCount()
		}
		if text := strings.Join(got, " "); text != c.want || rows != c.split.RowCount() {
			t.Errorf("%v of %d rows: %s, want %s", c.split.Files, rows, text, c.want)
		}
	}
}

func TestLiveRows(t *testing.T) {
	none, some, taken := int64(0), int64(2), int64(3)
	key, err := binaryrow.Encode([]types.Type{{Root: types.Int}}, []types.Value{int64(1)})
	if err != nil {
		t.Fatal(err)
	}
	file := func(deletes *int64, key binaryrow.Row) *datafile.Meta {
		return &datafile.Meta{FileName: "f.orc", RowCount: 10, DeleteRowCount: deletes, MinKey: key}
	}
	rows, old := file(nil, binaryrow.Empty), file(nil, key)
	for name, c := range map[string]struct {
		split Split
		want  int64 // -1: only reading tells
	}{
		"rows":            {Split{Files: []*datafile.Meta{rows, rows}, RawConvertible: true}, 20},
		"no file":         {Split{RawConvertible: true}, 0},
		"to be merged":    {Split{Files: []*datafile.Meta{rows}}, -1},
		"keys":            {Split{Files: []*datafile.Meta{file(&none, key)}, RawConvertible: true}, 10},
		"silent":          {Split{Files: []*datafile.Meta{file(&none, key), old}, RawConvertible: true}, -1},
		"part":            {Split{Files: []*datafile.Meta{rows}, RawConvertible: true, Part: &Part{0, 5}}, -1},
		"changes":         {Split{Files: []*datafile.Meta{rows}, RawConvertible: true, Streaming: true}, -1},
		"comparison":      {Split{Files: []*datafile.Meta{rows}, RawConvertible: true, Change: &Change{}}, -1},
		"vectors":         {Split{Files: []*datafile.Meta{rows, rows}, RawConvertible: true, Deletions: []*DeletionFile{nil, {Cardinality: &taken}}}, 17},
		"silent vector":   {Split{Files: []*datafile.Meta{rows}, RawConvertible: true, Deletions: []*DeletionFile{{}}}, -1},
		"deletes in them": {Split{Files: []*datafile.Meta{file(&some, key)}, RawConvertible: false}, -1},
	} {
		n, known := c.split.LiveRows()
		if !known {
			n = -1
		}
		if n != c.want {
			t.Errorf("%s: %d, want %d", name, n, c.want)
		}
	}
}
