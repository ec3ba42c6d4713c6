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

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Every file of a table, cut, emptied, overwritten or lost: reading gives the
// right rows (the file did not matter) or an error that names the file. Never a
// panic, and a cut file is never taken for a whole one.
func TestBrokenFiles(t *testing.T) {
	set := golden.Open(t)
	for _, name := range set.Match(t, "pk-seq-two", "part-null-empty", "append-bucketed", "lsm-levels", "types-nested-parquet", "py-pk") {
		t.Run(name, func(t *testing.T) {
			g := set.Table(t, name)
			want := readAll(t, g.FileIO, g)
			if want.err != nil {
				t.Fatal(want.err)
			}
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
				}
			}
		})
	}
}

type readResult struct {
	lines []string
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
	// A seeded clock: the retries of unreadable hints and snapshots cost no time.
	clock := env.Seeded(1, time.UnixMilli(0))
	rt, err := tarn.NewRuntime(tarn.Config{Workers: 1, Components: tarn.Components{FileIO: fs, Env: clock}})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := rt.Close(); err != nil {
			t.Errorf("after reading: %v", err)
		}
	}()
	cat, err := rt.Open(ctx, g.Warehouse)
	if err != nil {
		return fail(err)
	}
	defer cat.Close()
	tab, err := cat.LoadTable(ctx, table.Identifier{Database: g.Database, Table: g.Table})
	if err != nil {
		return fail(err)
	}
	r, err := tab.Scan(ctx, table.Scan{})
	if err != nil {
		return fail(err)
	}
	defer func() { out.err = errors.Join(out.err, r.Close()) }()
	var text bytes.Buffer
	w := rowtext.NewJSONL(&text, tab.Schema().Fields, false)
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
	}
	if err := w.Flush(); err != nil {
		return fail(err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	slices.Sort(lines)
	return readResult{lines: lines}
}
