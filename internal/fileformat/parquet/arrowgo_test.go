//go:build !noarrowgo

package parquet

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// cells are all values of a batch as arrow-go prints them. Zones do not show:
// arrow-go takes INT96 for UTC.
func cells(rec arrow.RecordBatch) (out []string) {
	for i := range int(rec.NumRows()) {
		var line strings.Builder
		for _, c := range rec.Columns() {
			s := c.ValueStr(i)
			line.WriteString("|" + strings.ReplaceAll(s, "Z", ""))
		}
		out = append(out, line.String())
	}
	return out
}

func tarnCells(t testing.TB, data []byte, req fileformat.ReadRequest) []string {
	t.Helper()
	f, err := openBytes(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if req.Columns == nil {
		req.Columns = f.Fields()
	}
	r, err := f.Read(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	if err := eachBatch(r, func(rec arrow.RecordBatch) error {
		out = append(out, cells(rec)...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func arrowGoCells(t testing.TB, data []byte) []string {
	t.Helper()
	pf, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer pf.Close()
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 1 << 20}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	rr := array.NewTableReader(table, 1<<20)
	defer rr.Release()
	var out []string
	for rr.Next() {
		out = append(out, cells(rr.RecordBatch())...)
	}
	return out
}

// TestAgreesWithArrowGo reads files twice, by this decoder and by arrow-go's.
func TestAgreesWithArrowGo(t *testing.T) {
	for _, name := range []string{"java-nested", "java-variant", "pyarrow-nested-v1", "pyarrow-nested-v2", "duckdb-nested"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			sameRows(t, tarnCells(t, data, fileformat.ReadRequest{BatchRows: 4}), arrowGoCells(t, data))
		})
	}
}

// TestArrowGoReadsOurFiles: what this writer writes another reader reads.
func TestArrowGoReadsOurFiles(t *testing.T) {
	rows := 700
	if testing.Short() {
		rows = 200
	}
	for _, names := range [][]string{scalarTypes, nestedTypes} {
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			return strings.Contains(n, "TIMESTAMP(9)") // Java's INT96 of instants before 1970 are refused there
		})
		fields := everything(names)
		for _, options := range []map[string]string{nil, {"parquet.page.size": "300", "parquet.block.size": "20000", "parquet.dictionary.page.size": "100"}} {
			rec := record(t, memory.NewGoAllocator(), fields, randomRows(11, fields, rows))
			fs, _ := write(t, fields, fileformat.WriteOptions{Options: options, Workers: 2}, rec)
			data := content(t, fs)
			sameRows(t, tarnCells(t, data, fileformat.ReadRequest{}), arrowGoCells(t, data))
		}
	}
}

// TestMetadata looks at a file with arrow-go's eyes: bounds of chunks and pages,
// encodings, order of pages.
func TestMetadata(t *testing.T) {
	fields := []types.Field{
		field(0, "up", "BIGINT NOT NULL"), field(1, "down", "INT"), field(2, "float", "DOUBLE"), field(3, "nan", "FLOAT"),
		field(4, "text", "STRING"), field(5, "wide", "DECIMAL(30,2)"), field(6, "old", "TIMESTAMP(9)"), field(7, "flag", "BOOLEAN"),
		field(8, "few", "STRING"), field(9, "none", "INT"), field(10, "raw", "BYTES"),
	}
	rows := make([][]types.Value, 400)
	for i := range rows {
		f := float32(i)
		if i == 150 {
			f = float32(math.NaN())
		}
		rows[i] = []types.Value{
			int64(i), int64(-i), float64(i % 7), f, fmt.Sprintf("%03d", (i*7)%400), decimalValue(int64(i-200) * 100),
			types.Instant{Millis: int64(i)}, i%2 == 0, fmt.Sprint("text of some length ", i%3), nil, []byte{byte(i / 4), 0xff},
		}
		if i >= 100 && i < 200 {
			rows[i][1] = nil
		}
	}
	rec := record(t, memory.NewGoAllocator(), fields, rows)
	fs, _ := write(t, fields, fileformat.WriteOptions{Options: map[string]string{"parquet.page.row.count.limit": "100"}}, rec)
	data := content(t, fs)
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	group := r.MetaData().RowGroup(0)
	index, err := r.GetPageIndexReader().RowGroup(0)
	if err != nil {
		t.Fatal(err)
	}
	orders := []string{"ASCENDING", "DESCENDING", "ASCENDING", "", "UNORDERED", "ASCENDING", "", "ASCENDING", "ASCENDING", "ASCENDING", "ASCENDING"}
	for i, f := range fields {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := chunk.Statistics()
		if err != nil {
			t.Fatal(err)
		}
		nulls := int64(0)
		for _, row := range rows {
			if row[i] == nil {
				nulls++
			}
		}
		bounded := f.Name != "nan" && f.Name != "old" && f.Name != "none"
		if f.Name != "old" && (stats == nil || stats.HasMinMax() != bounded || stats.NullCount() != nulls) { // of INT96 arrow-go shows none
			t.Errorf("%s: statistics %v", f.Name, stats)
		}
		if got, want := chunk.HasDictionaryPage(), f.Name == "few" || f.Name == "float" || f.Name == "raw"; got != want {
			t.Errorf("%s: dictionary %v, want %v", f.Name, got, want)
		}
		pages, err := index.GetOffsetIndex(i)
		if err != nil || len(pages.GetPageLocations()) != 4 || pages.GetPageLocations()[3].GetFirstRowIndex() != 300 {
			t.Errorf("%s: offset index %v, %v", f.Name, pages, err)
		}
		bounds, err := index.GetColumnIndex(i)
		if err != nil {
			t.Fatal(err)
		}
		if orders[i] == "" {
			if bounds != nil {
				t.Errorf("%s has a column index", f.Name)
			}
			continue
		}
		if bounds == nil {
			t.Errorf("%s has no column index", f.Name)
			continue
		}
		if got := bounds.GetBoundaryOrder().String(); got != orders[i] {
			t.Errorf("%s: pages are %s, want %s", f.Name, got, orders[i])
		}
		if f.Name == "down" && (!bounds.GetNullPages()[1] || bounds.GetNullPages()[0] || bounds.GetNullCounts()[1] != 100) {
			t.Errorf("null pages %v, null counts %v", bounds.GetNullPages(), bounds.GetNullCounts())
		}
	}
	text, _ := group.ColumnChunk(4)
	stats, _ := text.Statistics()
	s := stats.(*metadata.ByteArrayStatistics)
	if string(s.Min()) != "000" || string(s.Max()) != "399" {
		t.Errorf("text from %s to %s", s.Min(), s.Max())
	}
}

// TestDictionaryWithoutEntries: a row group of nulls, written by an encoder that
// expected few values, has a dictionary page of none. arrow-go writes such files.
func TestDictionaryWithoutEntries(t *testing.T) {
	alloc := checked(t)
	var fields []types.Field
	for i, typ := range []string{"INT", "BIGINT", "STRING", "DECIMAL(30,2)", "DOUBLE", "ARRAY<INT>"} {
		fields = append(fields, field(i, fmt.Sprintf("c%d", i), typ))
	}
	var rows [][]types.Value
	for i := range 320 {
		if i >= 160 {
			rows = append(rows, make([]types.Value, len(fields)))
			continue
		}
		v := int64(i % 2)
		rows = append(rows, []types.Value{v, v, fmt.Sprint("a text ", v), decimalValue(v), float64(v), []types.Value{v, v}})
	}
	rec := record(t, alloc, fields, rows)
	defer rec.Release()
	var data bytes.Buffer
	props := []parquet.WriterProperty{}
	for _, c := range fields {
		props = append(props, parquet.WithDictionaryCostFallbackFor(c.Name, false))
	}
	w, err := pqarrow.NewFileWriter(rec.Schema(), &data, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 160} {
		half := rec.NewSlice(at, at+160)
		w.NewBufferedRowGroup()
		if err := w.WriteBuffered(half); err != nil {
			t.Fatal(err)
		}
		half.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(data.Bytes(), alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	empty := 0
	for _, c := range f.meta.groups[1].columns {
		if c.dictOffset > 0 {
			empty++
		}
	}
	if len(f.meta.groups) != 2 || empty == 0 {
		t.Fatalf("%d row groups, %d dictionaries in the second: the test needs them", len(f.meta.groups), empty)
	}
	sameRows(t, rowsOf(t, f, fileformat.ReadRequest{Columns: fields, BatchRows: 50}), textOf(fields, rec))
}

// elements are the schema elements of a file as arrow-go decodes them.
func elements(t *testing.T, data []byte) (out []string, orders int, version int32) {
	r, err := file.NewParquetReader(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.MetaData().FileMetaData
	for _, e := range m.Schema {
		// Pointers print as addresses: name what they point to.
		s := e.Name + " type=" + e.GetType().String() + " rep=" + e.GetRepetitionType().String() + " converted=" + e.GetConvertedType().String()
		if !e.IsSetType() {
			s += " group"
		}
		if !e.IsSetConvertedType() {
			s += " (none)"
		}
		if e.IsSetFieldID() {
			s += " id=" + strconv.Itoa(int(e.GetFieldID()))
		}
		s += " length=" + strconv.Itoa(int(e.GetTypeLength())) + " scale=" + strconv.Itoa(int(e.GetScale())) + " precision=" + strconv.Itoa(int(e.GetPrecision())) +
			" children=" + strconv.Itoa(int(e.GetNumChildren()))
		if e.IsSetLogicalType() {
			s += " " + e.GetLogicalType().String()
		}
		out = append(out, s)
	}
	return out, len(m.ColumnOrders), m.GetVersion()
}

// TestSchemaIsJavas writes files with the columns of files by Java and expects
// the same Parquet schema: names, repetitions, ids, physical and logical types.
func TestSchemaIsJavas(t *testing.T) {
	for _, name := range javaFiles {
		if name == "java-scalar-0.8.2.parquet" {
			continue // had no field ids
		}
		f := testFile(t, name, nil)
		fields := append([]types.Field(nil), f.Fields()...)
		fs, _ := write(t, fields, fileformat.WriteOptions{})
		got, orders, version := elements(t, content(t, fs))
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want, wantOrders, wantVersion := elements(t, data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: schema differs (−Java +Tarn)\n%s", name, diff)
		}
		if orders != wantOrders || version != wantVersion {
			t.Errorf("%s: %d column orders, version %d; Java has %d, %d", name, orders, version, wantOrders, wantVersion)
		}
	}
}
