package oracle

import (
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// Table is a key table of rows as they were written. Not safe for concurrent use.
type Table struct {
	s          *schema.Schema
	model      *Model
	sequence   []int // columns of sequence.field
	descending bool
	keys       []int
	rows       map[string][]Row // by key, in order of arrival
	number     int64
}

// NewTable makes an empty table of a schema.
func NewTable(s *schema.Schema) *Table {
	t := &Table{s: s, model: NewModel(s), rows: map[string][]Row{}}
	t.descending = s.Options["sequence.field.sort-order"] == "descending"
	for _, c := range list(s.Options["sequence.field"]) {
		t.sequence = append(t.sequence, s.Index(c))
	}
	for _, c := range s.PrimaryKeys {
		t.keys = append(t.keys, s.Index(c))
	}
	return t
}

// Write takes rows in their order, without those that the table's options drop. It
// gives them sequence numbers.
func (t *Table) Write(rows ...Row) {
	for _, r := range rows {
		if t.Drops(r.Kind) {
			continue
		}
		t.number++
		r.Number = t.number
		t.rows[t.Key(r)] = append(t.rows[t.Key(r)], r)
	}
}

// Drops reports a kind of rows that the table's options leave out.
func (t *Table) Drops(k types.RowKind) bool {
	return k.IsRetract() && on(t.s, "ignore-delete") || k == types.UpdateBefore && on(t.s, "ignore-update-before")
}

// Key is the key of a row, as text.
func (t *Table) Key(r Row) string {
	parts := make([]string, len(t.keys))
	for i, c := range t.keys {
		parts[i] = types.FormatValue(t.s.Fields[c].Type, r.Values[c])
	}
	return strings.Join(parts, "/")
}

// Row is the row of a key that a reader sees, false for none.
func (t *Table) Row(key string) (Row, bool, error) {
	rows := t.rows[key]
	if len(rows) == 0 {
		return Row{}, false, nil
	}
	r, ok, err := t.Merge(rows, false)
	return r, ok && !r.Kind.IsRetract(), err
}

// Merge merges rows of one key, at least one, in order of their arrival. One that is
// alone stays as it is, or with lone is merged with nothing, as by compactions that look
// up old rows. It reports false for no row.
func (t *Table) Merge(rows []Row, lone bool) (Row, bool, error) {
	if len(t.sequence) > 0 && len(rows) > 1 {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, t.byAge)
	}
	if lone {
		return t.model.Fold(rows)
	}
	return t.model.Merge(rows)
}

// Written are the rows of a key in order of their arrival.
func (t *Table) Written(key string) []Row { return t.rows[key] }

// LookedUp is the table after a compaction that looks up old rows and takes in all of
// it: also rows that are alone with their key are merged.
func (t *Table) LookedUp() (*Table, error) {
	out := *t
	out.rows = maps.Clone(t.rows)
	for key, rows := range t.rows {
		if len(rows) > 1 {
			continue
		}
		r, ok, err := t.model.Fold(rows)
		if err != nil {
			return nil, err
		}
		if delete(out.rows, key); ok {
			out.rows[key] = []Row{r}
		}
	}
	return &out, nil
}

// Compact takes in that all rows of each key were compacted into one, with lone by
// compactions that look up old rows. Those that take others back are dropped.
func (t *Table) Compact(lone bool) error {
	for key, rows := range t.rows {
		r, ok, err := t.Merge(rows, lone)
		if err != nil {
			return err
		}
		if delete(t.rows, key); ok && !r.Kind.IsRetract() {
			t.rows[key] = []Row{r}
		}
	}
	return nil
}

func (t *Table) byAge(a, b Row) int {
	for _, i := range t.sequence {
		x, y := a.Values[i], b.Values[i]
		c := compare(t.s.Fields[i].Type, x, y)
		if t.descending && x != nil && y != nil {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Rows are the rows that a reader sees, as text by key.
func (t *Table) Rows() (map[string]string, error) {
	out := map[string]string{}
	for key := range t.rows {
		r, ok, err := t.Row(key)
		if err != nil {
			return nil, err
		}
		if ok {
			out[key] = t.Text(r)
		}
	}
	return out, nil
}

// Text is a row's values as text, those in no order sorted.
func (t *Table) Text(r Row) string {
	parts := make([]string, len(r.Values))
	for i, v := range r.Values {
		parts[i] = t.model.columns[i].text(v)
	}
	return strings.Join(parts, " ")
}
