package parquet

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

func TestAppendMatches(t *testing.T) {
	mask := make([]bool, 300)
	for _, i := range []int{0, 1, 10, 80, 81, 299} {
		mask[i] = true
	}
	got := appendMatches(nil, 1000, mask)
	want := []rowRange{{1000, 1011}, {1080, 1082}, {1299, 1300}}
	if !slices.Equal(got, want) {
		t.Errorf("ranges %v, want %v", got, want)
	}
	if got = appendMatches(got, 1300, []bool{true}); got[2] != (rowRange{1299, 1301}) || len(got) != 3 {
		t.Errorf("the next batch's first match makes %v", got)
	}
}

// TestNarrowingSparesOtherColumns wants pages of other columns decoded only where
// a row matches, and the predicate's own pages decoded once.
func TestNarrowingSparesOtherColumns(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	f, fields, _ := sortedFile(t, mem)
	held := mem.CurrentAlloc() // by the rows themselves
	id := func(op expr.Op, v int) expr.Expr { return expr.Compare{Column: "id", Op: op, Value: v} }
	for _, c := range []struct {
		name  string
		where expr.Expr
		rows  int
		pages int64
	}{
		// Statistics cannot tell that no row of the page has this text.
		{"no row", expr.And{id(expr.Eq, 777), expr.Compare{Column: "s", Op: expr.Eq, Value: "key-0778"}}, 0, 2},
		{"one row", id(expr.Eq, 777), 1, 7},
		{"rows close together", expr.Or{id(expr.Eq, 710), id(expr.Eq, 719)}, 10, 7},
	} {
		where, err := expr.Bind(c.where, fields)
		if err != nil {
			t.Fatal(err)
		}
		cols := []types.Field{fields[0], fields[1], fields[3], fields[4], fields[5], fields[6], fields[7]}
		before := f.PagesDecoded()
		rows := len(rowsOf(t, f, fileformat.ReadRequest{Columns: cols, Where: where, BatchRows: 33}))
		if pages := f.PagesDecoded() - before; rows != c.rows || pages != c.pages {
			t.Errorf("%s: %d rows and %d pages, want %d and %d", c.name, rows, pages, c.rows, c.pages)
		}
	}
	if now := mem.CurrentAlloc(); now != held {
		t.Errorf("%d bytes are held after reading, %d before", now, held)
	}
}

// TestNarrowingLosesNoRow compares reading under random predicates with reading
// all and filtering.
func TestNarrowingLosesNoRow(t *testing.T) {
	f, fields, rec := sortedFile(t, memory.NewGoAllocator())
	cols := []int{0, 1, 4, 2}
	var wanted []types.Field
	for _, i := range cols {
		wanted = append(wanted, fields[i])
	}
	all := textOf(wanted, project(rec, cols))
	ops := []expr.Op{expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge}
	rapid.Check(t, func(rt *rapid.T) {
		var terms []expr.Expr
		for range rapid.IntRange(1, 4).Draw(rt, "terms") {
			switch rapid.IntRange(0, 2).Draw(rt, "column") {
			case 0:
				terms = append(terms, expr.Compare{Column: "id", Op: rapid.SampledFrom(ops).Draw(rt, "op"), Value: rapid.IntRange(-5, 1005).Draw(rt, "id")})
			case 1:
				terms = append(terms, expr.Prefix{Column: "s", Prefix: rapid.SampledFrom([]string{"key-03", "key-0777", "key-09", "x"}).Draw(rt, "prefix")})
			default: // a column that is not read
				terms = append(terms, expr.IsNull{Column: "n"})
			}
		}
		var e expr.Expr = expr.And(terms)
		if rapid.Bool().Draw(rt, "or") {
			e = expr.Or(terms)
		}
		where, err := expr.Bind(e, fields)
		if err != nil {
			rt.Fatal(err)
		}
		mask, err := where.Mask(rec, nil)
		if err != nil {
			rt.Fatal(err)
		}
		got := rowsOf(t, f, fileformat.ReadRequest{Columns: wanted, Where: where, BatchRows: rapid.IntRange(1, 200).Draw(rt, "batch")})
		at := 0
		for i, match := range mask {
			if !match {
				continue
			}
			n := slices.Index(got[at:], all[i])
			if n < 0 {
				rt.Fatalf("row %d, which matches, is not among the %d read, or out of order", i, len(got))
			}
			at += n + 1
		}
	})
}
