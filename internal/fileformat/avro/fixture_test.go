package avro

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
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

const testPath = "/data.avro"

// record builds a batch from rows of values.
func record(t testing.TB, alloc memory.Allocator, fields []types.Field, rows ...[]types.Value) arrow.RecordBatch {
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

// write writes batches as a file.
func write(t testing.TB, fields []types.Field, opts fileformat.WriteOptions, recs ...arrow.RecordBatch) ([]byte, fileformat.Summary) {
	t.Helper()
	ctx := context.Background()
	fs := mem.New(mem.Posix)
	out, err := fs.Create(ctx, testPath)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New().NewWriter(out, fields, opts)
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
	data, err := fileio.ReadFile(ctx, fs, testPath)
	if err != nil || int64(len(data)) != s.FileSize {
		t.Fatalf("file of %d bytes, summary says %d: %v", len(data), s.FileSize, err)
	}
	return data, s
}

// openBytes opens a file given by its content.
func openBytes(data []byte, alloc memory.Allocator) (*File, error) {
	fs := mem.New(mem.Posix)
	if err := fileio.WriteFile(context.Background(), fs, testPath, data); err != nil {
		return nil, err
	}
	return Open(context.Background(), fs, testPath, int64(len(data)), alloc)
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

func testBytes(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
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
		for _, c := range rec.Columns() {
			if err := whole(c.Data()); err != nil {
				return err
			}
		}
		if err := yield(rec); err != nil {
			return err
		}
	}
}

// whole checks what Arrow takes for granted: counted nulls, members as long as their rows.
func whole(d arrow.ArrayData) error {
	a := array.MakeFromData(d)
	defer a.Release()
	nulls := 0
	for i := range a.Len() {
		if a.IsNull(i) {
			nulls++
		}
	}
	if nulls != a.NullN() {
		return errors.New("nulls are counted wrong")
	}
	for _, k := range d.Children() {
		if d.DataType().ID() == arrow.STRUCT && k.Len() != d.Len() {
			return errors.New("member of another length than its row")
		}
		if err := whole(k); err != nil {
			return err
		}
	}
	return nil
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

func sorted(l []string) []string {
	slices.Sort(l)
	return l
}
