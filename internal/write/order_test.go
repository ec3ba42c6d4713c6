package write

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// modelRow is a row of a key of two columns with a sequence field.
type modelRow struct {
	k1  int64
	k2  string
	seq types.Value // int64 or nil
}

func (r modelRow) less(o modelRow) int {
	if c := cmp.Compare(r.k1, o.k1); c != 0 {
		return c
	}
	return cmp.Compare(r.k2, o.k2)
}

// newer says in plain words what wins among rows of one key.
func newer(a, b types.Value, descending bool) bool {
	switch {
	case a == nil:
		return b == nil
	case b == nil:
		return true
	case descending:
		return a.(int64) <= b.(int64)
	}
	return a.(int64) >= b.(int64)
}

// modelMerge keeps the newest row of each key in key order, as places in rows.
func modelMerge(rows []modelRow, sequence, descending bool) []uint32 {
	best := map[[2]any]uint32{}
	for i, r := range rows {
		key := [2]any{r.k1, r.k2}
		old, ok := best[key]
		if !ok || !sequence || newer(r.seq, rows[old].seq, descending) {
			best[key] = uint32(i)
		}
	}
	var out []uint32
	for _, p := range best {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b uint32) int { return rows[a].less(rows[b]) })
	return out
}

// Sorting and merging a buffer gives what a map over its rows gives.
func TestSortedAgainstModel(t *testing.T) {
	f := newFixture(t, schema.Spec{
		Fields: []types.Field{
			field("k1", types.BigInt, false), field("k2", types.VarChar, false), field("s", types.BigInt, true),
		},
		PrimaryKeys: []string{"k1", "k2"}, Options: map[string]string{"bucket": "1"},
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		if rapid.Bool().Draw(t, "many") {
			n += radixFrom
		}
		keys := rapid.Int64Range(0, 40)
		if rapid.Bool().Draw(t, "wide") {
			keys = rapid.Int64()
		}
		texts := rapid.SampledFrom([]string{"", "a", "a\x00", "aaaaaaaab", "aaaaaaaac", "ä", "\U0010FFFF"})
		rows := make([]modelRow, n)
		for i := range rows {
			rows[i] = modelRow{k1: keys.Draw(t, "k1"), k2: texts.Draw(t, "k2")}
			if s := rapid.Int64Range(-1, 3).Draw(t, "s"); s >= 0 {
				rows[i].seq = s
			}
		}
		sequence, descending := rapid.Bool().Draw(t, "sequence"), rapid.Bool().Draw(t, "descending")
		check(t, f, rows, sequence, descending)
	})
	f.alloc.AssertSize(t, 0)
}

func check(t *rapid.T, f *fixture, rows []modelRow, sequence, descending bool) {
	o := &orderer{descending: descending}
	var err error
	if o.keys, err = merge.NewOrder([]merge.Column{{Index: 0, Type: f.schema.Fields[0].Type}, {Index: 1, Type: f.schema.Fields[1].Type}}); err != nil {
		t.Fatal(err)
	}
	if sequence {
		o.sequence = []merge.Column{{Index: 2, Type: f.schema.Fields[2].Type}}
	}
	// The rows lie in two chunks.
	var chunks []arrow.RecordBatch
	var refs []batch.Ref
	for c, part := range [][]modelRow{rows[:len(rows)/2], rows[len(rows)/2:]} {
		var values [][]types.Value
		for i, r := range part {
			values = append(values, []types.Value{r.k1, r.k2, r.seq})
			refs = append(refs, batch.NewRef(c, i))
		}
		rec := f.batchOf(nil, values...)
		defer rec.Release()
		chunks = append(chunks, rec)
	}
	l, err := o.load(chunks)
	if err != nil {
		t.Fatal(err)
	}
	var scratch []item
	got, want := l.sorted(refs, &scratch), modelMerge(rows, sequence, descending)
	if !slices.Equal(got, want) {
		t.Fatalf("places %v, want %v of %v", got, want, fmt.Sprint(rows))
	}
}

func TestSortByPrefixKeepsArrival(t *testing.T) {
	for _, n := range []int{1, 2, radixFrom - 1, radixFrom, 5000} {
		items := make([]item, n)
		for i := range items {
			// Few different prefixes, spread over low and high bytes.
			items[i] = item{uint64(i*7919%13)<<56 | uint64(i*104729%11), uint32(i)}
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.prefix, b.prefix) })
		if got := sortByPrefix(items, make([]item, n)); !slices.Equal(got, want) {
			t.Errorf("%d items are not in order", n)
		}
	}
}

// In the buffer as in a merge the two zeroes are one key and one sequence; the
// row that came last wins and its key is written. (Java 1.4.2 sorts its buffer
// with −0.0 first, so that 0.0 wins until the next flush. Later Java keeps the
// zeroes apart everywhere.)
func TestZeroesAreOneKey(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, root := range []types.Root{types.Float, types.Double} {
		f := newFixture(t, schema.Spec{
			Fields:      []types.Field{field("k", root, false), field("j", types.BigInt, false), field("s", root, false)},
			PrimaryKeys: []string{"k", "j"}, Options: map[string]string{"bucket": "1"},
		})
		row := func(k float64, j int64, s float64) []types.Value {
			if root == types.Float {
				return []types.Value{float32(k), j, float32(s)}
			}
			return []types.Value{k, j, s}
		}
		columns := []merge.Column{{Index: 0, Type: f.schema.Fields[0].Type}, {Index: 1, Type: f.schema.Fields[1].Type}, {Index: 2, Type: f.schema.Fields[2].Type}}
		for _, c := range []struct {
			what           string
			keys, sequence []merge.Column
			rows           [][]types.Value
			want           []uint32
		}{
			{"one key", columns[:1], nil, [][]types.Value{row(1, 0, 0), row(negative, 0, 0), row(0, 0, 0), row(negative, 0, 0), row(-1, 0, 0)}, []uint32{4, 3, 0}},
			{"keys of two columns", columns[:2], nil, [][]types.Value{row(0, 1, 0), row(negative, 2, 0), row(0, 3, 0), row(negative, 1, 0)}, []uint32{3, 1, 2}},
			{"a sequence field", columns[1:2], columns[2:], [][]types.Value{row(0, 1, 0), row(0, 1, negative), row(0, 2, negative), row(0, 2, 0), row(0, 2, -1)}, []uint32{1, 3}},
		} {
			o := &orderer{sequence: c.sequence}
			var err error
			if o.keys, err = merge.NewOrder(c.keys); err != nil {
				t.Fatal(err)
			}
			rec := f.batchOf(nil, c.rows...)
			l, err := o.load([]arrow.RecordBatch{rec})
			if err != nil {
				t.Fatal(err)
			}
			refs := make([]batch.Ref, len(c.rows))
			for i := range refs {
				refs[i] = batch.NewRef(0, i)
			}
			var scratch []item
			if got := l.sorted(refs, &scratch); !slices.Equal(got, c.want) {
				t.Errorf("%v, %s: places %v, want %v", root, c.what, got, c.want)
			}
			rec.Release()
		}
		f.alloc.AssertSize(t, 0)
	}
}
