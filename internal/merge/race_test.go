package merge

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// TestRaceEqualsTree holds the race to the tree, also where a run has a key
// several times, as runs have whose writer knew keys apart that a merge does not.
func TestRaceEqualsTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		seq := int64(0)
		var runs [][]row
		for range rapid.IntRange(2, 7).Draw(t, "runs") {
			var rows []row
			key := rapid.Int64Range(-3, 3).Draw(t, "first key")
			for range rapid.IntRange(0, 40).Draw(t, "rows") {
				seq++
				rows = append(rows, stretchOf(int(key), 1, seq)...)
				key += rapid.Int64Range(0, 3).Draw(t, "gap")
			}
			runs = append(runs, rows)
		}
		size, batchRows := rapid.IntRange(1, 50).Draw(t, "run batch"), rapid.IntRange(1, 50).Draw(t, "batch rows")
		got := map[string][]string{}
		for name, cfg := range ways(testConfig(t, mem)) {
			cfg.BatchRows = batchRows
			if cfg.fast() != (name == "race") {
				t.Fatal("the wrong way for", name)
			}
			var readers []batch.Reader
			for _, rows := range runs {
				readers = append(readers, runOf(t, mem, rows, size))
			}
			got[name], _ = payloads(t, NewReader(cfg, readers))
		}
		if !slices.Equal(got["race"], got["tree"]) {
			t.Errorf("race %v\ntree %v", got["race"], got["tree"])
		}
	})
}

// The largest number is a key too, no exhausted leaf.
func TestRaceToTheLastKey(t *testing.T) {
	cfg, fields, data := benchRuns(t, types.Type{Root: types.BigInt}, 3, 1, true)
	cfg.Ranked = true
	data[0] = randomRun(t, fields, []int{5, math.MaxInt64 - 1, math.MaxInt64}, 0)
	data[2] = randomRun(t, fields, []int{math.MaxInt64}, 9)
	if _, rows := mergeAll(t, cfg, arrowSchema(t, fields), data[:1:1]); rows != 3 {
		t.Errorf("%d rows of a run", rows)
	}
	if in, rows := mergeAll(t, cfg, arrowSchema(t, fields), [][]arrow.RecordBatch{data[0], nil, data[2]}); in != 4 || rows != 3 {
		t.Errorf("%d rows of %d", rows, in)
	}
}

// Deletes may take away as many batches of rows as a merge keeps waiting, and more.
func TestManyDeletesInARow(t *testing.T) {
	const deleted, size = 1000, 3
	for name, cfg := range ways(testConfig(t, nil)) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		cfg.Mem = mem
		deletes := stretchOf(0, deleted, deleted+1)
		for i := range deletes {
			deletes[i].kind = types.Delete
		}
		runs := []batch.Reader{runOf(t, mem, stretchOf(0, deleted+1, 0), size), runOf(t, mem, deletes, size)}
		if got, _ := payloads(t, NewReader(cfg, runs)); len(got) != 1 {
			t.Errorf("%s: %d rows, not the one that was not deleted", name, len(got))
		}
		mem.AssertSize(t, 0)
	}
}
