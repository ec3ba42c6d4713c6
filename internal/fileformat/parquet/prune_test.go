package parquet

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// sortedFile has 1000 rows in row groups of some hundreds and pages of 50: id
// ascends, half falls within pages, the rest is nested or null.
func sortedFile(t *testing.T, alloc memory.Allocator) (*File, []types.Field, arrow.RecordBatch) {
	fields := []types.Field{
		field(0, "id", "BIGINT NOT NULL"), field(1, "s", "STRING"), field(2, "l", "ARRAY<INT>"), field(3, "n", "INT"),
		field(4, "d", "DOUBLE"), field(5, "amount", "DECIMAL(30,2)"), field(6, "ts", "TIMESTAMP(6)"), field(7, "raw", "BYTES"),
	}
	r := rand.New(rand.NewPCG(5, 5))
	rows := make([][]types.Value, 1000)
	for i := range rows {
		var n, d types.Value
		if i >= 400 && i < 600 {
			n = int64(i)
		}
		switch {
		case i%100 == 99:
			d = math.NaN()
		case i < 500:
			d = float64(i)
		}
		list := []types.Value{}
		for range i % 5 {
			list = append(list, int64(i))
		}
		rows[i] = []types.Value{
			int64(i), fmt.Sprintf("key-%04d-%x", i, r.Uint64()), list, n, d, decimalValue(int64(i-500) * 1000),
			types.Instant{Millis: int64(i-500) * 1000, NanoOfMilli: 1000}, []byte{byte(i / 4), byte(i)},
		}
	}
	rec := record(t, alloc, fields, rows)
	t.Cleanup(rec.Release)
	fs, _ := write(t, fields, fileformat.WriteOptions{Mem: alloc, Options: map[string]string{
		"parquet.page.row.count.limit": "50", "parquet.block.size": "8000",
	}}, rec.NewSlice(0, 400), rec.NewSlice(400, 1000))
	return open(t, fs, alloc), fields, rec
}

func TestPagesDecoded(t *testing.T) {
	f, fields, rec := sortedFile(t, memory.NewGoAllocator())
	groups := len(f.meta.groups)
	if groups < 2 {
		t.Fatalf("%d row groups: the test needs several", groups)
	}
	for _, c := range []struct {
		name    string
		columns []int
		where   expr.Expr
		rows    [2]int // those that must be among the rows read
		pages   int64  // exactly
	}{
		{"everything of one column", []int{0}, nil, [2]int{0, 1000}, 20},
		{"point, one column", []int{0}, expr.Compare{Column: "id", Op: expr.Eq, Value: 777}, [2]int{777, 778}, 1},
		{"point, all flat columns", []int{0, 1, 3, 4, 5, 6, 7}, expr.Compare{Column: "id", Op: expr.Eq, Value: 777}, [2]int{777, 778}, 7},
		{"point, nested column", []int{2}, expr.Compare{Column: "id", Op: expr.Eq, Value: 777}, [2]int{777, 778}, 1},
		{"nothing", []int{0, 1, 2}, expr.Compare{Column: "id", Op: expr.Gt, Value: 5000}, [2]int{0, 0}, 0},
		{"range over two pages", []int{1}, expr.And{
			expr.Compare{Column: "id", Op: expr.Ge, Value: 149}, expr.Compare{Column: "id", Op: expr.Le, Value: 150}}, [2]int{149, 151}, 2},
		{"far ends", []int{0}, expr.Or{
			expr.Compare{Column: "id", Op: expr.Lt, Value: 1}, expr.Compare{Column: "s", Op: expr.Ge, Value: "key-0999"}}, [2]int{0, 1}, 2},
		{"nulls", []int{0}, expr.Not{Child: expr.IsNull{Column: "n"}}, [2]int{400, 600}, 4},
		{"prefix", []int{0}, expr.Prefix{Column: "s", Prefix: "key-03"}, [2]int{300, 400}, 2},
		{"decimal", []int{5}, expr.Compare{Column: "amount", Op: expr.Lt, Value: "-4900.00"}, [2]int{0, 10}, 1},
		{"timestamp", []int{6}, expr.Compare{Column: "ts", Op: expr.Lt, Value: "1969-12-31T23:52:00"}, [2]int{0, 20}, 1},
		{"bytes, compared unsigned", []int{7}, expr.Compare{Column: "raw", Op: expr.Ge, Value: []byte{0xf0}}, [2]int{960, 1000}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cols []types.Field
			for _, i := range c.columns {
				cols = append(cols, fields[i])
			}
			where, err := expr.Bind(c.where, fields)
			if err != nil {
				t.Fatal(err)
			}
			before := f.PagesDecoded()
			got := rowsOf(t, f, fileformat.ReadRequest{Columns: cols, Where: where, BatchRows: 33})
			if n := f.PagesDecoded() - before; n != c.pages {
				t.Errorf("%d pages decoded, want %d", n, c.pages)
			}
			want := textOf(cols, project(rec, c.columns))[c.rows[0]:c.rows[1]]
			if len(want) > 0 {
				if i := slices.Index(got, want[0]); i < 0 || len(got) < i+len(want) || !slices.Equal(got[i:i+len(want)], want) {
					t.Errorf("rows %v are not among the %d read", c.rows, len(got))
				}
			}
		})
	}
}

func project(rec arrow.RecordBatch, columns []int) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, i := range columns {
		fields, cols = append(fields, rec.Schema().Field(i)), append(cols, rec.Column(i))
	}
	return newRecord(arrow.NewSchema(fields, nil), cols)
}

// TestPruningLosesNothing compares filtered reads with reads of everything,
// for random predicates: every row that matches must come.
func TestPruningLosesNothing(t *testing.T) {
	f, fields, rec := sortedFile(t, memory.NewGoAllocator())
	all := textOf(fields, rec)
	leaf := rapid.Custom(func(t *rapid.T) expr.Expr {
		op := expr.Op(rapid.IntRange(0, 5).Draw(t, "op"))
		i := rapid.IntRange(-10, 1010).Draw(t, "i")
		switch rapid.IntRange(0, 6).Draw(t, "column") {
		case 0:
			return expr.Compare{Column: "id", Op: op, Value: i}
		case 1:
			return expr.Compare{Column: "n", Op: op, Value: i}
		case 2:
			return expr.IsNull{Column: rapid.SampledFrom([]string{"n", "d", "l"}).Draw(t, "null")}
		case 3:
			return expr.Compare{Column: "d", Op: op, Value: rapid.SampledFrom([]float64{math.NaN(), float64(i), math.Copysign(0, -1)}).Draw(t, "d")}
		case 4:
			return expr.In{Column: "s", Values: []types.Value{fmt.Sprintf("key-%04d", i), "key-0500"}}
		case 5:
			return expr.Compare{Column: "amount", Op: op, Value: fmt.Sprint(i * 10)}
		}
		return expr.Prefix{Column: "s", Prefix: fmt.Sprintf("key-%02d", max(i/10, 0))}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := leaf.Draw(t, "a"), leaf.Draw(t, "b")
		e := rapid.SampledFrom([]expr.Expr{a, expr.And{a, b}, expr.Or{a, b}, expr.Not{Child: expr.Or{a, expr.Not{Child: b}}}}).Draw(t, "e")
		where, err := expr.Bind(e, fields)
		if err != nil {
			t.Fatal(err)
		}
		match, err := where.Mask(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Read(context.Background(), fileformat.ReadRequest{
			Columns: fields, Where: where, BatchRows: rapid.IntRange(1, 400).Draw(t, "batch"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := eachBatch(r, func(rec arrow.RecordBatch) error {
			got = append(got, textOf(fields, rec)...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		k := 0
		for i, line := range all {
			at := slices.Index(got[k:], line)
			switch {
			case at >= 0:
				k += at + 1
			case match[i]:
				t.Fatalf("row %d matches %v and was lost", i, e)
			}
		}
	})
}
