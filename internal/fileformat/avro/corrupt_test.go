package avro

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// readEverything reads all columns of a file given by its bytes, whatever they are.
func readEverything(data []byte, alloc memory.Allocator, req fileformat.ReadRequest) error {
	f, err := openBytes(data, alloc)
	if err != nil {
		return err
	}
	defer f.Close()
	if req.Columns == nil {
		for _, c := range f.Fields() {
			if c.Type.Root != types.Invalid {
				req.Columns = append(req.Columns, c)
			}
		}
	}
	return formattest.ReadAll(f, req)
}

// plainFile is a file of Java's without compression, so that broken bytes reach records.
func plainFile(t testing.TB, name string) []byte {
	f := open(t, testBytes(t, name+".avro"), nil)
	fields := tableFields(t, name)
	data, _ := write(t, fields, fileformat.WriteOptions{Compression: "null"}, readBatches(t, f, fields)...)
	return data
}

func TestCutFiles(t *testing.T) {
	for _, data := range [][]byte{testBytes(t, "java-nested.avro"), testBytes(t, "java-union.avro"), plainFile(t, "java-scalar")} {
		whole := open(t, data, nil).blocks
		for n := 0; n < len(data); n += 1 + n/200 {
			if int64(n) == whole {
				continue // a file without blocks is whole
			}
			if err := readEverything(data[:n], nil, fileformat.ReadRequest{}); err == nil || !badInput(err) || !strings.Contains(err.Error(), testPath) {
				t.Fatalf("cut to %d bytes: %v", n, err)
			}
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	for _, data := range [][]byte{plainFile(t, "java-nested"), plainFile(t, "java-scalar"), testBytes(t, "java-union.avro")} {
		alloc := checked(t)
		failed, places := 0, 150
		if raceDetector {
			places = 20
		}
		for i := 0; i < len(data); i += 1 + len(data)/places {
			for _, x := range []byte{0x01, 0x80, 0xff} {
				data[i] ^= x
				if err := readEverything(data, alloc, fileformat.ReadRequest{BatchRows: 2}); err != nil {
					failed++
					if !badInput(err) {
						t.Fatalf("byte %d ^ %#x: %v", i, x, err)
					}
				}
				data[i] ^= x
			}
		}
		if failed == 0 {
			t.Error("nothing failed")
		}
	}
}

// TestErrorsSayWhere breaks a value and expects path, block, place and column.
func TestErrorsSayWhere(t *testing.T) {
	fields := []types.Field{field(0, "a", "STRING NOT NULL"), field(1, "b", "DECIMAL(3,0) NOT NULL")}
	wide := []types.Field{fields[0], field(1, "b", "DECIMAL(9,0) NOT NULL")}
	rec := record(t, checked(t), wide, []types.Value{"x", decimal128.FromI64(12345)})
	defer rec.Release()
	data, _ := write(t, wide, fileformat.WriteOptions{Compression: "null"}, rec)
	err := readEverything(data, checked(t), fileformat.ReadRequest{Columns: fields})
	for _, part := range []string{"path=" + testPath, "offset=", "column=b", "at="} {
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
	at := len(data) - ocf.MarkerSize - 5 // the length of the string
	for _, c := range []struct {
		at   int
		to   byte
		says string
	}{
		{at, 0x7e, "length beyond the end"},
		{at - 1, 0x7e, "block ends behind the file"},
		{at - 2, 0x04, "cut off"},
		{at - 2, 0x01, "negative number of rows"},
		{len(data) - 1, ^data[len(data)-1], "no marker"},
		{0, 'o', "not an Avro object container"},
	} {
		bad := append([]byte(nil), data...)
		bad[c.at] = c.to
		err := readEverything(bad, checked(t), fileformat.ReadRequest{Columns: wide})
		if !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "offset=") {
			t.Errorf("byte %d: %v, want %s", c.at-len(data), err, c.says)
		}
	}
}

// container makes a file of one block from its parts.
func container(schema, codec string, rows int64, block []byte) []byte {
	out := append(ocf.AppendHeader(nil, schema, codec), make([]byte, ocf.MarkerSize)...)
	out = ocf.AppendText(ocf.AppendLong(out, rows), block)
	return append(out, make([]byte, ocf.MarkerSize)...)
}

// TestStrangeSchemas: what Paimon never writes is passed over or refused, and no
// claim is believed.
func TestStrangeSchemas(t *testing.T) {
	const head = `{"type":"record","name":"record","fields":[{"name":"a","type":"int"},{"name":"x","type":`
	for _, c := range []struct {
		typ   string
		value string
		read  bool
	}{
		{`"null"`, "", true},
		{`["null","int","string"]`, "\x04\x02z", true},
		{`["int","null"]`, "\x02", true},
		{`{"type":"enum","name":"e","symbols":["p","q"]}`, "\x02", true},
		{`{"type":"fixed","name":"f","size":3}`, "abc", true},
		{`{"type":"map","values":{"type":"array","items":"long"}}`, "\x02\x02k\x03\x04\x02\x04\x00\x00", true}, // a block with its size
		{`{"type":"array","items":"null"}`, "\x80\x80\x80\x80\x80\x20\x00", false},
		{`{"type":"array","items":{"type":"record","name":"r","fields":[]}}`, "\x80\x80\x80\x80\x80\x20\x00", false},
		{`{"type":"array","items":"int"}`, "\x80\x80\x80\x80\x80\x20\x00", false},
		{`{"type":"array","items":"int"}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", false},
		{`"nothing"`, "", false},
	} {
		data := container(head+c.typ+`}]}`, ocf.CodecNull, 1, []byte("\x06"+c.value))
		err := readEverything(data, checked(t), fileformat.ReadRequest{Columns: []types.Field{field(0, "a", "INT")}})
		if (err == nil) != c.read || err != nil && !errors.Is(err, tarnerr.Corrupt) {
			t.Errorf("%s: %v", c.typ, err)
		}
	}
	for _, c := range []struct{ schema, codec, says string }{
		{`"int"`, ocf.CodecNull, "rows are not records"},
		{`["null","int"]`, ocf.CodecNull, "rows are not records"},
		{head + `"int"}]}`, "lzma", "codec=lzma"},
		{head + `"int"}]}`, ocf.CodecXZ, "codec=xz"},
		{head + `["null","record"]}]}`, ocf.CodecNull, "contain themselves"},
	} {
		err := readEverything(container(c.schema, c.codec, 1, []byte("\x02")), nil, fileformat.ReadRequest{})
		if !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
	null := container(`["null",`+head+`"int"}]}]`, ocf.CodecNull, 1, []byte("\x00"))
	if err := readEverything(null, nil, fileformat.ReadRequest{}); !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "rows that are null") {
		t.Errorf("a null row: %v", err)
	}
	keys := container(`{"type":"record","name":"record","fields":[{"name":"m","type":{"type":"array","items":{"type":"record","name":"m","fields":`+
		`[{"name":"value","type":"int"},{"name":"key","type":["null","int"]}]}}}]}`, ocf.CodecNull, 1, []byte("\x04\x02\x02\x02\x04\x00\x00"))
	if err := readEverything(keys, checked(t), fileformat.ReadRequest{Columns: []types.Field{field(0, "m", "MAP<INT, INT>")}}); !errors.Is(err, tarnerr.Unsupported) || !strings.Contains(err.Error(), "keys of maps") {
		t.Errorf("a null key: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range javaFiles {
		f.Add(testBytes(f, name+".avro"))
	}
	f.Add(plainFile(f, "java-scalar"))
	f.Add(plainFile(f, "java-nested"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		if err := readEverything(data, formattest.Bounded(t), fileformat.ReadRequest{BatchRows: 100}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}

// FuzzRecords breaks the records of a file with every type.
func FuzzRecords(f *testing.F) {
	scalar, nested := tableFields(f, "java-scalar"), tableFields(f, "java-nested")
	schemas := [2]string{}
	for i, fields := range [][]types.Field{scalar, nested} {
		text, err := schemaText(fields)
		if err != nil {
			f.Fatal(err)
		}
		schemas[i] = text
	}
	f.Add(true, int64(1), []byte("\x02\x00\x00"))
	f.Add(false, int64(3), []byte("\x02\x02\x02\x02\x04"))
	f.Fuzz(func(t *testing.T, nest bool, rows int64, records []byte) {
		fields, schema := scalar, schemas[0]
		if nest {
			fields, schema = nested, schemas[1]
		}
		err := readEverything(container(schema, ocf.CodecNull, rows, records), formattest.Bounded(t), fileformat.ReadRequest{Columns: fields})
		if err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}
