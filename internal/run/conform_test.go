package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestConformConverts: changed types, below rows, arrays and maps too, also where
// old and new are the same in Arrow; slices of batches alike.
func TestConformConverts(t *testing.T) {
	const rows = `[
		{"n": 383, "s": "abcdef", "r": {"a": "xyz", "b": 1}, "l": [1, null, 3], "m": [{"key": "k", "value": 1.5}], "d": [1, 2]},
		{"n": null, "s": null, "r": null, "l": null, "m": null, "d": null},
		{"n": -1, "s": "ü漢x", "r": {"a": null, "b": null}, "l": [], "m": [{"key": "", "value": null}], "d": []}]`
	typ := func(s string) types.Type { return types.MustParse(s) }
	row := func(a, b string) types.Type {
		return types.Type{Root: types.Row, Nullable: true, Fields: []types.Field{field(10, "a", a), field(11, "b", b)}}
	}
	file := []types.Field{
		{ID: 0, Name: "n", Type: typ("INT")}, {ID: 1, Name: "s", Type: typ("STRING")}, {ID: 2, Name: "r", Type: row("STRING", "INT")},
		{ID: 3, Name: "l", Type: typ("ARRAY<INT>")}, {ID: 4, Name: "m", Type: typ("MAP<STRING, DOUBLE>")}, {ID: 5, Name: "d", Type: typ("ARRAY<INT>")},
	}
	table := []types.Field{
		{ID: 0, Name: "n", Type: typ("TINYINT")}, {ID: 1, Name: "s", Type: typ("VARCHAR(2)")}, {ID: 2, Name: "r", Type: row("VARCHAR(1)", "BIGINT")},
		{ID: 3, Name: "l", Type: typ("ARRAY<STRING>")}, {ID: 4, Name: "m", Type: typ("MAP<STRING, INT>")}, {ID: 5, Name: "d", Type: typ("STRING")},
	}
	lines := []string{
		`{"d":"[1, 2]","l":["1",null,"3"],"m":[{"key":"k","value":1}],"n":127,"r":{"a":"x","b":1},"s":"ab"}`,
		`{"d":null,"l":null,"m":null,"n":null,"r":null,"s":null}`,
		`{"d":"[]","l":[],"m":[{"key":"","value":null}],"n":-1,"r":{"a":null,"b":null},"s":"ü漢"}`,
	}
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	full := fromJSON(t, m, file, rows)
	defer full.Release()
	for from := range int64(3) {
		rec := full.NewSlice(from, 3)
		got, err := conformAll(m, rec, file, table)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := array.RecordToJSON(got, &b); err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(lines[from:], "\n") + "\n"; b.String() != want {
			t.Errorf("rows from %d:\n%swant\n%s", from, b.String(), want)
		}
		got.Release()
		rec.Release()
	}
	// What cannot be converted fails, and leaves nothing behind.
	file[3].Type, table[3].Type = typ("ARRAY<STRING>"), typ("ARRAY<INT>")
	bad := fromJSON(t, m, file[3:4], `[{"l": ["1", "x"]}]`)
	defer bad.Release()
	if _, err := conformAll(m, bad, file[3:4], table[3:4]); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "value=x") {
		t.Errorf("text that is no number: %v", err)
	}
}

func fromJSON(t *testing.T, m memory.Allocator, fields []types.Field, rows string) arrow.RecordBatch {
	t.Helper()
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := array.RecordFromJSON(m, sc, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func conformAll(m memory.Allocator, rec arrow.RecordBatch, file, table []types.Field) (arrow.RecordBatch, error) {
	cols, err := schema.MapFields(file, table)
	if err != nil {
		return nil, err
	}
	out, err := types.ArrowSchema(table)
	if err != nil {
		return nil, err
	}
	var arrays []arrow.Array
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for i, c := range cols {
		a, err := conform(m, rec.Column(c.Source), c, out.Field(i).Type)
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(out, arrays, rec.NumRows()), nil
}
