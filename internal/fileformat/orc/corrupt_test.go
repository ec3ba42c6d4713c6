package orc

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
)

// readEverything reads all columns of a file given by its bytes, whatever they are.
func readEverything(data []byte, alloc memory.Allocator, req fileformat.ReadRequest) error {
	f, err := openBytes(data, alloc)
	if err != nil {
		return err
	}
	defer f.Close()
	if req.Columns == nil {
		req.Columns = f.Fields()
	}
	for _, c := range f.Fields() { // so that statistics and indexes are read too
		if req.Where == nil && c.Type.IsInteger() {
			req.Where, _ = expr.Bind(expr.Compare{Column: c.Name, Op: expr.Gt, Value: 60}, f.Fields())
		}
	}
	for range 2 {
		if err := formattest.ReadAll(f, req); err != nil {
			return err
		}
		req.Where = nil
	}
	return nil
}

func TestCutFiles(t *testing.T) {
	for _, name := range []string{"java-nested.orc", "scalars-none.orc", "nested-0.11.orc"} {
		data := testBytes(t, name)
		for n := 0; n < len(data); n += 1 + n/200 {
			err := readEverything(data[:n], nil, fileformat.ReadRequest{})
			if err == nil || !badInput(err) || !strings.Contains(err.Error(), testPath) {
				t.Fatalf("%s cut to %d bytes: %v", name, n, err)
			}
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	places, flips := 70, []byte{0x01, 0x80, 0xff}
	if testing.Short() {
		places, flips = 30, flips[2:]
	}
	for _, name := range testFiles(t) {
		data := testBytes(t, name)
		alloc := checked(t)
		failed := 0
		for i := 0; i < len(data); i += 1 + len(data)/places {
			for _, x := range flips {
				data[i] ^= x
				if err := readEverything(data, alloc, fileformat.ReadRequest{BatchRows: 17}); err != nil {
					failed++
					if !badInput(err) {
						t.Fatalf("%s, byte %d ^ %#x: %v", name, i, x, err)
					}
				}
				data[i] ^= x
			}
		}
		if failed == 0 {
			t.Errorf("%s: nothing failed", name)
		}
	}
}

// TestErrorsSayWhere breaks a stream and expects path, stripe and column.
func TestErrorsSayWhere(t *testing.T) {
	f := testFile(t, "scalars-stripes.orc", nil)
	s, err := f.openStripe(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	key := streamKey{f.root.child(field(0, "s", "STRING")).column, streamLength}
	data := testBytes(t, "scalars-stripes.orc")
	for i := range data[s.spans[key].off : s.spans[key].off+s.spans[key].n] {
		data[s.spans[key].off+int64(i)] = 0xff
	}
	err = readEverything(data, checked(t), fileformat.ReadRequest{Columns: pyFields("scalars")})
	if !errors.Is(err, tarnerr.Corrupt) {
		t.Fatalf("%v, want Corrupt", err)
	}
	for _, part := range []string{"path=" + testPath, "stripe=1", "column=s"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range testFiles(f) {
		f.Add(testBytes(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		if err := readEverything(data, formattest.Bounded(t), fileformat.ReadRequest{BatchRows: 100, Workers: 2}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}

// FuzzFooter leaves the streams alone: the footer, uncompressed, is what a
// fuzzer breaks.
func FuzzFooter(f *testing.F) {
	for _, name := range []string{"scalars-none.orc", "nested-stripes.orc"} {
		data := testBytes(f, name)
		file := testFile(f, name, nil)
		end := len(data) - 1 - int(data[len(data)-1])
		at := end - int(file.post.footerLength)
		f.Add(data[:at], data[at:end])
	}
	f.Fuzz(func(t *testing.T, stripes, footer []byte) {
		if len(footer) > 1<<16 || len(stripes) > 1<<18 {
			return
		}
		data := append(append([]byte(nil), stripes...), footer...)
		post := []byte{0x08, byte(len(footer)) | 0x80, byte(len(footer)>>7) | 0x80, byte(len(footer) >> 14), 0x10, 0, 0x82, 0xf4, 3, 3, 'O', 'R', 'C'}
		data = append(append(data, post...), byte(len(post)))
		if err := readEverything(data, nil, fileformat.ReadRequest{BatchRows: 100}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}

// TestClaimsAreNotBelieved: ten lists that claim 134 million elements each, of
// which the file has a few.
func TestClaimsAreNotBelieved(t *testing.T) {
	f := testFile(t, "nested-stripes.orc", nil)
	s, err := f.openStripe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	data := testBytes(t, "nested-stripes.orc")
	copy(data[s.spans[streamKey{f.root.children[0].column, streamLength}].off:], []byte{0x1f, 0x07, 0xff, 0xff, 0xff})
	alloc := &formattest.Peak{Allocator: checked(t)}
	err = readEverything(data, alloc, fileformat.ReadRequest{Columns: pyFields("nested")[:1], BatchRows: 10})
	if !errors.Is(err, tarnerr.Corrupt) || alloc.Most() > 1<<20 {
		t.Errorf("%v, after %d bytes", err, alloc.Most())
	}
}
