package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var arrowFields = []types.Field{
	{Name: "id", Type: types.MustParse("INT NOT NULL")},
	{Name: "name", Type: types.MustParse("STRING")},
	{Name: "tags", Type: types.MustParse("ARRAY<STRING>")},
}

// arrowInput is two batches of three rows as a program writes them.
type arrowInput struct {
	name string
	file bool
	data []byte
}

// arrowInputs are streams and files, compressed or not, with columns that are taken as
// they are and ones that are converted.
func arrowInputs(t testing.TB) []arrowInput {
	own, err := types.ArrowSchema(arrowFields)
	if err != nil {
		t.Fatal(err)
	}
	foreign := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "name", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "tags", Type: own.Field(2).Type, Nullable: true},
	}, nil)
	views := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "name", Type: arrow.BinaryTypes.StringView, Nullable: true},
	}, nil)
	large := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "name", Type: arrow.BinaryTypes.LargeString, Nullable: true},
	}, nil)
	make := func(name string, s *arrow.Schema, file bool, opts ...ipc.Option) arrowInput {
		var out bytes.Buffer
		var w interface {
			Write(arrow.RecordBatch) error
			Close() error
		}
		opts = append(opts, ipc.WithSchema(s))
		if file {
			if w, err = ipc.NewFileWriter(&out, opts...); err != nil {
				t.Fatal(err)
			}
		} else {
			w = ipc.NewWriter(&out, opts...)
		}
		for b := range 2 {
			rows := fmt.Sprintf(`[{"id":%d1,"name":"first and long enough to stand apart","tags":["a",null]},{"id":%[1]d2,"name":null,"tags":null},{"id":%[1]d3,"name":"ä","tags":["b"]}]`, b+1)
			if s.NumFields() == 2 {
				rows = strings.NewReplacer(`,"tags":["a",null]`, "", `,"tags":null`, "", `,"tags":["b"]`, "").Replace(rows)
			}
			rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return arrowInput{name, file, out.Bytes()}
	}
	return []arrowInput{
		make("stream", own, false), make("file", own, true),
		make("stream, zstd", own, false, ipc.WithZstd()), make("file, lz4", own, true, ipc.WithLZ4()),
		make("stream, foreign types", foreign, false), make("file, foreign types", foreign, true),
		make("stream, views", views, false), make("file, long text", large, true),
	}
}

// readArrow reads an input to its end and gives each batch to take. The buffer is big
// enough to be taken as it is.
func readArrow(buf *bufio.Reader, data []byte, take func(arrow.RecordBatch) error) (rows int64, err error) {
	buf.Reset(bytes.NewReader(data))
	src, err := openArrow(buf, arrowFields)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	for {
		rec, err := src.Next(context.Background())
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if err := take(rec); err != nil {
			return rows, err
		}
		rows += rec.NumRows()
	}
}

func inputBuffer() *bufio.Reader { return bufio.NewReaderSize(nil, arrowBuffer) }

func ignoreRows(arrow.RecordBatch) error { return nil }

// An input that was cut, wherever, is not taken for a whole one.
func TestArrowCut(t *testing.T) {
	buf := inputBuffer()
	for _, in := range arrowInputs(t) {
		t.Run(in.name, func(t *testing.T) {
			if rows, err := readArrow(buf, in.data, ignoreRows); rows != 6 || err != nil {
				t.Fatalf("%d rows of 6: %v", rows, err)
			}
			for n := range in.data {
				_, err := readArrow(buf, in.data[:n], ignoreRows)
				want := tarnerr.Corrupt
				if n < 4 || in.file && n < len(fileMagic) {
					want = tarnerr.Invalid // nobody knows yet what it is
				}
				if err == nil || tarnerr.KindOf(err) != want {
					t.Fatalf("cut to %d of %d bytes: %v, want %v", n, len(in.data), err, want)
				}
			}
		})
	}
}

// An input with a damaged byte is refused, or read as something else: nothing panics,
// neither in reading nor in the table that takes the rows.
func TestArrowDamaged(t *testing.T) {
	rt, err := tarn.NewRuntime(tarn.Config{Workers: 1, Components: tarn.Components{FileIO: mem.New(mem.Posix)}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	ctx := t.Context()
	cat, err := rt.Open(ctx, "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "d", false); err != nil {
		t.Fatal(err)
	}
	id := table.Identifier{Database: "d", Table: "t"}
	if err := cat.CreateTable(ctx, id, schema.Spec{Fields: arrowFields}, false); err != nil {
		t.Fatal(err)
	}
	tab, err := cat.LoadTable(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tab.NewBatchWrite(ctx, table.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	buf := inputBuffer()
	take := func(rec arrow.RecordBatch) error { return w.Write(ctx, rec) }
	for i, in := range arrowInputs(t) {
		flips := []byte{0xff, 0x01}
		if i > 1 || testing.Short() {
			flips = flips[:1]
		}
		refused := 0
		for at := range in.data {
			for _, flip := range flips {
				damaged := bytes.Clone(in.data)
				damaged[at] ^= flip
				func() {
					defer func() {
						if p := recover(); p != nil {
							t.Errorf("%s, byte %d ^ %#x: panic: %v", in.name, at, flip, p)
						}
					}()
					if _, err := readArrow(buf, damaged, take); err != nil {
						refused++
					}
				}()
			}
		}
		if refused < len(in.data)/4 {
			t.Errorf("%s: of %d damaged inputs only %d were refused", in.name, len(flips)*len(in.data), refused)
		}
	}
	if _, err := w.Commit(ctx); err != nil {
		t.Error(err)
	}
}

// What is wrong with an input that is no longer, or not yet, an Arrow stream.
func TestArrowRefused(t *testing.T) {
	in := arrowInputs(t)
	stream, file := in[0].data, in[1].data
	marker := len(stream) - 8
	if binary.LittleEndian.Uint64(stream[marker:]) != continuation {
		t.Fatalf("the stream ends with % x", stream[marker:])
	}
	// A length that a damaged header names, or a header that names many parts.
	long := bytes.Clone(stream)
	binary.LittleEndian.PutUint32(long[4:], 0x7ffffff0)
	old := append(bytes.Clone(stream[:marker]), 0, 0, 0, 0) // the end marker of before 0.15
	for _, c := range []struct {
		name  string
		data  []byte
		kind  tarnerr.Kind // 0: taken
		words string
	}{
		{"nothing", nil, tarnerr.Invalid, "Is it an Arrow IPC stream or file?"},
		{"text", []byte("id,name\n1,x\n"), tarnerr.Invalid, "Is it an Arrow IPC stream or file?"},
		{"no end marker", stream[:marker], tarnerr.Corrupt, `it ends without an end marker: it was cut, or its writer stopped: unexpected EOF. Write it again; a stream that is whole can be ended with: printf '\377\377\377\377\0\0\0\0' >>FILE`},
		{"end marker of old", old, 0, ""},
		{"two streams", append(bytes.Clone(stream), stream...), tarnerr.Corrupt, "bytes behind its end marker"},
		{"no footer", file[:len(stream)], tarnerr.Corrupt, "without an end marker"},
		{"footer and rest", append(bytes.Clone(file), 0), tarnerr.Corrupt, "the footer is cut"},
		{"long message", long, tarnerr.Corrupt, "it was cut within a message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readArrow(inputBuffer(), c.data, ignoreRows)
			if c.kind == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if tarnerr.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v: %v, want %v: %s", tarnerr.KindOf(err), err, c.kind, c.words)
			}
		})
	}
}

// A text offset that leads outside of the text names its batch and column.
func TestArrowBadOffset(t *testing.T) {
	data := arrowInputs(t)[0].data
	// The offsets of the last batch's names: 0, 36, 36, 38.
	at := bytes.LastIndex(data, []byte{0, 0, 0, 0, 36, 0, 0, 0, 36, 0, 0, 0, 38, 0, 0, 0})
	if at < 0 {
		t.Fatal("no offsets of this kind")
	}
	binary.LittleEndian.PutUint32(data[at+8:], 1<<30)
	rows, err := readArrow(inputBuffer(), data, ignoreRows)
	if rows != 3 || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), "column name") || !strings.Contains(err.Error(), "batch=2") {
		t.Errorf("after %d rows: %v", rows, err)
	}
}

// FuzzArrow reads any bytes: it never panics.
func FuzzArrow(f *testing.F) {
	for _, in := range arrowInputs(f) {
		f.Add(in.data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = readArrow(inputBuffer(), data, ignoreRows) })
}
