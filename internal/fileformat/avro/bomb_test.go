package avro

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestSchemaBombs: a schema of a few kilobytes can stand for more types than
// there is memory for.
func TestSchemaBombs(t *testing.T) {
	double := func(leaf string) string {
		text := `{"type":"record","name":"a0","fields":[` + leaf + `]}`
		for i := 1; i < 60; i++ {
			text = fmt.Sprintf(`{"type":"record","name":"a%d","fields":[{"name":"x","type":%s},{"name":"y","type":"a%d"}]}`, i, text, i-1)
		}
		return text
	}
	row := `{"type":"record","name":"record","fields":[{"name":"i","type":"int"},{"name":"a","type":%s}]}`
	for name, c := range map[string]struct{ schema, says string }{
		"doubling":           {double(`{"name":"i","type":"int"}`), "schema is too large"},
		"doubling of no use": {double(""), "schema is too large"},
		"nesting":            {strings.Repeat(`{"type":"array","items":`, 100) + `"int"` + strings.Repeat("}", 100), "schema is too large"},
		"wrapping":           {strings.Repeat(`{"type":`, 5000) + `"int"` + strings.Repeat("}", 5000), "schema is too large"},
		"itself":             {`["null",{"type":"map","values":"record"}]`, "contain themselves"},
		"twice":              {`{"type":"record","name":"r","fields":[{"name":"x","type":"int"},{"name":"x","type":"int"}]}`, "a name of its own"},
		"redefined":          {`{"type":"record","name":"record","fields":[]}`, "two types of one name"},
	} {
		schema := fmt.Sprintf(row, c.schema)
		err := readEverything(container(schema, ocf.CodecNull, 1, []byte{2, 0, 0, 0}), checked(t), fileformat.ReadRequest{})
		if !badInput(err) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), testPath) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRowBombs: rows of few bytes that stand for much more in Arrow give an
// error with the file and the place, before much was allocated.
func TestRowBombs(t *testing.T) {
	const most = 1 << 20
	null := func(items string) string { return `{"type":"array","items":["null",` + items + `]}` }
	wide := "ROW<i BIGINT" + strings.Repeat(", m%d BIGINT", 200) + ">"
	var names []any
	for i := range 200 {
		names = append(names, i)
	}
	wide = fmt.Sprintf(wide, names...)
	// A block of items that are all null, which are a byte each.
	nulls := func(n int) []byte {
		return append(append(ocf.AppendLong(nil, int64(n)), make([]byte, n)...), 0)
	}
	for name, c := range map[string]struct {
		schema, typ string
		row         []byte
	}{
		"null numbers": {null(`"long"`), "ARRAY<BIGINT>", nulls(200_000)},
		"null rows":    {null(`{"type":"record","name":"r","fields":[{"name":"i","type":"long"}]}`), "ARRAY<" + wide + ">", nulls(20_000)},
		"rows of members that are not there": {
			`{"type":"array","items":{"type":"record","name":"r","fields":[{"name":"q","type":"boolean"}]}}`, "ARRAY<" + wide + ">", nulls(20_000)},
		"null vectors": {null(`{"type":"array","items":"float"}`), "ARRAY<VECTOR<FLOAT, 1000>>", nulls(2000)},
		"nulls of a map": {`{"type":"array","items":{"type":"record","name":"e","fields":[{"name":"key","type":"int"},{"name":"value","type":["null","long"]}]}}`,
			"MAP<INT, BIGINT>", append(append(ocf.AppendLong(nil, 100_000), make([]byte, 200_000)...), 0)},
		"empty lists": {`{"type":"array","items":{"type":"array","items":"int"}}`, "ARRAY<ARRAY<INT>>", nulls(500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			schema := `{"type":"record","name":"record","fields":[{"name":"a","type":` + c.schema + `}]}`
			alloc := &formattest.Peak{Allocator: checked(t)}
			fields := []types.Field{field(0, "a", c.typ)}
			read := func(rows int64, block []byte, most int64) error {
				f, err := openBytes(container(schema, ocf.CodecNull, rows, block), alloc)
				if err != nil {
					return err
				}
				defer f.Close()
				d, err := f.reader(fileformat.ReadRequest{Columns: fields})
				if err != nil {
					return err
				}
				d.allowance.Most = most
				return eachBatch(fileformat.NewReader(d.schema, "Avro", testPath, d), func(arrow.RecordBatch) error { return nil })
			}
			if err := read(1, c.row, batch.MostBytes); err != nil {
				t.Fatalf("within the bounds: %v", err)
			}
			alloc = &formattest.Peak{Allocator: alloc.Allocator}
			err := read(1, c.row, most)
			if !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "too much memory") ||
				!strings.Contains(err.Error(), "path="+testPath) || !strings.Contains(err.Error(), "column=a") {
				t.Errorf("%v", err)
			}
			if alloc.Most() > 3*most {
				t.Errorf("%d bytes were allocated", alloc.Most())
			}
		})
	}
}

// TestManyLargeRows: rows that are large together come in several batches.
func TestManyLargeRows(t *testing.T) {
	fields := []types.Field{field(0, "a", "ARRAY<BIGINT>")}
	row := append(append(ocf.AppendLong(nil, 1<<20), make([]byte, 1<<20)...), 0)
	schema := `{"type":"record","name":"record","fields":[{"name":"a","type":{"type":"array","items":["null","long"]}}]}`
	f, err := openBytes(container(schema, ocf.CodecNull, 12, bytes.Repeat(row, 12)), checked(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: fields})
	if err != nil {
		t.Fatal(err)
	}
	rows, batches := 0, 0
	for {
		rec, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, batches = rows+int(rec.NumRows()), batches+1
	}
	r.Close()
	if rows != 12 || batches < 2 {
		t.Errorf("%d rows in %d batches", rows, batches)
	}
}

// TestUnseenRows: that no column of a block is read does not mean that its
// number of rows is believed.
func TestUnseenRows(t *testing.T) {
	data := container(`{"type":"record","name":"record","fields":[{"name":"a","type":"int"}]}`, ocf.CodecNull, 1<<50, []byte{2})
	err := readEverything(data, checked(t), fileformat.ReadRequest{Columns: []types.Field{field(0, "b", "INT")}})
	if !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "more rows than") {
		t.Errorf("%v", err)
	}
}

// TestSchemasAreKept: files of one schema are opened with one parsed schema.
func TestSchemasAreKept(t *testing.T) {
	f := New().(*format)
	for range 5 {
		for _, name := range javaFiles {
			data := testBytes(t, name+".avro")
			file, err := f.Open(t.Context(), formattest.Store(data), testPath, int64(len(data)), nil)
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
	}
	if n := f.schemas.Missed(); n != len(javaFiles) {
		t.Errorf("%d schemas were parsed for files of %d", n, len(javaFiles))
	}
}

// FuzzSchema breaks the schema of a file with every type.
func FuzzSchema(f *testing.F) {
	for _, name := range []string{"java-scalar", "java-nested"} {
		text, err := schemaText(tableFields(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text), []byte("\x02\x00\x00"))
	}
	f.Add([]byte(`{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":["null","long"]}}]}`), []byte("\x80\x80\x10"))
	f.Fuzz(func(t *testing.T, schema, records []byte) {
		alloc := &formattest.Peak{Allocator: checked(t)}
		if err := readEverything(container(string(schema), ocf.CodecNull, 1, records), alloc, fileformat.ReadRequest{}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
		if room := 1 << 20; len(records) < 1000 && alloc.Most() > room {
			t.Fatalf("%d bytes for %d bytes of records", alloc.Most(), len(records))
		}
	})
}
