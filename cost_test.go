package tarn_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// What a commit of one row costs in storage calls, counted as Java's were, which
// makes 29 on an append table and 35 on a key table: writing included, loading
// the table not.
func TestCostOfACommit(t *testing.T) {
	for _, c := range []struct {
		name          string
		keys          []string
		limit         int64
		batch, stream string
	}{
		{"append", nil, 15,
			"open=2 create=4 create-if-absent=2 replace=2 stat=2",
			"open=2 create=4 create-if-absent=2 replace=2 stat=2"},
		{"key", []string{"id"}, 18,
			"open=3 create=4 create-if-absent=2 replace=2 stat=3",
			"open=2 create=4 create-if-absent=2 replace=2 stat=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			counter := layer.Count(mem.New(mem.Posix))
			cat, err := tarn.Open(ctx, "/w", tarn.Config{Components: tarn.Components{FileIO: counter}})
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			if err := cat.CreateDatabase(ctx, "db", false); err != nil {
				t.Fatal(err)
			}
			id := table.Identifier{Database: "db", Table: "t"}
			spec := schema.Spec{Fields: []types.Field{{Name: "id", Type: types.MustParse("BIGINT NOT NULL")}}, PrimaryKeys: c.keys, Options: map[string]string{}}
			if c.keys != nil {
				spec.Options["bucket"] = "1"
				// What is compacted beside the commits has calls, and a snapshot, of its own.
				spec.Options["num-sorted-run.compaction-trigger"] = "100"
			}
			if err := cat.CreateTable(ctx, id, spec, false); err != nil {
				t.Fatal(err)
			}
			tbl, err := cat.LoadTable(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			rec := oneRow(tbl.ArrowSchema())
			defer rec.Release()
			batch := func() {
				w, err := tbl.NewBatchWrite(ctx, table.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if err := w.Write(ctx, rec); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Commit(ctx); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				batch()
			}
			counter.Reset()
			batch()
			checkCost(t, "a batch of its own", counter, c.batch, c.limit)

			s, err := tbl.NewStreamWrite(ctx, table.WriteOptions{User: "u"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for n := range int64(3) {
				counter.Reset()
				if err := s.Write(ctx, rec); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Commit(ctx, n+1); err != nil {
					t.Fatal(err)
				}
			}
			checkCost(t, "a stream's next commit", counter, c.stream, c.limit)
		})
	}
}

func checkCost(t *testing.T, what string, c *layer.Counter, want string, limit int64) {
	t.Helper()
	calls, _, _ := strings.Cut(c.String(), " read=") // calls on open files are no storage calls
	if calls != want || c.Total() > limit {
		t.Errorf("%s costs %d calls, at most %d are allowed:\n%s, want\n%s", what, c.Total(), limit, calls, want)
	}
}

func oneRow(s *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(1)
	return b.NewRecordBatch()
}
