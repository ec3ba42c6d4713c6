package split

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
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
