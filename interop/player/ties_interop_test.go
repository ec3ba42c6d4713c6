//go:build interop

package player

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

// Rows of one key and one sequence number, as writers make that began at the same
// snapshot: Java reads the one that Tarn reads, on whatever levels they lie (apache/paimon
// #5631), before a compaction and after.
func TestEqualSequenceNumbersReadAlike(t *testing.T) {
	t.Parallel()
	j := judges.of(t)
	for writers := 2; writers <= 3; writers++ {
		for compacted := range writers { // how many are on the highest level when the others come
			t.Run(fmt.Sprintf("%d of %d", compacted, writers), func(t *testing.T) {
				q := interop.Query{Warehouse: t.TempDir(), Table: "db.t"}
				if err := replay(t.Context(), q.Warehouse, parse(t,
					`{"op":"create_table","columns":[["k","INT"],["v","STRING"]],"primary_keys":["k"],"options":{"bucket":"1","write-only":"true"}}`)); err != nil {
					t.Fatal(err)
				}
				err := open(t.Context(), q.Warehouse, q.Table, func(tab table.Table) error {
					var messages [][]table.Message
					for n := range writers {
						m, err := prepared(t, tab, fmt.Sprintf(`[{"k":1,"v":"%d"},{"k":%d,"v":"alone"}]`, n, 10+n))
						if err != nil {
							return err
						}
						messages = append(messages, m)
					}
					for n, m := range messages {
						if _, err := tab.Commit(t.Context(), table.Committable{User: fmt.Sprint("writer", n), Identifier: 1, Messages: m}); err != nil {
							return err
						}
						if n+1 == compacted {
							if _, err := tab.Compact(t.Context(), table.CompactOptions{}); err != nil {
								return err
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				ours := read(t, itself{}, q)
				if theirs := read(t, j, q); strings.Join(ours, "\n") != strings.Join(theirs, "\n") {
					t.Errorf("Tarn reads %q, Java %q", ours, theirs)
				}
				if err := j.Scenario(t.Context(), q.Warehouse, parse(t, `{"op":"compact","full":true}`)); err != nil {
					t.Fatal(err)
				}
				if after := read(t, itself{}, q); strings.Join(ours, "\n") != strings.Join(after, "\n") {
					t.Errorf("Tarn read %q, after Java's compaction %q", ours, after)
				}
			})
		}
	}
}

// prepared writes rows and gives the messages of them.
func prepared(t *testing.T, tab table.Table, rows string) ([]table.Message, error) {
	t.Helper()
	w, err := tab.NewStreamWrite(t.Context(), table.WriteOptions{User: "writer"})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, tab.ArrowSchema(), strings.NewReader(rows))
	if err != nil && err != io.EOF {
		return nil, err
	}
	defer rec.Release()
	if err := w.Write(t.Context(), rec); err != nil {
		return nil, err
	}
	return w.Prepare(t.Context())
}
