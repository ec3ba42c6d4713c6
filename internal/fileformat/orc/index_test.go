package orc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/rowtext"
)

// readGroups reads the row groups of every stripe for which keep holds, with batches
// of at most so many bytes; 0 = as usual.
func readGroups(t *testing.T, f *File, req fileformat.ReadRequest, keep func(stripe, group int) bool, most int64) (got []string, rows []int64) {
	t.Helper()
	ctx := context.Background()
	r, err := f.reader(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	r.allowance.Most = most
	columns := []int{0}
	for _, c := range r.columns {
		columns = c.columns(columns)
	}
	var out bytes.Buffer
	w := rowtext.NewJSONL(&out, req.Columns, false)
	first := int64(0)
	for i, info := range f.meta.stripes {
		s, err := f.openStripe(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		var groups []bool
		stride := f.meta.indexStride
		for g := range s.groups() {
			groups = append(groups, keep(i, g))
			for row := int64(g) * stride; groups[g] && row < min(int64(g+1)*stride, info.rows); row++ {
				rows = append(rows, first+row)
			}
		}
		if groups == nil {
			t.Fatalf("stripe %d has no row groups", i)
		}
		first += info.rows
		r.rows = max(req.BatchRows, 1)
		if err := r.use(ctx, s, columns, groups); err != nil {
			t.Fatal(err)
		}
		r.stripe = len(f.meta.stripes)
		for {
			rec, err := r.Decode(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write(rec)
			rec.Release()
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return lines(out.Bytes()), rows
}

var indexedFiles = []string{"scalars-stripes.orc", "scalars-dictionary.orc", "nested-stripes.orc"}

func TestAnyRowGroupsAreRead(t *testing.T) {
	for _, name := range indexedFiles {
		fields := pyFields(name)
		expected, _, _ := strings.Cut(name, "-")
		all := lines(testBytes(t, expected+".jsonl"))
		random := rand.New(rand.NewPCG(1, 7))
		for round := range 40 {
			f := testFile(t, name, checked(t))
			if round%2 == 1 { // as if nothing of the stripes had been read with the footer
				f.tail = segment{f.Size - 200, f.tail.data[len(f.tail.data)-200:]}
			}
			part := 1 + random.IntN(4)
			got, rows := readGroups(t, f, fileformat.ReadRequest{Columns: fields, BatchRows: 1 + random.IntN(20), Workers: round % 3},
				func(int, int) bool { return random.IntN(part) == 0 }, 0)
			var want []string
			for _, row := range rows {
				want = append(want, all[row])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, round %d: rows differ (−want +got)\n%s", name, round, diff)
			}
		}
	}
}

// TestRowsRead counts the rows that a predicate leaves, in row groups of 10 or 40.
func TestRowsRead(t *testing.T) {
	fields := pyFields("scalars")
	for _, c := range []struct {
		file  string
		where expr.Expr
		rows  int
	}{
		{"scalars-stripes.orc", expr.Compare{Column: "id", Op: expr.Eq, Value: 77}, 10},
		{"scalars-stripes.orc", expr.In{Column: "id", Values: []any{0, 77, 149}}, 30},
		{"scalars-stripes.orc", expr.Compare{Column: "id", Op: expr.Le, Value: 60}, 70},
		{"scalars-stripes.orc", expr.Compare{Column: "id", Op: expr.Lt, Value: 0}, 0},
		{"scalars-dictionary.orc", expr.Compare{Column: "id", Op: expr.Eq, Value: 149}, 30},
		{"scalars-dictionary.orc", expr.Compare{Column: "id", Op: expr.Eq, Value: 40}, 40},
		{"scalars-dictionary.orc", expr.Compare{Column: "s", Op: expr.Gt, Value: "grün-99"}, 0},
		{"scalars-zstd.orc", expr.Compare{Column: "id", Op: expr.Eq, Value: 40}, 150},
	} {
		f := testFile(t, c.file, checked(t))
		got := jsonl(t, f, fileformat.ReadRequest{Columns: fields[:3], Where: bind(t, c.where, fields)})
		if len(got) != c.rows {
			t.Errorf("%s, %v: %d rows read, want %d", c.file, c.where, len(got), c.rows)
		}
	}
}
