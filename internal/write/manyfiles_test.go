package write

import (
	"context"
	"testing"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// An append table flushed to more groups than may keep a file open, and with
// more bytes in open files than the buffer may hold, closes the largest and
// loses nothing.
func TestMoreGroupsThanOpenFiles(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"count": nil,
		"bytes": {"write-buffer-size": "1 kb"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, schema.Spec{
				Fields: []types.Field{
					{Name: "id", Type: types.MustParse("INT")},
					{Name: "p", Type: types.MustParse("INT")},
				},
				PartitionKeys: []string{"p"},
				Options:       options,
			})
			defer f.alloc.AssertSize(t, 0)
			f.cfg.Workers = 2
			w := f.writer()
			defer w.Close()
			const groups, rounds = 3*maxOpen + 1, 3
			for r := range rounds {
				var rows [][]types.Value
				for p := range groups {
					rows = append(rows, []types.Value{int64(r), int64(p)})
				}
				if err := f.write(w, nil, rows...); err != nil {
					t.Fatal(err)
				}
				if err := w.flush(context.Background(), false, true); err != nil {
					t.Fatal(err)
				}
			}
			messages, err := w.Prepare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var n int64
			for _, m := range messages {
				for _, file := range m.NewFiles {
					n += file.RowCount
				}
			}
			if len(messages) != groups || n != groups*rounds {
				t.Errorf("%d messages with %d rows, want %d with %d", len(messages), n, groups, groups*rounds)
			}
		})
	}
}
