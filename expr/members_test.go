package expr

import (
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// What a long list is looked up in is made once, for all batches, all goroutines
// and all names that the column goes by.
func TestLongListsAreMadeOnce(t *testing.T) {
	values := map[string]func(i int) types.Value{
		"TINYINT": func(i int) types.Value { return int64(i) },
		"BIGINT":  func(i int) types.Value { return int64(i) << 40 },
		"DATE":    func(i int) types.Value { return int32(i) },
		"STRING":  func(i int) types.Value { return string(rune('a' + i)) },
		"BYTES":   func(i int) types.Value { return []byte{byte(i), 0} },
	}
	for typ, value := range values {
		fields := []types.Field{field(t, "c", typ)}
		sc, err := types.ArrowSchema(fields)
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, sc)
		var list []types.Value
		for i := range 20 {
			if err := types.AppendValue(b.Field(0), fields[0].Type, value(i)); err != nil {
				t.Fatal(err)
			}
			if i%2 == 1 {
				list = append(list, value(i))
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		bound, err := Bind(In{"c", list}, fields)
		if err != nil {
			t.Fatal(err)
		}
		renamed := bound.Rename(func(string) string { return "d" })
		other := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "d", Type: sc.Field(0).Type}}, nil), rec.Columns(), rec.NumRows())
		check := func(bound *Bound, rec arrow.RecordBatch) {
			mask, err := bound.Mask(rec, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for i, hit := range mask {
				if hit != (i%2 == 1) {
					t.Errorf("%s: row %d: %v", typ, i, hit)
				}
			}
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { check(bound, rec) })
			all.Go(func() { check(renamed, other) })
		}
		all.Wait()
		dst := make([]bool, rec.NumRows())
		for _, c := range []struct {
			bound *Bound
			rec   arrow.RecordBatch
		}{{bound, rec}, {renamed, other}} {
			if n := testing.AllocsPerRun(20, func() {
				if _, err := c.bound.Mask(c.rec, dst); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations for a batch", typ, n)
			}
		}
		other.Release()
		rec.Release()
	}
}
