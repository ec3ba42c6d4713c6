package orc

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/flate"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// bounded reads a file with batches of at most so many bytes.
func bounded(t *testing.T, name string, fields []types.Field, most int64) (rows, batches int, err error) {
	t.Helper()
	f := testFile(t, name, checked(t))
	r, err := f.reader(fileformat.ReadRequest{Columns: fields, Workers: 2})
	if err != nil {
		return 0, 0, err
	}
	r.allowance.Most = most
	err = eachBatch(fileformat.NewReader(r.schema, "ORC", testPath, r), func(rec arrow.RecordBatch) error {
		rows, batches = rows+int(rec.NumRows()), batches+1
		return nil
	})
	return rows, batches, err
}

// TestLargeBatches: what gets too large for one batch comes in several, with the
// same rows; a row alone that is too large is an error with its place.
func TestLargeBatches(t *testing.T) {
	for _, name := range indexedFiles {
		fields := pyFields(name)
		expected, _, _ := strings.Cut(name, "-")
		all := lines(testBytes(t, expected+".jsonl"))
		first := 0
		for _, most := range []int64{1 << 20, 6_000} {
			f := testFile(t, name, checked(t))
			r, err := f.reader(fileformat.ReadRequest{Columns: fields})
			if err != nil {
				t.Fatal(err)
			}
			r.allowance.Most = most
			got := formattest.JSONLOf(t, fileformat.NewReader(r.schema, "ORC", testPath, r), fields)
			if strings.Join(got, "\n") != strings.Join(all, "\n") {
				t.Errorf("%s: rows differ with batches of %d bytes", name, most)
			}
			_, batches, err := bounded(t, name, fields, most)
			if err != nil || batches <= first {
				t.Errorf("%s: %d batches of %d bytes, %d else: %v", name, batches, most, first, err)
			}
			first = batches
		}
		_, _, err := bounded(t, name, fields, 100)
		if !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "too much memory") || !strings.Contains(err.Error(), "path="+testPath) ||
			!strings.Contains(err.Error(), "stripe=0") || !strings.Contains(err.Error(), "column=") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLargeBatchesOfGroups does the same where some row groups are left out.
func TestLargeBatchesOfGroups(t *testing.T) {
	name := "nested-stripes.orc"
	fields := pyFields(name)
	f := testFile(t, name, checked(t))
	keep := func(stripe, group int) bool { return (stripe+group)%2 == 1 }
	want, _ := readGroups(t, f, fileformat.ReadRequest{Columns: fields, BatchRows: 100}, keep, 0)
	got, _ := readGroups(t, f, fileformat.ReadRequest{Columns: fields, BatchRows: 100}, keep, 6_000)
	if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// TestMetadataBombs: metadata does not decompress to any size, nor list any number of things.
func TestMetadataBombs(t *testing.T) {
	var b []byte
	for range maxTypes + 1 {
		b = append(b, 4<<3|2, 0) // a type of which nothing is said
	}
	if _, ok := decodeFooter(b[:2*maxTypes]); !ok {
		t.Error("as many types as there may be")
	}
	if _, ok := decodeFooter(b); ok {
		t.Error("too many types")
	}
	f := &File{post: postScript{compression: codecZlib, blockSize: maxBlock}}
	block := deflated(t, make([]byte, 4<<20))
	var raw []byte
	for range 8 {
		n := len(block) << 1
		raw = append(append(raw, byte(n), byte(n>>8), byte(n>>16)), block...)
	}
	if _, err := f.plain(raw[:4*(len(block)+3)]); err != nil {
		t.Errorf("16 MiB: %v", err)
	}
	if _, err := f.plain(raw); err == nil {
		t.Errorf("32 MiB of %d bytes", len(raw))
	}
}

// TestReadsEnd: a reader that fails gives back what it has.
func TestReadsEnd(t *testing.T) {
	f := testFile(t, "nested-stripes.orc", checked(t))
	r, err := f.reader(fileformat.ReadRequest{Columns: pyFields("nested-stripes.orc")})
	if err != nil {
		t.Fatal(err)
	}
	r.allowance.Most = 1
	if _, err := r.Decode(context.Background()); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}

func deflated(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNumbersOfLargeBatches: rows keep their numbers where a run is begun anew.
func TestNumbersOfLargeBatches(t *testing.T) {
	fields := pyFields("scalars")
	where := bind(t, expr.Compare{Column: "id", Op: expr.Gt, Value: 75}, fields)
	f := testFile(t, "scalars-stripes.orc", checked(t))
	r, err := f.reader(fileformat.ReadRequest{Columns: fields, Where: where, Numbers: true})
	if err != nil {
		t.Fatal(err)
	}
	r.allowance.Most = 6_000
	rows, batches := 0, 0
	if err := eachBatch(fileformat.NewReader(r.numbers, "ORC", testPath, r), func(rec arrow.RecordBatch) error {
		ids, numbers := rec.Column(0).(*array.Int64), rec.Column(len(fields)).(*array.Int64)
		for i := range ids.Len() {
			if ids.Value(i) != numbers.Value(i) {
				t.Errorf("row %d says that it is number %d", ids.Value(i), numbers.Value(i))
			}
		}
		rows, batches = rows+ids.Len(), batches+1
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if rows != 80 || batches < 10 {
		t.Errorf("%d rows in %d batches", rows, batches)
	}
}
