//go:build interop

package player

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/variant"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// Java's VARIANT values are ours in every byte, of texts of every kind and size.
func TestVariantsAreJavasBytes(t *testing.T) {
	t.Parallel()
	j, _ := implementations(t)
	list := make([]int, 300)
	object, deep := map[string]any{}, any("x")
	object[strings.Repeat("n", 70_000)] = nil
	for i := range list {
		object[fmt.Sprint("name ", i*7%300)] = i
		list[i] = i * i * i
		deep = map[string]any{"b": []any{deep}, fmt.Sprint("a", i%3): i}
	}
	texts := []string{
		` [ 1 , -0 , 2.50 , 0.000 , 1e2 , 1E-7 , -0.0 , 1e-400 , 9223372036854775808 , 99999999999999999999999999999999999999 ] `,
		`[100000000000000000000000000000000000000,0.000000000000000000000000000000000000001,12345678901234567890.123456789012345678]`,
		`[999999999,9.99999999,999999999.0,-0.999999999,0.9999999999,999999999999999999.5,0.999999999999999999]`,
		`{"b":1,"a":{"b":2,"c":3},"～":"\u00e4\ud83d\ude00","😀":"\/","":[]}`,
		`"` + strings.Repeat("ä", 31) + `x"`, `"` + strings.Repeat("ä", 32) + `"`, `"` + strings.Repeat("x", 70_000) + `"`,
	}
	for _, v := range []any{list, object, deep, []any{strings.Repeat("y", 1<<16), strings.Repeat("z", 1<<16)}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	var rows [][]any
	for i, text := range texts {
		rows = append(rows, []any{"+I", i, text})
	}
	scenario, err := json.Marshal(map[string]any{"table": "db.t", "ops": []any{
		map[string]any{"op": "create_table", "columns": [][]string{{"id", "INT"}, {"v", "VARIANT"}}},
		map[string]any{"op": "write", "rows": rows},
	}})
	if err != nil {
		t.Fatal(err)
	}
	warehouse, seen := t.TempDir(), 0
	if err := j.Scenario(t.Context(), warehouse, json.RawMessage(scenario)); err != nil {
		t.Fatal(err)
	}
	if err := open(t.Context(), warehouse, "db.t", func(tbl table.Table) error {
		r, err := tbl.Scan(t.Context(), table.Scan{})
		if err != nil {
			return err
		}
		defer r.Close()
		for seen < len(texts) {
			rec, err := r.Next(t.Context())
			if err != nil {
				return err
			}
			for i := range int(rec.NumRows()) {
				seen++
				text := texts[types.ValueAt(types.Type{Root: types.Int}, rec.Column(0), i).(int64)]
				java := types.ValueAt(types.Type{Root: types.Variant}, rec.Column(1), i).(types.VariantValue)
				ours, err := variant.ParseJSON(text)
				if err != nil {
					return err
				}
				if !bytes.Equal(java.Value, ours.Value) || !bytes.Equal(java.Metadata, ours.Metadata) {
					t.Errorf("%.200s: Java has %d and %d bytes: %.99x, %.99x; ours are %d and %d: %.99x, %.99x", text,
						len(java.Value), len(java.Metadata), java.Value, java.Metadata, len(ours.Value), len(ours.Metadata), ours.Value, ours.Metadata)
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
