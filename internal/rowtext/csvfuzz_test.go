package rowtext

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// FuzzCSV reads any text as CSV. What is taken is written and read again as the same
// rows; what is not taken is told with its line; setting rows aside loses no other.
func FuzzCSV(f *testing.F) {
	var fs []types.Field
	for i, c := range everyType {
		name, typ, _ := strings.Cut(c, " ")
		fs = append(fs, types.Field{ID: i, Name: name, Type: types.MustParse(typ)})
	}
	// Short seeds: what is long takes the time of a run to be made shorter.
	for i, cell := range []string{
		"true", "-128", "32767", "-2147483648", "9223372036854775807", "1.0E7", "-0.0", "-1.50", "12345678901234567890123456789012345.678",
		"ab ", "é", "hex:00ff", "1969-12-31", "23:59:59.999", "1969-12-31T23:59:59.5", "2024-02-29T00:00:00.000001", "2262-04-11T00:00:00.000000001",
		"2024-01-01T00:00:00Z", "\"[1,null,3]\"", "\"[[\"\"a\"\",1],[\"\"b\"\",null]]\"", "\"[[\"\"x\"\",2]]\"", "\"{\"\"x\"\":null,\"\"y\"\":[\"\"z\"\"]}\"",
	} {
		f.Add("_kind,"+fs[i].Name+"\n+U,"+cell+"\n", "", uint8(','))
	}
	f.Add("i,s\n1,a\n,\"\"\n2,\"two\nlines, \"\"quoted\"\"\"\n", "", uint8(','))
	f.Add("_kind|l|f\n+U|9223372036854775808|NaN\n-D|1|1e39\n", "NULL", uint8('|'))
	f.Add("\ufeffs;t9\r\n\xff;2262-04-12T00:00:00\r\n\r\nNULL;\"NULL\"\r\n", "NULL", uint8(';'))
	f.Add("d,de\n1e400,100000000.00\nx\"y,1\n1,\"open\n", "", uint8(','))
	f.Add("l\n1\n", "", uint8('\n'))
	f.Add("a,m,r,b\n\"[1,null]\",\"[[\"\"k\"\",1]]\",\"{\"\"x\"\":1,\"\"y\"\":[\"\"\"\"]}\",hex:0a\n", "", uint8(','))
	f.Fuzz(func(t *testing.T, text, null string, delimiter uint8) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		opts := ReadOptions{Mem: mem, BatchRows: 3, Header: true, Null: null, Delimiter: rune(delimiter)}
		all, err := readAllCSV(text, fs, opts)
		if err != nil && strings.ContainsRune("\"\r\n", rune(delimiter)) && strings.Contains(err.Error(), "no such delimiter") {
			return
		}
		if err != nil && (tarnerr.KindOf(err) != tarnerr.Invalid || !strings.Contains(err.Error(), "line")) {
			t.Fatalf("%q: %v", text, err)
		}

		rejected, last := 0, 0
		opts.Reject = func(e *RowError, _ string) error {
			if rejected++; e.Line <= last {
				t.Fatalf("line %d is rejected after line %d", e.Line, last)
			}
			last = e.Line
			return nil
		}
		some, someErr := readAllCSV(text, fs, opts)
		if err == nil && (someErr != nil || rejected > 0 || !bytes.Equal(all, some)) {
			t.Fatalf("%q: all rows fit, but with rejects there are %d and %v", text, rejected, someErr)
		}
		if someErr != nil {
			return
		}
		again, err := readAllCSV(string(some), fs, ReadOptions{Mem: mem, Header: true})
		if err != nil || !bytes.Equal(some, again) {
			t.Fatalf("%q became\n%s, and that\n%s, %v", text, some, again, err)
		}
	})
}

// readAllCSV reads CSV and writes all its rows as CSV with a header.
func readAllCSV(text string, fs []types.Field, opts ReadOptions) ([]byte, error) {
	r, err := ReadCSV(strings.NewReader(text), fs, opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	_, kind := r.Schema().FieldsByName(types.KindColumn)
	var out bytes.Buffer
	w := NewCSV(&out, fs, kind, ',', "")
	line := 0
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out.Bytes(), w.Flush()
		}
		if err != nil {
			return nil, err
		}
		for i := range int(rec.NumRows()) {
			if r.Line(i) <= line {
				return nil, errors.New("lines do not grow")
			}
			line = r.Line(i)
		}
		if err := w.Write(rec); err != nil {
			return nil, err
		}
	}
}
