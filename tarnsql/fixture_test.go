//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/tarnsql"
	"github.com/tarnlake/tarn/types"
)

// world is a catalog with SQL over it; all memory is counted, and gone at the end.
type world struct {
	*testing.T
	cat catalog.Catalog
	db  *tarnsql.DB
	mem *memory.CheckedAllocator
	dir string // of the warehouse
	// temp is where the DB puts what does not fit in memory.
	temp string
}

// clearing takes away what it frees, so that nobody reads it later: with
// tarn.RecycledMemory another batch may stand there.
type clearing struct{ memory.Allocator }

func (c clearing) Free(b []byte) {
	clear(b)
	c.Allocator.Free(b)
}

func (c clearing) Reallocate(size int, b []byte) []byte {
	out := c.Allocator.Reallocate(size, b)
	if len(b) > 0 && (size == 0 || &out[0] != &b[0]) {
		clear(b)
	}
	return out
}

func newWorld(t *testing.T, opts tarnsql.Options) *world {
	t.Helper()
	return newWorldOf(t, tarn.Config{}, opts)
}

// newWorldOf is a world of a catalog with settings of its own.
func newWorldOf(t *testing.T, cfg tarn.Config, opts tarnsql.Options) *world {
	t.Helper()
	w := &world{T: t, mem: memory.NewCheckedAllocator(clearing{memory.NewGoAllocator()}), dir: t.TempDir()}
	ctx := context.Background()
	var err error
	cfg.Durability, cfg.Components.Allocator = fileio.OS, w.mem
	if w.cat, err = tarn.Open(ctx, w.dir, cfg); err != nil {
		t.Fatal(err)
	}
	w.temp = t.TempDir()
	opts.Allocator, opts.TempDir = w.mem, w.temp
	if opts.Database == "" {
		opts.Database = "shop"
	}
	if opts.Threads == 0 {
		opts.Threads = 2
	}
	if err := w.cat.CreateDatabase(ctx, "shop", false); err != nil {
		t.Fatal(err)
	}
	w.db = w.open(opts)
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
		if err := w.cat.Close(); err != nil {
			t.Error(err)
		}
		if left := below(t, w.temp); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
		w.mem.AssertSize(t, 0)
	})
	return w
}

func (w *world) open(opts tarnsql.Options) *tarnsql.DB {
	w.Helper()
	db, err := tarnsql.Open(context.Background(), w.cat, opts)
	if err != nil {
		w.Fatal(err)
	}
	return db
}

// table makes shop.name with columns like "id INT NOT NULL, s STRING".
func (w *world) table(name, columns, keys string, options map[string]string) table.Table {
	w.Helper()
	row, err := types.Parse("ROW<" + columns + ">")
	if err != nil {
		w.Fatal(err)
	}
	spec := schema.Spec{Fields: row.Fields, Options: options}
	if keys != "" {
		spec.PrimaryKeys = strings.Split(keys, ",")
	}
	id := table.Identifier{Database: "shop", Table: name}
	if err := w.cat.CreateTable(context.Background(), id, spec, false); err != nil {
		w.Fatal(err)
	}
	return w.load(name)
}

func (w *world) load(name string) table.Table {
	w.Helper()
	t, err := w.cat.LoadTable(context.Background(), table.Identifier{Database: "shop", Table: name})
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// write commits rows given as JSON lines.
func (w *world) write(t table.Table, lines string) {
	w.Helper()
	ctx := context.Background()
	in, err := rowtext.ReadJSONL(strings.NewReader(lines), t.Schema().Fields, rowtext.ReadOptions{Mem: w.mem})
	if err != nil {
		w.Fatal(err)
	}
	defer in.Close()
	wr, err := t.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		w.Fatal(err)
	}
	defer wr.Close()
	for {
		rec, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = wr.Write(ctx, rec)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	if _, err := wr.Commit(ctx); err != nil {
		w.Fatal(err)
	}
}

// text runs a query and gives its rows as CSV without the header.
func text(db *tarnsql.DB, sql string) (string, error) {
	ctx := context.Background()
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	out, err := drain(ctx, rows, rows.Fields())
	return out, errors.Join(err, rows.Close())
}

func drain(ctx context.Context, r table.Reader, fields []types.Field) (string, error) {
	var out bytes.Buffer
	c := rowtext.NewCSV(&out, fields, false, ',', "null")
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = c.Write(rec)
		}
		if err != nil {
			return "", err
		}
	}
	if err := c.Flush(); err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(out.String(), "\n")
	return body, nil
}

func (w *world) wants(sql, want string) {
	w.Helper()
	got, err := text(w.db, sql)
	if err != nil {
		w.Errorf("%s: %v", sql, err)
		return
	}
	if got != want {
		w.Errorf("%s:\n%swant:\n%s", sql, got, want)
	}
}

// refuses wants an error of a kind that holds each of the texts.
func (w *world) refuses(sql string, kind tarnerr.Kind, texts ...string) {
	w.Helper()
	r, err := w.db.Exec(context.Background(), sql)
	if err == nil {
		if r.Rows != nil {
			_, err = drain(context.Background(), r.Rows, r.Rows.Fields())
		}
		if closeErr := r.Close(); closeErr != nil {
			w.Error(closeErr)
		}
	}
	if tarnerr.KindOf(err) != kind || err == nil {
		w.Errorf("%s: %v, want it to be %v", sql, err, kind)
		return
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			w.Errorf("%s: %q is not in: %v", sql, s, err)
		}
	}
}
