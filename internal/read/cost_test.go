package read

import (
	"context"
	"math"
	"runtime/debug"
	"testing"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/types"
)

// smallPages makes a page of every 1,000 rows.
var smallPages = map[string]string{"parquet.page.row.count.limit": "1000"}

// keyTable is a key table of two overlapping runs of 10,000 rows; the second
// replaces every other key.
func keyTable(t failer) (*fixture, []*datafile.Meta) {
	f := newFixture(keyFields, []string{"k"}, nil)
	f.coding.Options = smallPages
	var old, new []record
	for i := range int64(10_000) {
		old = append(old, record{key: 2 * i, seq: i, v: i, user: int64(1)})
		new = append(new, record{key: 2*i + i%2, seq: 10_000 + i, v: -i, user: int64(2)})
	}
	return f, append(f.writeRun(t, 5, old), f.writeRun(t, 0, new)...)
}

// TestPagesDecoded pins how many data pages scans of two runs of ten pages a
// column decode.
func TestPagesDecoded(t *testing.T) {
	f, files := keyTable(t)
	defer f.mem.AssertSize(t, 0)
	meeting := *files[1]
	meeting.MinSequence = files[0].MaxSequence
	between := func(column string, lo, hi int) expr.Expr {
		return expr.And{expr.Compare{Column: column, Op: expr.Ge, Value: lo}, expr.Compare{Column: column, Op: expr.Lt, Value: hi}}
	}
	for _, c := range []struct {
		name    string
		e       expr.Expr
		columns []string
		split   *split.Split
		rows    int
		pages   int64
	}{
		// Merging needs kind and key beside the one column: 3 × 10 × 2. Metadata says
		// that the second run is the younger one.
		{"all rows", nil, []string{"v"}, splitOf(false, files...), 15_000, 60},
		{"all rows, age unknown", nil, []string{"v"}, splitOf(false, files[0], &meeting), 15_000, 80},
		// Keys prune where runs overlap: one of ten pages in both runs, 3 columns.
		{"a key range", between("k", 4100, 4200), []string{"v"}, splitOf(false, files...), 75, 6},
		// Values do not: a page left out might hold the row that replaces another.
		{"a range of values, overlapping runs", between("v", 4100, 4200), []string{"v"}, splitOf(false, files...), 50, 60},
		// In a run alone they do.
		{"a range of values, one run", between("v", 4100, 4200), []string{"v"}, splitOf(false, files[0]), 100, 3},
		{"a range of values, raw file", between("v", 4100, 4200), []string{"v"}, splitOf(true, files[0]), 100, 1},
		{"one column, raw file", nil, []string{"s"}, splitOf(true, files[0]), 10_000, 10},
	} {
		before := f.pages.Load()
		r, err := Open(context.Background(), f.config(t, nil), Request{Columns: c.columns, Where: where(t, c.e, keyFields)}, []*split.Split{c.split})
		if err != nil {
			t.Fatal(err)
		}
		rows := len(rowsOf(t, r))
		if pages := f.pages.Load() - before; rows != c.rows || pages != c.pages {
			t.Errorf("%s: %d rows and %d pages, want %d and %d", c.name, rows, pages, c.rows, c.pages)
		}
	}
}

// drain reads without looking at the rows.
func drain(t failer, cfg Config, req Request, splits ...*split.Split) int64 {
	r, err := Open(context.Background(), cfg, req, splits)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := int64(0)
	for {
		rec, err := r.Next(context.Background())
		if err != nil {
			return rows
		}
		rows += rec.NumRows()
	}
}

// TestScanAllocations pins what reading allocates: per batch and page, not per row. A
// change that is meant to cost more or less changes the figures.
func TestScanAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("pools forget at random under the race detector, so allocations cannot be counted")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools, and allocations vary
	f, files := keyTable(t)
	defer f.mem.AssertSize(t, 0)
	for _, c := range []struct {
		name  string
		split *split.Split
		req   Request
		rows  int64
		want  float64 // allocations for 1,000 rows, rounded
	}{
		{"merge", splitOf(false, files...), Request{}, 15_000, 58},
		{"raw", splitOf(true, files[0]), Request{}, 10_000, 33},
		{"raw, filtered", splitOf(true, files[0]), Request{Where: where(t, expr.Not{Child: expr.In{Column: "v", Values: []types.Value{5, 7000}}}, keyFields)}, 9_998, 55},
	} {
		cfg := f.config(t, nil)
		n := testing.AllocsPerRun(3, func() {
			if rows := drain(t, cfg, c.req, c.split); rows != c.rows {
				t.Fatalf("%s: %d rows", c.name, rows)
			}
		})
		if per := n / float64(c.rows) * 1000; math.Round(per) != c.want {
			t.Errorf("%s: %.1f allocations for 1,000 rows, want %v", c.name, per, c.want)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	f := newFixture(keyFields, []string{"k"}, nil)
	const rows = 200_000
	var runs []*datafile.Meta
	for r := range 3 {
		var records []record
		for i := range int64(rows) {
			records = append(records, record{key: i*3 + int64(r)*i%2, seq: int64(r*rows) + i, v: i, user: int64(r)})
		}
		runs = append(runs, f.writeRun(b, int32(5*(1-min(r, 1))), records)...)
	}
	cfg := f.config(b, nil)
	for _, c := range []struct {
		name  string
		split *split.Split
		req   Request
		rows  int
	}{
		{"raw/all", splitOf(true, runs[0]), Request{}, rows},
		{"raw/one-column", splitOf(true, runs[0]), Request{Columns: []string{"v"}}, rows},
		{"raw/filtered", splitOf(true, runs[0]), Request{Where: where(b, expr.Compare{Column: "v", Op: expr.Lt, Value: rows / 100}, keyFields)}, rows},
		{"merge/3runs/all", splitOf(false, runs...), Request{}, 3 * rows},
		{"merge/3runs/one-column", splitOf(false, runs...), Request{Columns: []string{"v"}}, 3 * rows},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				drain(b, cfg, c.req, c.split)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.rows), "ns/row")
		})
	}
}
