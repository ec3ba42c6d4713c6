package run

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// oneFile is a format whose only file holds json rows, found by name.
type oneFile struct {
	fileformat.Format
	rows  string
	mem   memory.Allocator
	path  string                 // opened
	asked fileformat.ReadRequest // last
	open  int
}

func (f *oneFile) Open(_ context.Context, _ fileio.FileIO, path string, _ int64, _ memory.Allocator) (fileformat.File, error) {
	f.path = path
	f.open++
	return &openOne{oneFile: f}, nil
}

type openOne struct {
	fileformat.File
	*oneFile
}

func (o *openOne) Close() error { o.open--; return nil }

func (o *openOne) Read(_ context.Context, req fileformat.ReadRequest) (batch.Reader, error) {
	o.asked = req
	s, err := types.ArrowSchema(req.Columns)
	if err != nil {
		return nil, err
	}
	if req.Numbers {
		s = fileformat.Numbered(s)
	}
	rec, _, err := array.RecordFromJSON(o.mem, s, strings.NewReader(o.rows))
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	return batch.Of(s, rec), nil
}

func field(id int, name, typ string) types.Field {
	t, err := types.Parse(typ)
	if err != nil {
		panic(err)
	}
	return types.Field{ID: id, Name: name, Type: t}
}

var (
	written = &schema.Schema{ID: 0, Fields: []types.Field{
		field(0, "k", "INT NOT NULL"), field(1, "old", "STRING"), field(2, "gone", "INT"), field(3, "b", "BIGINT"),
	}}
	// b was dropped and another b added; old was renamed.
	current = &schema.Schema{ID: 4, Fields: []types.Field{
		field(5, "b", "INT"), field(1, "new", "STRING"), field(0, "k", "INT NOT NULL"),
	}}
)

func sourceOf(f fileformat.Format, m memory.Allocator) *Source {
	return &Source{
		FileIO: mem.New(mem.Posix),
		Format: func(string) (fileformat.Format, error) { return f, nil },
		Schema: func(_ context.Context, id int64) (*schema.Schema, error) {
			if id == 0 {
				return written, nil
			}
			return current, nil
		},
		Table: current, Mem: m,
	}
}

func readAll(t *testing.T, r batch.Reader) string {
	t.Helper()
	defer r.Close()
	var b strings.Builder
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Schema().Equal(r.Schema()) {
			t.Errorf("batch of schema %v, want %v", rec.Schema(), r.Schema())
		}
		if rec.NumCols() == 0 {
			b.WriteString(strings.Repeat("{}\n", int(rec.NumRows())))
			continue
		}
		if err := array.RecordToJSON(rec, &b); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenFindsColumnsByID(t *testing.T) {
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	f := &oneFile{mem: m, rows: `[{"k": 1, "old": "a", "b": 99, "_SEQUENCE_NUMBER": 7, "_VALUE_KIND": 3}, {"k": 2, "old": null, "b": 98, "_SEQUENCE_NUMBER": 8, "_VALUE_KIND": 0}]`}
	where, err := expr.Bind(expr.And{
		expr.Compare{Column: "new", Op: expr.Eq, Value: "a"}, expr.Compare{Column: "b", Op: expr.Gt, Value: 3},
	}, current.Fields)
	if err != nil {
		t.Fatal(err)
	}
	cols := append([]types.Field{types.SequenceNumberField(), types.ValueKindField()}, current.Fields...)
	r, err := sourceOf(f, m).Open(context.Background(), "/w/t/bucket-0", &datafile.Meta{FileName: "data-1.parquet", RowCount: 2}, Request{Columns: cols, Where: where})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, r)
	want := `{"_SEQUENCE_NUMBER":7,"_VALUE_KIND":3,"b":null,"k":1,"new":"a"}
{"_SEQUENCE_NUMBER":8,"_VALUE_KIND":0,"b":null,"k":2,"new":null}
`
	if got != want {
		t.Errorf("rows are\n%swant\n%s", got, want)
	}
	if f.path != "/w/t/bucket-0/data-1.parquet" {
		t.Errorf("opened %s", f.path)
	}
	if f.open != 0 {
		t.Error("the file is still open")
	}
	// b is another column now: it must not be asked for, nor pushed down.
	if c := f.asked.Where.Columns(); len(c) != 1 || c[0] != "old" {
		t.Errorf("predicate over %v is pushed down, want old", c)
	}
	for _, c := range f.asked.Columns {
		if c.Name == "b" {
			t.Error("the dropped b is read")
		}
	}
}

func TestOpenWithoutColumnsOfTheFile(t *testing.T) {
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	f := &oneFile{mem: m}
	for _, c := range []struct {
		cols []types.Field
		want string
	}{
		{nil, "{}\n{}\n{}\n"},
		{current.Fields[:1], "{\"b\":null}\n{\"b\":null}\n{\"b\":null}\n"},
	} {
		r, err := sourceOf(f, m).Open(context.Background(), "/d", &datafile.Meta{FileName: "x.parquet", RowCount: 3}, Request{Columns: c.cols, BatchRows: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, r); got != c.want {
			t.Errorf("rows are\n%s", got)
		}
	}
	if f.path != "" {
		t.Error("the file was opened for nothing")
	}
}

func TestOpenRefuses(t *testing.T) {
	m := memory.DefaultAllocator
	s := sourceOf(&oneFile{mem: m}, m)
	elsewhere := "s3://bucket/data-1.parquet"
	for name, c := range map[string]struct {
		file datafile.Meta
		cols []types.Field
		text string
	}{
		"part of the columns": {datafile.Meta{FileName: "a.parquet", WriteCols: []string{"k"}}, current.Fields, "data evolution"},
		"changed type":        {datafile.Meta{FileName: "a.parquet"}, []types.Field{field(0, "k", "ARRAY<INT>")}, "type has changed"},
		"another storage":     {datafile.Meta{FileName: "a.parquet", ExternalPath: &elsewhere}, current.Fields, elsewhere},
	} {
		_, err := s.Open(context.Background(), "/d", &c.file, Request{Columns: c.cols})
		if !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "a.parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConformNested(t *testing.T) {
	const rows = `[
		{"r": {"a": 1, "b": "x", "c": 2.5}, "l": [{"a": 1, "b": "p"}, null], "m": [{"key": "k", "value": {"a": 7, "b": "q"}}], "z": {"g": 1}},
		{"r": null, "l": null, "m": null, "z": null},
		{"r": {"a": null, "b": "y", "c": null}, "l": [], "m": [], "z": {"g": null}}]`
	row := func(fs ...types.Field) types.Type { return types.Type{Root: types.Row, Nullable: true, Fields: fs} }
	elem := row(field(10, "a", "INT"), field(11, "b", "STRING"))
	key := types.Type{Root: types.VarChar, Length: 9}
	file := []types.Field{
		{ID: 0, Name: "r", Type: row(field(3, "a", "INT"), field(4, "b", "STRING"), field(5, "c", "DOUBLE"))},
		{ID: 1, Name: "l", Type: types.Type{Root: types.Array, Nullable: true, Element: &elem}},
		{ID: 2, Name: "m", Type: types.Type{Root: types.Map, Nullable: true, Key: &key, Element: &elem}},
		{ID: 7, Name: "z", Type: row(field(8, "g", "INT"))},
	}
	elemNow := row(field(11, "bb", "STRING"), field(12, "n", "BIGINT"))
	table := []types.Field{
		{ID: 0, Name: "r", Type: row(field(5, "c", "DOUBLE"), field(6, "added", "STRING"), field(3, "a2", "INT"))},
		{ID: 1, Name: "l", Type: types.Type{Root: types.Array, Nullable: true, Element: &elemNow}},
		{ID: 2, Name: "m", Type: types.Type{Root: types.Map, Nullable: true, Key: &key, Element: &elemNow}},
		{ID: 7, Name: "z", Type: row(field(9, "h", "INT"))},
	}
	cols, err := schema.MapFields(file, table)
	if err != nil {
		t.Fatal(err)
	}
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	in, err := types.ArrowSchema(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := types.ArrowSchema(table)
	if err != nil {
		t.Fatal(err)
	}
	full, _, err := array.RecordFromJSON(m, in, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Release()
	lines := []string{
		// As in Java, a row none of whose members the file has is null.
		`{"l":[{"bb":"p","n":null},null],"m":[{"key":"k","value":{"bb":"q","n":null}}],"r":{"a2":1,"added":null,"c":2.5},"z":null}`,
		`{"l":null,"m":null,"r":null,"z":null}`,
		`{"l":[],"m":[],"r":{"a2":null,"added":null,"c":null},"z":null}`,
	}
	for from := range int64(3) {
		rec := full.NewSlice(from, 3)
		arrays := make([]arrow.Array, len(cols))
		for i, c := range cols {
			if arrays[i], err = conform(m, rec.Column(c.Source), c, out.Field(i).Type); err != nil {
				t.Fatal(err)
			}
		}
		got := array.NewRecordBatch(out, arrays, rec.NumRows())
		for _, a := range arrays {
			a.Release()
		}
		var b strings.Builder
		if err := array.RecordToJSON(got, &b); err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(lines[from:], "\n") + "\n"; b.String() != want {
			t.Errorf("rows from %d:\n%swant\n%s", from, b.String(), want)
		}
		got.Release()
		rec.Release()
	}
}

func TestPathOfFilesElsewhere(t *testing.T) {
	fs := mem.New(mem.Posix)
	at := func(uri string) *datafile.Meta { return &datafile.Meta{FileName: "f.parquet", ExternalPath: &uri} }
	for _, c := range []struct {
		file *datafile.Meta
		want string
	}{
		{&datafile.Meta{FileName: "f.parquet"}, "/w/bucket-0/f.parquet"},
		{at(fs.URI("/elsewhere/x/f.parquet")), "/elsewhere/x/f.parquet"},
	} {
		if got, err := Path(fs, "/w/bucket-0", c.file); err != nil || got != c.want {
			t.Errorf("%s: %v", got, err)
		}
	}
	for _, uri := range []string{"s3://b/f.parquet", "f.parquet"} {
		if got, err := Path(fs, "/w", at(uri)); !errors.Is(err, tarnerr.Unsupported) {
			t.Errorf("%s lies at %s, %v", uri, got, err)
		}
	}
}
