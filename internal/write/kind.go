package write

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// kindRules say where a row's kind comes from and which kinds are taken.
type kindRules struct {
	field              int  // column of rowkind.field, -1 without
	ignoreDelete       bool // ignore-delete: drop -U and -D
	ignoreUpdateBefore bool // ignore-update-before: drop -U
	appendOnly         bool // a table without primary key takes +I and +U only
	firstRow           bool // so does one whose merge engine is first-row
}

// kinds gives the kind of each row of a conformed batch: from the column
// rowkind.field when the table has one, else from given, the batch's own column
// of kinds, else +I. keep is nil when all rows are taken. The caller releases
// the kinds, which are nil when all are +I.
func (r kindRules) kinds(mem memory.Allocator, rec arrow.RecordBatch, given arrow.Array) (kinds *array.Int8, keep []bool, err error) {
	switch {
	case r.field >= 0:
		kinds, err = r.parse(mem, rec)
	case given != nil:
		kinds, err = own(given)
	}
	if kinds == nil || err != nil {
		return nil, nil, err
	}
	for i, v := range kinds.Int8Values() {
		k := types.RowKind(v)
		if r.dropped(k) {
			if keep == nil {
				keep = allTrue(kinds.Len())
			}
			keep[i] = false
			continue
		}
		if err := r.refuse(i, k); err != nil {
			kinds.Release()
			return nil, nil, err
		}
	}
	return kinds, keep, nil
}

// refuse says why a row that is not dropped cannot be taken. Java's writer takes such
// rows of first-row tables, of which its compactions then fail for ever.
func (r kindRules) refuse(row int, k types.RowKind) error {
	const op = "writing batch"
	switch {
	case !k.IsRetract():
		return nil
	case r.appendOnly:
		return tarnerr.New(tarnerr.Invalid, op, "a table without primary key takes +I and +U only", "row", row, "kind", k).
			WithHint("Set ignore-delete=true to leave such rows out, or give the table a primary key.")
	case r.firstRow:
		hint := "Set ignore-delete=true to leave such rows out."
		if k == types.UpdateBefore {
			hint = "Set ignore-update-before=true to leave out -U, or ignore-delete=true for both."
		}
		return tarnerr.New(tarnerr.Invalid, op, "first row can not accept -D and -U records", "row", row, "kind", k, "merge-engine", "first-row").
			WithHint("%s", hint)
	}
	return nil
}

func (r kindRules) dropped(k types.RowKind) bool {
	return k == types.UpdateBefore && (r.ignoreUpdateBefore || r.ignoreDelete) || k == types.Delete && r.ignoreDelete
}

func allTrue(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// own checks the batch's own kinds.
func own(given arrow.Array) (*array.Int8, error) {
	const op = "reading row kinds"
	a, ok := given.(*array.Int8)
	if !ok {
		return nil, tarnerr.New(tarnerr.Invalid, op, "the column has another Arrow type", "column", types.KindColumn, "want", arrow.PrimitiveTypes.Int8, "got", given.DataType())
	}
	if a.NullN() > 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "a row kind is null", "column", types.KindColumn, "row", firstNull(a))
	}
	for i, v := range a.Int8Values() {
		if !types.RowKind(v).Valid() {
			return nil, tarnerr.New(tarnerr.Invalid, op, "no such row kind", "column", types.KindColumn, "row", i, "value", v).
				WithHint("Row kinds are 0 (+I), 1 (-U), 2 (+U) and 3 (-D).")
		}
	}
	a.Retain()
	return a, nil
}

// parse reads the kinds from the table's row kind field.
func (r kindRules) parse(mem memory.Allocator, rec arrow.RecordBatch) (*array.Int8, error) {
	const op = "reading row kinds"
	name := rec.ColumnName(r.field)
	col, ok := rec.Column(r.field).(*array.String)
	if !ok {
		return nil, tarnerr.New(tarnerr.Invalid, op, "rowkind.field names a column that is no text", "column", name)
	}
	b := array.NewInt8Builder(mem)
	defer b.Release()
	b.Reserve(col.Len())
	for i := range col.Len() {
		if col.IsNull(i) {
			return nil, tarnerr.New(tarnerr.Invalid, op, "a row kind is null", "column", name, "row", i)
		}
		k, err := types.ParseRowKind(col.Value(i))
		if err != nil {
			_, err = types.ParseRowKind(strings.Clone(col.Value(i))) // the error outlives the rows
			return nil, tarnerr.Trace(op, err, "column", name, "row", i)
		}
		b.UnsafeAppend(int8(k))
	}
	return b.NewInt8Array(), nil
}
