package plan

import (
	"fmt"
	"testing"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
)

// Case 111: statistics are of the columns that a file was written with, which may name
// row ids and leave columns of the schema out.
func TestStatsOfWrittenColumns(t *testing.T) {
	bigint := types.Type{Root: types.BigInt, Nullable: true}
	fields := []types.Field{{ID: 0, Name: "a", Type: bigint}, {ID: 1, Name: "b", Type: bigint}}
	stats := func(values ...int64) datafile.Stats {
		var kinds []types.Type
		var lo, hi []types.Value
		var nulls []*int64
		for _, v := range values {
			none := int64(0)
			kinds, lo, hi, nulls = append(kinds, bigint), append(lo, v), append(hi, v+10), append(nulls, &none)
		}
		low, err := binaryrow.Encode(kinds, lo)
		if err != nil {
			t.Fatal(err)
		}
		high, err := binaryrow.Encode(kinds, hi)
		if err != nil {
			t.Fatal(err)
		}
		return datafile.Stats{Min: low, Max: high, NullCounts: nulls}
	}
	first, some := int64(100), int64(1)
	withNulls := stats(1, 2, 50, 3)
	withNulls.NullCounts[2], withNulls.NullCounts[3] = &some, &some
	carried := []string{"a", "b", types.RowIDName, types.SequenceNumberName}
	for name, c := range map[string]struct {
		file datafile.Meta
		want string
	}{
		"new rows":             {datafile.Meta{ValueStats: stats(1, 2), FirstRowID: &first}, "a 1 11, b 2 12, id 100 104, number 9 9"},
		"rows of other files":  {datafile.Meta{ValueStats: stats(1, 2, 50, 3), WriteCols: carried}, "a 1 11, b 2 12, id 50 60, number 3 13"},
		"some columns":         {datafile.Meta{ValueStats: stats(50, 2, 3), WriteCols: []string{types.RowIDName, "b", types.SequenceNumberName}}, "b 2 12, id 50 60, number 3 13"},
		"some statistics":      {datafile.Meta{ValueStats: stats(50, 2), WriteCols: carried, ValueStatsCols: []string{types.RowIDName, "b"}}, "b 2 12, id 50 60"},
		"no statistics":        {datafile.Meta{ValueStats: stats(), WriteCols: carried, ValueStatsCols: []string{}}, ""},
		"some changed":         {datafile.Meta{ValueStats: withNulls, WriteCols: carried, FirstRowID: &first}, "a 1 11, b 2 12"},
		"rows without any ids": {datafile.Meta{ValueStats: stats(1, 2)}, "a 1 11, b 2 12, number 9 9"},
	} {
		c.file.RowCount, c.file.MaxSequence = 5, 9
		ev := &evolutions{values: newEvolution(fields, fields)}
		s := trackedStats{inPartition{valueStats(ev, &c.file), nil}, &c.file}
		var got string
		for _, col := range [][2]string{{"a", "a"}, {"b", "b"}, {types.RowIDName, "id"}, {types.SequenceNumberName, "number"}} {
			lo, hi, _, ok := s.Column(col[0])
			if !ok || lo == nil {
				continue
			}
			if got != "" {
				got += ", "
			}
			got += fmt.Sprintf("%s %v %v", col[1], lo, hi)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
