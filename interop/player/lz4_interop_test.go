//go:build interop

package player

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/interop"
)

// Pages that need several blocks of LZ4, of Java's to Tarn and of Tarn's to Java.
func TestLZ4PagesOfManyBlocks(t *testing.T) {
	t.Parallel()
	j, _ := implementations(t)
	noise := rand.New(rand.NewPCG(1, 2))
	var rows [][]any
	for i := range 2 {
		text := make([]byte, 400_000)
		for k := range text {
			text[k] = 'a' + byte(noise.IntN(26))
		}
		rows = append(rows, []any{"+I", i, string(text)})
	}
	text, err := json.Marshal(map[string]any{"table": "db.t", "ops": []any{
		map[string]any{"op": "create_table", "columns": [][]string{{"id", "INT"}, {"s", "STRING"}}, "options": map[string]string{
			"file.compression": "lz4", "parquet.enable.dictionary": "false"}},
		map[string]any{"op": "write", "rows": rows},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := interop.ParseScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.WrittenLines()
	if err != nil {
		t.Fatal(err)
	}
	for _, writer := range []implementation{j, itself{}} {
		q := interop.Query{Warehouse: t.TempDir(), Table: s.Table}
		if err := writer.Scenario(t.Context(), q.Warehouse, s); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []implementation{j, itself{}} {
			if diff := cmp.Diff(want, read(t, reader, q)); diff != "" {
				t.Errorf("written by %T, read by %T: %.1000s", writer, reader, diff)
			}
		}
	}
}
