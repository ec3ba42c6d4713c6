package paimon_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/types"
)

const dir = "/w/db.db/t"

var name = table.Identifier{Database: "db", Table: "t"}

// keySpec and appendSpec have the same columns, in one partitioned by day.
func keySpec() schema.Spec {
	s := appendSpec()
	s.Fields[0].Type.Nullable = false
	s.Fields[1].Type.Nullable = false
	s.PrimaryKeys = []string{"day", "id"}
	s.Options = map[string]string{"bucket": "2"}
	return s
}

func appendSpec() schema.Spec {
	return schema.Spec{
		Fields: []types.Field{
			{Name: "day", Type: types.MustParse("STRING")},
			{Name: "id", Type: types.MustParse("BIGINT")},
			{Name: "v", Type: types.MustParse("STRING")},
		},
		PartitionKeys: []string{"day"},
	}
}

// seed gives each process of a test UUIDs of its own.
var seed atomic.Uint64

// fixture is one table on one storage, its memory checked at the end.
type fixture struct {
	*testing.T
	ctx    context.Context
	alloc  *memory.CheckedAllocator
	budget *budget.Budget
	events *event.Listener
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, ctx: t.Context(), alloc: memory.NewCheckedAllocator(memory.DefaultAllocator), budget: budget.New(64 << 20)}
	t.Cleanup(func() {
		f.alloc.AssertSize(t, 0)
		if n := f.budget.Used(); n != 0 {
			t.Errorf("%d bytes of the budget are still taken", n)
		}
	})
	return f
}

func (f *fixture) components(fio fileio.FileIO) paimon.Components {
	return paimon.Components{
		FileIO: fio, Env: env.Seeded(seed.Add(1), time.UnixMilli(1_700_000_000_000)), Alloc: f.alloc,
		Budget: f.budget, Events: f.events, Workers: 2,
	}
}

// create makes the table, on a Posix storage so that it works for every profile.
func (f *fixture) create(spec schema.Spec) *mem.FS {
	f.Helper()
	fs := mem.New(mem.Posix)
	if _, err := schema.NewStore(fs, dir, env.Real()).Create(f.ctx, spec); err != nil {
		f.Fatal(err)
	}
	return fs
}

func (f *fixture) open(fio fileio.FileIO) table.Table {
	f.Helper()
	t, err := f.tryOpen(fio, name)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

func (f *fixture) tryOpen(fio fileio.FileIO, id table.Identifier) (table.Table, error) {
	return paimon.Open(f.ctx, f.components(fio), id, dir)
}

// batch makes a batch of the table's columns from a JSON array of rows.
func (f *fixture) batch(t table.Table, rows string) arrow.RecordBatch {
	f.Helper()
	rec, _, err := array.RecordFromJSON(f.alloc, t.ArrowSchema(), strings.NewReader(rows))
	if err != nil {
		f.Fatal(err)
	}
	return rec
}

// write commits rows in one batch write.
func (f *fixture) write(t table.Table, rows string) (*table.CommitReport, error) {
	f.Helper()
	rec := f.batch(t, rows)
	defer rec.Release()
	w, err := t.NewBatchWrite(f.ctx, table.WriteOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := w.Write(f.ctx, rec); err != nil {
		return nil, err
	}
	return w.Commit(f.ctx)
}

func (f *fixture) mustWrite(t table.Table, rows string) *table.CommitReport {
	f.Helper()
	r, err := f.write(t, rows)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// rows reads a scan as sorted lines "a|b|c".
func (f *fixture) rows(t table.Table, scan table.Scan) []string {
	f.Helper()
	r, err := t.Scan(f.ctx, scan)
	if err != nil {
		f.Fatal(err)
	}
	return f.drain(r)
}

func (f *fixture) drain(r table.Reader) []string {
	f.Helper()
	defer func() {
		if err := r.Close(); err != nil {
			f.Error(err)
		}
	}()
	var out []string
	for {
		rec, err := r.Next(f.ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			f.Fatal(err)
		}
		if !rec.Schema().Equal(r.Schema()) || rec.NumRows() == 0 {
			f.Errorf("batch of %d rows with schema %v, the reader says %v", rec.NumRows(), rec.Schema(), r.Schema())
		}
		for i := range int(rec.NumRows()) {
			cells := make([]string, rec.NumCols())
			for c := range cells {
				cells[c] = rec.Column(c).ValueStr(i)
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	slices.Sort(out)
	return out
}

func (f *fixture) want(got []string, want ...string) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Errorf("rows\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ids makes JSON rows of one day with the ids and one value.
func ids(day, v string, ids ...int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"day":%q,"id":%d,"v":%q}`, day, id, v)
	}
	b.WriteByte(']')
	return b.String()
}
