package binaryrow

import (
	"encoding/binary"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Encoder builds the rows of some columns of Arrow batches. Its columns are
// bound to a batch once and then read without allocation; one row after another
// may go into one scratch buffer:
//
//	err := enc.Bind(rec, cols)
//	for i := range rec.NumRows() {
//		scratch = enc.AppendRow(scratch[:0], int(i))
//	}
//
// Not safe for concurrent use.
type Encoder struct {
	fields  []types.Field
	columns []column
	rec     arrow.RecordBatch // bound last, to find out whether to bind again
	cols    []int
}

// NewEncoder returns an encoder of rows with the fields given, in that order.
func NewEncoder(fields []types.Field) *Encoder {
	return &Encoder{fields: fields, columns: make([]column, len(fields))}
}

// Bind takes the columns cols of rec, which must have the Arrow types of the
// encoder's fields ([types.ArrowType]), for the AppendRow calls that follow.
// The batch must stay valid for these calls.
func (e *Encoder) Bind(rec arrow.RecordBatch, cols []int) error {
	if len(cols) != len(e.fields) {
		return tarnerr.New(tarnerr.Invalid, "encoding binary row", "as many columns as fields are needed", "fields", len(e.fields), "columns", len(cols))
	}
	e.rec = nil
	for i, c := range cols {
		if c < 0 || c >= int(rec.NumCols()) {
			return tarnerr.New(tarnerr.Invalid, "encoding binary row", "no such column in the batch", "column", c, "columns", rec.NumCols())
		}
		if err := e.columns[i].bind(e.fields[i], rec.Column(c)); err != nil {
			return err
		}
	}
	e.rec, e.cols = rec, append(e.cols[:0], cols...)
	return nil
}

// AppendRow appends the stored form of row i of the bound batch to dst: arity
// prefix and body. Nothing is allocated beyond dst, nested columns aside.
func (e *Encoder) AppendRow(dst []byte, i int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.fields)))
	w := section{base: len(dst)}
	head := NullBitsSize(len(e.fields))
	dst = grow(dst, head+slotSize*len(e.fields))
	for c := range e.columns {
		at := w.base + head + slotSize*c
		if e.columns[c].arr.IsNull(i) {
			setNullBit(dst[w.base:], c)
			dst = w.nullSlot(dst, at, e.columns[c].t)
			continue
		}
		dst = e.columns[c].put(dst, w, at, i)
	}
	return dst
}

// Row returns row i of the columns cols of rec, binding them when they are not
// the ones bound last.
func (e *Encoder) Row(rec arrow.RecordBatch, cols []int, i int) (Row, error) {
	if !e.bound(rec, cols) {
		if err := e.Bind(rec, cols); err != nil {
			return nil, err
		}
	}
	return Row(e.AppendRow(nil, i)), nil
}

func (e *Encoder) bound(rec arrow.RecordBatch, cols []int) bool {
	if e.rec != rec || len(cols) != len(e.cols) {
		return false
	}
	for i := range cols {
		if cols[i] != e.cols[i] {
			return false
		}
	}
	return true
}
