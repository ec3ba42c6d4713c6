package avro

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/types"
)

const testPath = formattest.Path

var (
	checked   = formattest.Checked
	field     = formattest.Field
	record    = formattest.Record
	testBytes = formattest.Bytes
	eachBatch = formattest.EachBatch
	badInput  = formattest.BadInput
	lines     = formattest.Lines
	sorted    = formattest.Sorted
)

// write writes batches as a file.
func write(t testing.TB, fields []types.Field, opts fileformat.WriteOptions, recs ...arrow.RecordBatch) ([]byte, fileformat.Summary) {
	t.Helper()
	fs, s := formattest.Write(t, New(), fields, opts, recs...)
	return formattest.Content(t, fs), s
}

// openBytes opens a file given by its content.
func openBytes(data []byte, alloc memory.Allocator) (*File, error) {
	return Open(context.Background(), formattest.Store(data), testPath, int64(len(data)), alloc)
}

func open(t testing.TB, data []byte, alloc memory.Allocator) *File {
	t.Helper()
	f, err := openBytes(data, alloc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func jsonl(t testing.TB, f *File, req fileformat.ReadRequest) []string {
	t.Helper()
	return formattest.JSONL(t, f, req)
}

var javaFiles = []string{"java-scalar", "java-nested", "java-union"}

// tableFields are the columns of the table that a file of Java's belongs to.
func tableFields(t testing.TB, name string) []types.Field {
	t.Helper()
	var s struct{ Fields []types.Field }
	if err := json.Unmarshal(testBytes(t, name+".schema"), &s); err != nil {
		t.Fatal(err)
	}
	return s.Fields
}
