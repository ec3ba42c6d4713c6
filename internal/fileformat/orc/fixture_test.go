package orc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/types"
)

// checked is an allocator that must be at zero when the test ends.
func checked(t testing.TB) memory.Allocator {
	a := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { a.AssertSize(tb{t}, 0) })
	return a
}

type tb struct{ testing.TB }

func field(id int, name, typ string) types.Field {
	return types.Field{ID: id, Name: name, Type: types.MustParse(typ)}
}

const testPath = "/data.orc"

// openBytes opens a file given by its content.
func openBytes(data []byte, alloc memory.Allocator) (*File, error) {
	fs := mem.New(mem.Posix)
	if err := fileio.WriteFile(context.Background(), fs, testPath, data); err != nil {
		return nil, err
	}
	return Open(context.Background(), fs, testPath, int64(len(data)), alloc)
}

func testBytes(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func testFile(t testing.TB, name string, alloc memory.Allocator) *File {
	t.Helper()
	f, err := openBytes(testBytes(t, name), alloc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func testFiles(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.orc")
	if err != nil || len(names) < 14 {
		t.Fatal(names, err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}

// eachBatch reads all batches; the reader is closed.
func eachBatch(r batch.Reader, yield func(arrow.RecordBatch) error) error {
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.NumRows() == 0 {
			return errors.New("empty batch")
		}
		if err := yield(rec); err != nil {
			return err
		}
	}
}

// jsonl reads a file as canonical lines.
func jsonl(t testing.TB, f *File, req fileformat.ReadRequest) []string {
	t.Helper()
	r, err := f.Read(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := rowtext.NewJSONL(&out, req.Columns, false)
	if err := eachBatch(r, w.Write); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return lines(out.Bytes())
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// sorted is for files whose rows do not stand in the order of their expectation.
func sorted(l []string) []string {
	slices.Sort(l)
	return l
}
