package formattest

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// Path is where the file of a test lies.
const Path = "/data.file"

// Checked is an allocator that must be at zero when the test ends.
func Checked(t testing.TB) memory.Allocator {
	a := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { a.AssertSize(tb{t}, 0) })
	return a
}

type tb struct{ testing.TB }

// Bounded is Checked, and fails the test when as much was allocated at a time as
// no file may bring about.
func Bounded(t testing.TB) memory.Allocator {
	p := &Peak{Allocator: Checked(t)}
	t.Cleanup(func() {
		if most := p.Most(); most > 3*batch.MostBytes {
			t.Errorf("%d bytes were allocated", most)
		}
	})
	return p
}

// Peak is an allocator that remembers the most bytes it had given at a time. Safe
// for concurrent use where its parent is.
type Peak struct {
	memory.Allocator
	now, most atomic.Int64
}

// Most is the most bytes that were given at a time.
func (p *Peak) Most() int { return int(p.most.Load()) }

func (p *Peak) add(n int) {
	now := p.now.Add(int64(n))
	for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); {
		most = p.most.Load()
	}
}

func (p *Peak) Allocate(n int) []byte {
	p.add(n)
	return p.Allocator.Allocate(n)
}

func (p *Peak) Reallocate(n int, b []byte) []byte {
	p.add(n - len(b))
	return p.Allocator.Reallocate(n, b)
}

func (p *Peak) Free(b []byte) {
	p.add(-len(b))
	p.Allocator.Free(b)
}

// Field is a column of a type given as text.
func Field(id int, name, typ string) types.Field {
	return types.Field{ID: id, Name: name, Type: types.MustParse(typ)}
}

// Record builds a batch from rows of values.
func Record(t testing.TB, alloc memory.Allocator, fields []types.Field, rows ...[]types.Value) arrow.RecordBatch {
	t.Helper()
	sc, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(alloc, sc)
	defer b.Release()
	for _, row := range rows {
		for i, v := range row {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				t.Fatalf("column %s, value %v: %v", fields[i].Name, v, err)
			}
		}
	}
	return b.NewRecordBatch()
}

// Bytes is the content of a file in testdata.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Store is a storage with one file.
func Store(data []byte) *mem.FS {
	fs := mem.New(mem.Posix)
	if err := fileio.WriteFile(context.Background(), fs, Path, data); err != nil {
		panic(err) // memory takes everything
	}
	return fs
}

// Content is the file of a storage.
func Content(t testing.TB, fs fileio.FileIO) []byte {
	t.Helper()
	data, err := fileio.ReadFile(context.Background(), fs, Path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Write writes batches as a file.
func Write(t testing.TB, f fileformat.Format, fields []types.Field, opts fileformat.WriteOptions, recs ...arrow.RecordBatch) (*mem.FS, fileformat.Summary) {
	t.Helper()
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	out, err := fs.Create(ctx, Path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.NewWriter(out, fields, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(Content(t, fs)); int64(n) != s.FileSize {
		t.Fatalf("file of %d bytes, summary says %d", n, s.FileSize)
	}
	return fs, s
}
