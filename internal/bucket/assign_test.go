package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func field(name, ty string) types.Field {
	return types.Field{Name: name, Type: types.MustParse(ty)}
}

func record(t testing.TB, mem memory.Allocator, fields []types.Field, rows ...[]types.Value) arrow.RecordBatch {
	t.Helper()
	schema, err := types.ArrowSchema(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for _, r := range rows {
		for i, v := range r {
			if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// The buckets that Java's tests and its hash give.
func TestKnownBuckets(t *testing.T) {
	for _, c := range []struct {
		types  string
		values []types.Value
		want   string // of 2, 4, 10 and 100 buckets
	}{
		{"INT", []types.Value{int64(5)}, "0,0,6,96"},
		{"INT", []types.Value{int64(7)}, "1,3,1,91"},
		{"INT,INT", []types.Value{int64(5), int64(6)}, "1,3,7,27"},
		{"BIGINT", []types.Value{int64(1)}, "0,2,8,98"},
		{"STRING", []types.Value{"a"}, "0,2,6,46"},
		{"STRING", []types.Value{"abcdefgh"}, "0,2,8,78"},
		{"INT", []types.Value{nil}, "0,0,4,44"},
		{"INT,STRING", []types.Value{int64(1), "paimon-go-test"}, "1,3,7,67"},
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		var fields []types.Field
		var keys []types.Field
		var ts []types.Type
		for i, ty := range strings.Split(c.types, ",") {
			f := field(fmt.Sprint("k", i), ty)
			keys, ts = append(keys, f), append(ts, f.Type)
			fields = append([]types.Field{f}, fields...) // the batch has them the other way round
		}
		values := make([]types.Value, len(c.values))
		for i, v := range c.values {
			values[len(values)-1-i] = v
		}
		rec := record(t, mem, fields, values, values)
		row, err := binaryrow.Encode(ts, c.values)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range []int{2, 4, 10, 100} {
			a, err := New("", keys, n)
			if err != nil {
				t.Fatal(err)
			}
			bs, err := a.Assign(rec, []int32{-9})
			if err != nil {
				t.Fatal(err)
			}
			one, err := a.OfRow(row)
			if err != nil || len(bs) != 3 || bs[0] != -9 || bs[1] != bs[2] || bs[1] != one || one != Of(row, n) {
				t.Errorf("%s %v: buckets %v, of the row %d %v", c.types, c.values, bs, one, err)
			}
			got = append(got, fmt.Sprint(bs[1]))
		}
		if s := strings.Join(got, ","); s != c.want {
			t.Errorf("%s %v: buckets %s, want %s", c.types, c.values, s, c.want)
		}
		rec.Release()
		mem.AssertSize(t, 0)
	}
}

// The sign of a hash is dropped after the division, not before it and not by
// the floor modulus; the least integer has no positive counterpart.
func TestNegativeHashes(t *testing.T) {
	for hash, want := range map[int32]int32{-7: 2, 7: 2, -5: 0, math.MinInt32: 3, math.MaxInt32: 2, -1: 1} {
		if got := of(hash, 5); got != want {
			t.Errorf("hash %d: bucket %d of 5, want %d", hash, got, want)
		}
	}
}

func TestMod(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, ty := range []string{"INT", "BIGINT"} {
		keys := []types.Field{field("k", ty)}
		rec := record(t, mem, keys, []types.Value{int64(7)}, []types.Value{int64(-7)}, []types.Value{int64(math.MinInt32)}, []types.Value{nil}, []types.Value{int64(5)})
		a, err := New(Mod, keys, 5)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Assign(rec, nil)
		if err != nil || fmt.Sprint(got) != "[2 3 2 0 0]" {
			t.Errorf("%s: buckets %v %v", ty, got, err)
		}
		for i, v := range []types.Value{int64(7), int64(-7), int64(math.MinInt32), nil, int64(5)} {
			row, err := binaryrow.Encode([]types.Type{keys[0].Type}, []types.Value{v})
			if err != nil {
				t.Fatal(err)
			}
			if b, err := a.OfRow(row); err != nil || b != got[i] {
				t.Errorf("%s %v: bucket of the row %d %v, of the batch %d", ty, v, b, err, got[i])
			}
		}
		rec.Release()
	}
}

func TestRefused(t *testing.T) {
	one := []types.Field{field("k", "STRING")}
	for name, c := range map[string]struct {
		fn   string
		keys []types.Field
		n    int
		want tarnerr.Kind
	}{
		"hive":        {Hive, one, 4, tarnerr.Unsupported},
		"unknown":     {"sip", one, 4, tarnerr.Invalid},
		"no bucket":   {"", one, 0, tarnerr.Invalid},
		"dynamic":     {"", one, -1, tarnerr.Invalid},
		"no key":      {"", nil, 4, tarnerr.Invalid},
		"mod of text": {Mod, one, 4, tarnerr.Invalid},
		"mod of two":  {Mod, []types.Field{field("a", "INT"), field("b", "INT")}, 4, tarnerr.Invalid},
	} {
		if _, err := New(c.fn, c.keys, c.n); err == nil || tarnerr.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rec := record(t, mem, []types.Field{field("k", "INT")}, []types.Value{int64(1)})
	defer rec.Release()
	for name, keys := range map[string][]types.Field{"missing": {field("x", "INT")}, "other type": one} {
		a, err := New("", keys, 4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Assign(rec, nil); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
			t.Errorf("%s column: %v, want Invalid", name, err)
		}
	}
}

// In every golden key table with fixed buckets, the first and the last key of
// each file hash to the bucket it lies in.
func TestGoldenBuckets(t *testing.T) {
	set := golden.Open(t)
	ctx := context.Background()
	files := 0
	for _, name := range set.Names() {
		g := set.Table(t, name)
		table := layout.Table{Dir: g.Path()}
		data, err := fileio.ReadFile(ctx, g.FileIO, table.SchemaFile(0))
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Fields        []types.Field     `json:"fields"`
			PartitionKeys []string          `json:"partitionKeys"`
			PrimaryKeys   []string          `json:"primaryKeys"`
			Options       map[string]string `json:"options"`
		}
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		if len(schema.PrimaryKeys) == 0 || schema.Options["bucket-key"] != "" || strings.HasPrefix(schema.Options["bucket"], "-") {
			continue
		}
		var keys []types.Field
		for _, k := range schema.PrimaryKeys {
			for _, f := range schema.Fields {
				if f.Name == k && !strings.Contains(","+strings.Join(schema.PartitionKeys, ",")+",", ","+k+",") {
					keys = append(keys, f)
				}
			}
		}
		snaps := snapshot.NewStore(g.FileIO, table)
		s, err := snaps.Latest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil || name == "manifest-parquet" {
			continue
		}
		store, err := manifest.NewStore(manifest.Config{FileIO: g.FileIO, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
			metas, err := store.ReadList(ctx, list, nil)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := store.ReadAll(ctx, metas, manifest.EntryFilter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.TotalBuckets < 1 || e.File.MinKey.Arity() != len(keys) {
					continue
				}
				a, err := New(schema.Options["bucket-function.type"], keys, int(e.TotalBuckets))
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range []binaryrow.Row{e.File.MinKey, e.File.MaxKey} {
					if b, err := a.OfRow(key); err != nil || b != e.Bucket {
						t.Errorf("%s/%s: key %x is of bucket %d %v, its file lies in %d of %d", name, e.File.FileName, key, b, err, e.Bucket, e.TotalBuckets)
					}
				}
				if e.TotalBuckets > 1 {
					files++
				}
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d files in tables of several buckets", files)
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	fields := []types.Field{field("id", "BIGINT"), field("name", "STRING")}
	rows := make([][]types.Value, 1000)
	for i := range rows {
		rows[i] = []types.Value{int64(i), fmt.Sprint("a name of some length ", i)}
	}
	rec := record(t, memory.NewGoAllocator(), fields, rows...)
	defer rec.Release()
	a, err := New("", fields, 16)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int32, 0, len(rows))
	// Binding the two columns of a batch takes a few; its thousand rows none.
	if n := testing.AllocsPerRun(20, func() { dst, err = a.Assign(rec, dst[:0]) }); n > 20 || err != nil {
		t.Errorf("%v allocations for %d rows, %v", n, len(rows), err)
	}
}

func BenchmarkAssign(b *testing.B) {
	fields := []types.Field{field("id", "BIGINT"), field("name", "STRING")}
	rows := make([][]types.Value, 4096)
	for i := range rows {
		rows[i] = []types.Value{int64(i), fmt.Sprint("name ", i)}
	}
	rec := record(b, memory.NewGoAllocator(), fields, rows...)
	defer rec.Release()
	for name, keys := range map[string][]types.Field{"bigint": fields[:1], "bigint,string": fields} {
		b.Run(name, func(b *testing.B) {
			a, err := New("", keys, 16)
			if err != nil {
				b.Fatal(err)
			}
			var dst []int32
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = a.Assign(rec, dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(rows))/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
