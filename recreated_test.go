package tarn_test

import (
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// A writer outlives its table: what it commits lands in no other table of the
// name, and the new table is read as if the old writer had never been.
func TestWriterOfADroppedTable(t *testing.T) {
	id := table.Identifier{Database: "db", Table: "rc"}
	columns := func(fields ...types.Field) schema.Spec {
		return schema.Spec{Fields: fields, Options: map[string]string{}}
	}
	for _, c := range []struct {
		name   string
		stream bool
		again  bool
		kind   tarnerr.Kind
	}{
		{"batch, dropped", false, false, tarnerr.NotFound},
		{"batch, created again", false, true, tarnerr.Conflict},
		{"stream, dropped", true, false, tarnerr.NotFound},
		{"stream, created again", true, true, tarnerr.Conflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			cat, err := openOS(ctx, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(cat.CreateDatabase(ctx, "db", false))
			must(cat.CreateTable(ctx, id, columns(types.Field{Name: "id", Type: types.MustParse("INT")}), false))
			old, err := cat.LoadTable(ctx, id)
			must(err)
			rec := nullRow(old)
			defer rec.Release()

			var commit func() error
			if c.stream {
				w, err := old.NewStreamWrite(ctx, table.WriteOptions{User: "u"})
				must(err)
				defer w.Close()
				must(w.Write(ctx, rec))
				_, err = w.Commit(ctx, 1)
				must(err)
				must(w.Write(ctx, rec))
				commit = func() error { _, err := w.Commit(ctx, 2); return err }
			} else {
				w, err := old.NewBatchWrite(ctx, table.WriteOptions{})
				must(err)
				defer w.Close()
				must(w.Write(ctx, rec))
				commit = func() error { _, err := w.Commit(ctx); return err }
			}
			must(cat.DropTable(ctx, id, false))
			if c.again {
				must(cat.CreateTable(ctx, id, columns(
					types.Field{Name: "id", Type: types.MustParse("STRING")}, types.Field{Name: "z", Type: types.MustParse("INT")},
				), false))
			}
			if err := commit(); tarnerr.KindOf(err) != c.kind || !strings.Contains(err.Error(), "pen it again") {
				t.Fatalf("%v", err)
			}
			must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasPrefix(d.Name(), "snapshot-") {
					t.Errorf("%s is there", path)
				}
				return err
			}))
			if !c.again {
				if _, err := cat.LoadTable(ctx, id); tarnerr.KindOf(err) != tarnerr.NotFound {
					t.Errorf("the table is back: %v", err)
				}
				must(cat.CreateTable(ctx, id, columns(types.Field{Name: "id", Type: types.MustParse("INT")}), false))
			}
			// The new table is written and read.
			now, err := cat.LoadTable(ctx, id)
			must(err)
			fresh := nullRow(now)
			defer fresh.Release()
			w, err := now.NewBatchWrite(ctx, table.WriteOptions{})
			must(err)
			defer w.Close()
			must(w.Write(ctx, fresh))
			r, err := w.Commit(ctx)
			must(err)
			if len(r.Snapshots) != 1 || r.Snapshots[0] != 1 {
				t.Errorf("snapshots %v", r.Snapshots)
			}
			if rows := countRows(t, now); rows != 1 {
				t.Errorf("%d rows", rows)
			}
		})
	}
}

func nullRow(t table.Table) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	for _, f := range b.Fields() {
		f.AppendNull()
	}
	return b.NewRecordBatch()
}

func countRows(t *testing.T, tbl table.Table) (n int64) {
	t.Helper()
	r, err := tbl.Scan(t.Context(), table.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n += rec.NumRows()
	}
}
