package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// rejects sets rows aside that do not fit.
type rejects struct {
	name string
	most int
	told io.Writer
	n    int
	f    *os.File // created with the first row
}

// add sets the text of a row aside.
func (r *rejects) add(e *rowtext.RowError, text string) error {
	return r.put(e, text)
}

// addRow sets aside a row that the table refused, as the JSON line it would be.
func (r *rejects) addRow(t table.Table, row arrow.RecordBatch, place string, why error) error {
	var fields []types.Field
	kind := false
	for _, f := range row.Schema().Fields() {
		if f.Name == types.KindColumn {
			kind = true
		} else if i := t.Schema().Index(f.Name); i >= 0 {
			fields = append(fields, t.Schema().Fields[i])
		}
	}
	var text bytes.Buffer
	w := rowtext.NewJSONL(&text, fields, kind)
	if err := w.Write(row); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.put(fmt.Errorf("%s: %w", place, why), string(bytes.TrimRight(text.Bytes(), "\n")))
}

func (r *rejects) put(why error, text string) error {
	if r.n++; r.n > r.most {
		return tarnerr.Wrap(tarnerr.Invalid, "reading rows", why).
			WithHint("More than %d rows do not fit (--max-rejects).", r.most)
	}
	if r.f == nil {
		f, err := os.Create(r.name)
		if err != nil {
			return fileErr("opening reject file", err)
		}
		r.f = f
	}
	fmt.Fprintf(r.told, "rejected: %v\n", why)
	if _, err := fmt.Fprintln(r.f, text); err != nil {
		return fileErr("writing reject file", err)
	}
	return nil
}

// Close finishes the file and says how many rows it holds.
func (r *rejects) Close() error {
	if r.f == nil {
		return nil
	}
	fmt.Fprintf(r.told, "%d rows did not fit, see %s\n", r.n, r.name)
	if err := r.f.Close(); err != nil {
		return fileErr("writing reject file", err)
	}
	return nil
}
