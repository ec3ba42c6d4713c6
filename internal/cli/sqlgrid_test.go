package cli

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// TestGridTellsNullFromText: NULL is set apart from the text, in every layout; a
// grid without end cuts nothing, and its pages have one header each.
func TestGridTellsNullFromText(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	row, err := types.Parse("ROW<n INT, s STRING>")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := types.ArrowSchema(row.Fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := range pageRows + 1 {
		if i > 0 {
			b.Field(0).(*array.Int32Builder).Append(int32(i))
			b.Field(1).(*array.StringBuilder).Append("NULL")
		} else {
			b.Field(0).AppendNull()
			b.Field(1).AppendNull()
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	for layout, want := range map[string]string{
		layoutAuto: "│ n      │ s      │\n├────────┼────────┤\n│ ‹NULL› │ ‹NULL› │\n│      1 │ NULL   │\n",
		layoutOn:   "── row 1 ──\nn │ ‹NULL›\ns │ ‹NULL›\n── row 2 ──\nn │ 1\ns │ NULL\n",
	} {
		out := &strings.Builder{}
		g := &gridOutput{w: out, fields: row.Fields, layout: layout, faint: func(s string) string { return "‹" + s + "›" }}
		if err := g.Write(rec); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if !strings.Contains(got, want) || g.cut {
			t.Errorf("%s: cut %v\n%s", layout, g.cut, got[:300])
		}
		if n := strings.Count(got, "├"); layout == layoutAuto && n != 2 {
			t.Errorf("%d headers", n)
		}
		if last := "── row 1001 ──\nn │ 1000\n"; layout == layoutOn && !strings.Contains(got, last) {
			t.Errorf("rows are not counted on: %s", got[len(got)-60:])
		}
	}
}
