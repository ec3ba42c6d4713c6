package orc

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
)

const testPath = formattest.Path

var (
	checked   = formattest.Checked
	field     = formattest.Field
	testBytes = formattest.Bytes
	eachBatch = formattest.EachBatch
	badInput  = formattest.BadInput
	lines     = formattest.Lines
	sorted    = formattest.Sorted
)

// openBytes opens a file given by its content.
func openBytes(data []byte, alloc memory.Allocator) (*File, error) {
	return Open(context.Background(), formattest.Store(data), testPath, int64(len(data)), alloc)
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

func jsonl(t testing.TB, f *File, req fileformat.ReadRequest) []string {
	t.Helper()
	return formattest.JSONL(t, f, req)
}
