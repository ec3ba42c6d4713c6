package tarn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Every file of a table, cut, emptied, overwritten or lost: reading gives the
// right rows (the file did not matter) or an error that names the file. Never a
// panic, and a cut file is never taken for a whole one. Writing a row makes one
// snapshot, or is an error and makes none.
func TestBrokenFiles(t *testing.T) {
	set := golden.Open(t)
	for _, name := range set.Match(t, "pk-seq-two", "part-null-empty", "append-bucketed", "lsm-levels", "types-nested-parquet", "py-pk") {
		t.Run(name, func(t *testing.T) {
			g := set.Table(t, name)
			want := readAll(t, g.FileIO, g)
			if want.err != nil {
				t.Fatal(want.err)
			}
			written, refused := 0, 0
			for _, p := range g.FileIO.Paths() {
				whole, _ := g.FileIO.Get(p)
				for _, d := range damages {
					fs := g.FileIO.Clone()
					if broken, keep := d.do(whole); keep {
						fs.Put(p, broken)
					} else {
						fs.Remove(p)
					}
					got := readAll(t, fs, g)
					if err := d.check(got, want, p); err != nil {
						t.Errorf("%s %s: %v", p, d.name, err)
					}
					made, err := checkWrite(t, fs, g, want.row)
					if err != nil {
						t.Errorf("%s %s: %v", p, d.name, err)
					}
					written += made
					refused += 1 - made
				}
			}
			// Data files do not matter to a write; schemas and manifests do.
			if written == 0 || refused == 0 {
				t.Errorf("%d writes succeeded, %d were refused", written, refused)
			}
		})
	}
}

type readResult struct {
	lines []string
	row   arrow.RecordBatch // one of them
	err   error
}

type damage struct {
	name string
	do   func(whole []byte) (broken []byte, keep bool)
	// exact: a read that does not fail must give the right rows.
	exact bool
}

var damages = []damage{
	{"lost", func([]byte) ([]byte, bool) { return nil, false }, true},
	{"empty", func([]byte) ([]byte, bool) { return nil, true }, true},
	{"cut in half", func(b []byte) ([]byte, bool) { return b[:len(b)/2], true }, true},
	{"cut by one byte", func(b []byte) ([]byte, bool) { return b[:max(len(b)-1, 0)], true }, true},
	{"zeroed", func(b []byte) ([]byte, bool) { return make([]byte, len(b)), true }, true},
	{"with a middle of ones", func(b []byte) ([]byte, bool) {
		b = bytes.Clone(b)
		for i := len(b) / 3; i < len(b)*2/3; i++ {
			b[i] = 0xff
		}
		return b, true
	}, false},
}

func (d damage) check(got, want readResult, p string) error {
	base := path.Base(p)
	switch {
	case got.err == nil && (!d.exact || slices.Equal(got.lines, want.lines)):
		return nil
	case got.err == nil:
		// Without LATEST and EARLIEST, or with snapshots gone, a table may rightly
		// stand at another snapshot; schemas and data may not change under it.
		if d.name == "lost" && strings.HasPrefix(base, "snapshot-") {
			return nil
		}
		return fmt.Errorf("read %d rows instead of %d, and no error", len(got.lines), len(want.lines))
	}
	switch k := tarnerr.KindOf(got.err); k {
	case tarnerr.Corrupt, tarnerr.NotFound, tarnerr.Unsupported, tarnerr.Invalid:
	default:
		return fmt.Errorf("error of kind %v: %w", k, got.err)
	}
	if tarnerr.Hint(got.err) == "" {
		return fmt.Errorf("error without a way out: %w", got.err)
	}
	// A lost first schema makes a table that does not exist; else the file is named.
	if !strings.Contains(got.err.Error(), base) && !(d.name == "lost" && strings.HasPrefix(base, "schema-")) {
		return fmt.Errorf("error does not name the file: %w", got.err)
	}
	return nil
}

func readAll(t *testing.T, fs *mem.FS, g *golden.Table) (out readResult) {
	ctx := context.Background()
	defer func() {
		if p := recover(); p != nil {
			out.err = fmt.Errorf("panic: %v", p)
		}
	}()
	fail := func(err error) readResult { return readResult{err: err} }
	tab, end, err := openBroken(t, fs, g)
	defer end()
	if err != nil {
		return fail(err)
	}
	r, err := tab.Scan(ctx, table.Scan{})
	if err != nil {
		return fail(err)
	}
	defer func() { out.err = errors.Join(out.err, r.Close()) }()
	var text bytes.Buffer
	fields := tab.Schema().Fields
	w := rowtext.NewJSONL(&text, fields, false)
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fail(err)
		}
		if err := w.Write(rec); err != nil {
			return fail(err)
		}
		if out.row == nil {
			if out.row, err = copyRow(tab.ArrowSchema(), fields, rec); err != nil {
				return fail(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fail(err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	slices.Sort(lines)
	return readResult{lines: lines, row: out.row}
}

// copyRow copies the first row of a batch.
func copyRow(schema *arrow.Schema, fields []types.Field, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, f := range fields {
		if err := types.AppendValue(b.Field(i), f.Type, types.ValueAt(f.Type, rec.Column(i), 0)); err != nil {
			return nil, err
		}
	}
	return b.NewRecordBatch(), nil
}

// openBroken opens the table; end closes what was opened.
func openBroken(t *testing.T, fs *mem.FS, g *golden.Table) (tab table.Table, end func(), err error) {
	// A seeded clock: the retries of unreadable hints and snapshots cost no time.
	clock := env.Seeded(1, time.UnixMilli(0))
	rt, err := tarn.NewRuntime(tarn.Config{Workers: 1, Components: tarn.Components{FileIO: fs, Env: clock}})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := rt.Open(context.Background(), g.Warehouse)
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := errors.Join(cat.Close(), rt.Close()); err != nil {
			t.Errorf("at the end: %v", err)
		}
	}
	tab, err = cat.LoadTable(context.Background(), table.Identifier{Database: g.Database, Table: g.Table})
	return tab, end, err
}

// checkWrite writes a row that the table has already and commits it; made is how many
// snapshots came of it.
func checkWrite(t *testing.T, fs *mem.FS, g *golden.Table, row arrow.RecordBatch) (made int, err error) {
	before := snapshotFiles(fs)
	report, err := writeRow(t, fs, g, row)
	for _, p := range snapshotFiles(fs) {
		if !slices.Contains(before, p) {
			made++
		}
	}
	switch {
	case errors.Is(err, errPanic):
		return made, err
	case err != nil && made > 0:
		return made, fmt.Errorf("%d snapshots of a write that failed: %w", made, err)
	case err == nil && (made != 1 || len(report.Snapshots) != 1):
		return made, fmt.Errorf("a write made %d snapshots, and reports %v", made, report.Snapshots)
	}
	return made, nil
}

func snapshotFiles(fs *mem.FS) []string {
	return slices.DeleteFunc(fs.Paths(), func(p string) bool { return !strings.HasPrefix(path.Base(p), "snapshot-") })
}

var errPanic = errors.New("panic")

func writeRow(t *testing.T, fs *mem.FS, g *golden.Table, row arrow.RecordBatch) (_ *table.CommitReport, err error) {
	ctx := context.Background()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	tab, end, err := openBroken(t, fs, g)
	defer end()
	if err != nil {
		return nil, err
	}
	// Compactions would make snapshots of their own.
	w, err := tab.NewBatchWrite(ctx, table.WriteOptions{Options: map[string]string{"write-only": "true"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Write(ctx, row); err != nil {
		return nil, err
	}
	return w.Commit(ctx)
}
