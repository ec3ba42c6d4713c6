package formattest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// EachBatch reads all batches and looks at what Arrow takes for granted; the
// reader is closed.
func EachBatch(r batch.Reader, yield func(arrow.RecordBatch) error) error {
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

// whole checks that nulls are counted and members as long as their rows.
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

// JSONL reads columns of a file as canonical lines.
func JSONL(t testing.TB, f fileformat.File, req fileformat.ReadRequest) []string {
	t.Helper()
	r, err := f.Read(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return JSONLOf(t, r, req.Columns)
}

// JSONLOf reads what a reader gives as canonical lines; it is closed.
func JSONLOf(t testing.TB, r batch.Reader, fields []types.Field) []string {
	t.Helper()
	var out bytes.Buffer
	w := rowtext.NewJSONL(&out, fields, false)
	if err := EachBatch(r, w.Write); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return Lines(out.Bytes())
}

// Lines are the lines of a text, none of an empty one.
func Lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// Sorted is for files whose rows do not stand in the order of their expectation.
func Sorted(l []string) []string {
	slices.Sort(l)
	return l
}

// ReadAll reads a file that may be broken, but not without end.
func ReadAll(f fileformat.File, req fileformat.ReadRequest) error {
	r, err := f.Read(context.Background(), req)
	if err != nil {
		return err
	}
	rows := 0
	return EachBatch(r, func(rec arrow.RecordBatch) error {
		if rows += int(rec.NumRows()); rows > 1<<20 {
			return io.ErrShortBuffer // a broken run may claim any number of rows
		}
		return nil
	})
}

// BadInput accepts the kinds of error that broken bytes may give.
func BadInput(err error) bool {
	switch tarnerr.KindOf(err) {
	case tarnerr.Corrupt, tarnerr.Unsupported, tarnerr.Invalid:
		return true
	}
	return errors.Is(err, io.ErrShortBuffer)
}
