package lookup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Bytes of keys are ordered as keys are in a merge, and equal where these are.
func TestOrderOfEncodedKeys(t *testing.T) {
	columns := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "FLOAT", "DOUBLE",
		"DECIMAL(9, 2)", "DECIMAL(38, 10)", "STRING", "VARBINARY(20)", "CHAR(3)",
	}
	json := map[string][]string{
		"BOOLEAN": {"true", "false"}, "FLOAT": {"0", "-0.0", "1.5", "-1.5", "3e38"}, "DOUBLE": {"0", "-0.0", "1.5", "-2.5", "1e300", "-1e300"},
		"STRING": {`""`, `"a"`, `"a\u0000"`, `"a\u0000b"`, `"ab"`, `"\u00ff"`, `"b"`}, "CHAR(3)": {`"a"`, `"abc"`},
		"VARBINARY(20)": {`""`, `"AA=="`, `"AAA="`, `"AP8="`, `"/w=="`}, "DECIMAL(9, 2)": {`"1.25"`, `"-1.25"`, `"9999999.99"`},
		"DECIMAL(38, 10)": {`"1.25"`, `"-1.25"`, `"1234567890123456789012345678.0000000001"`, `"-1234567890123456789012345678.0000000001"`},
		"TIME(3)":         {`"00:00:00"`, `"23:59:59.999"`}, "TIMESTAMP(3)": {`"1960-01-01 00:00:00"`, `"2020-01-01 00:00:00.001"`},
		"TIMESTAMP(6) WITH LOCAL TIME ZONE": {`"1960-01-01 00:00:00Z"`, `"2020-01-01 00:00:00.000001Z"`}, "DATE": {`"1960-01-01"`, `"2020-01-01"`},
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "columns")
		var order []merge.Column
		var arrays []arrow.Array
		var fields []arrow.Field
		var at []int
		const rows = 12
		for i := range n {
			name := rapid.SampledFrom(columns).Draw(t, "type")
			typ := types.MustParse(name)
			field, err := types.ArrowField(types.Field{Name: fmt.Sprint(i), Type: typ})
			if err != nil {
				t.Fatal(err)
			}
			choices := json[name]
			if choices == nil {
				choices = []string{"0", "1", "-1", "127", "-128"}
			}
			choices = append(slices.Clone(choices), "null")
			var texts []string
			for range rows {
				texts = append(texts, rapid.SampledFrom(choices).Draw(t, "value"))
			}
			a, _, err := array.FromJSON(memory.DefaultAllocator, field.Type, strings.NewReader("["+strings.Join(texts, ",")+"]"))
			if err != nil {
				t.Fatal(name, err)
			}
			arrays, fields, at = append(arrays, a), append(fields, field), append(at, i)
			order = append(order, merge.Column{Index: i, Type: typ})
		}
		rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
		o, err := merge.NewOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := o.Load(rec)
		if err != nil {
			t.Fatal(err)
		}
		var e encoder
		if err := e.bind(rec, at); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			for j := range rows {
				x, y := e.append(nil, i), e.append(nil, j)
				if got, want := bytes.Compare(x, y), merge.CompareKeys(keys, i, keys, j); got != want {
					t.Fatalf("rows %d and %d of %v: %x and %x compare %d, want %d", i, j, rec, x, y, got, want)
				}
			}
		}
	})
}

func TestOrderOfDoubles(t *testing.T) {
	all := []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, math.MaxFloat64, math.Inf(1), math.NaN()}
	for i, x := range all {
		for j, y := range all {
			if got := cmp.Compare(doubleBits(x), doubleBits(y)); got != cmp.Compare(i, j) {
				t.Errorf("%v and %v compare %d", x, y, got)
			}
		}
	}
	if doubleBits(math.Copysign(0, -1)) != doubleBits(0) || doubleBits(math.NaN()) != doubleBits(-math.NaN()) {
		t.Error("equal keys have other bytes")
	}
}

// A filter has every key it was given, and few others.
func TestFilter(t *testing.T) {
	for _, share := range []float64{0.5, 0.05, 0.001} {
		const n = 20_000
		f := newFilter(n, share)
		for i := range n {
			f.add(filterHash(fmt.Append(nil, "in ", i)))
		}
		if int64(len(f.bits)) != filterSize(n, share) {
			t.Errorf("%d bytes, want %d", len(f.bits), filterSize(n, share))
		}
		g, err := decodeFilter(f.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i := range n {
			if !g.has(filterHash(fmt.Append(nil, "in ", i))) {
				t.Fatalf("key %d is lost", i)
			}
			if g.has(filterHash(fmt.Append(nil, "out ", i))) {
				wrong++
			}
		}
		if got := float64(wrong) / n; got > 1.3*share || got < share/2 {
			t.Errorf("%v of other keys pass, want %v", got, share)
		}
	}
	if f := newFilter(0, 0.05); f.has(1) {
		t.Error("an empty filter has a key")
	}
}

func testIndex(n int) *index {
	x := &index{}
	for i := range n {
		x.add(fmt.Appendf(nil, "key %04d", 3*i), 10+i, 100+i, 200)
	}
	return x
}

func (x *index) end() int64 {
	if n := len(x.blocks); n > 0 {
		return x.blocks[n-1].at + int64(x.blocks[n-1].small)
	}
	return 0
}

func TestIndex(t *testing.T) {
	for _, n := range []int{0, 1, 2, 500} {
		x := testIndex(n)
		y, err := decodeIndex(x.append(nil), x.end())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.blocks, y.blocks) || !bytes.Equal(x.keys, y.keys) || !slices.Equal(x.ends, y.ends) {
			t.Errorf("%+v came back as %+v", x, y)
		}
		for k := range 3*n + 3 {
			key := fmt.Appendf(nil, "key %04d", k)
			want := min(k/3, n-1)
			for _, from := range []int{0, max(want, 0), max(want-1, 0)} {
				if got := y.find(key, from); got != want {
					t.Errorf("%d blocks: key %d lies in block %d from %d on, want %d", n, k, got, from, want)
				}
			}
		}
		if got := y.find([]byte("a"), 0); got != -1 {
			t.Errorf("a key before all lies in block %d", got)
		}
	}
	x := testIndex(3)
	good := x.append(nil)
	for i := range good {
		if _, err := decodeIndex(good[:i], x.end()); tarnerr.KindOf(err) != tarnerr.Corrupt {
			t.Errorf("%d bytes of %d: %v", i, len(good), err)
		}
	}
	if _, err := decodeIndex(good, x.end()+1); tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Errorf("blocks that end elsewhere: %v", err)
	}
}

// What an index is read of is one, or Corrupt: written again it is the same.
func FuzzIndex(f *testing.F) {
	for _, n := range []int{0, 1, 4} {
		x := testIndex(n)
		f.Add(x.append(nil), x.end())
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, int64(0))
	f.Fuzz(func(t *testing.T, data []byte, end int64) {
		x, err := decodeIndex(data, end)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Fatal(err)
			}
			return
		}
		if x.end() != end {
			t.Fatalf("blocks end at %d, want %d", x.end(), end)
		}
		y, err := decodeIndex(x.append(nil), end)
		if err != nil || !slices.Equal(x.blocks, y.blocks) || !bytes.Equal(x.keys, y.keys) {
			t.Fatalf("%+v came back as %+v, %v", x, y, err)
		}
	})
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte{}, uint64(0))
	f.Add(newFilter(10, 0.05).append(nil), uint64(7))
	f.Add([]byte{31, 0}, uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, h uint64) {
		x, err := decodeFilter(data)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Fatal(err)
			}
			return
		}
		x.add(h)
		if !x.has(h) {
			t.Fatal("a key is lost")
		}
	})
}

// A block is a batch of the schema or Corrupt, whatever its bytes.
func FuzzBlock(f *testing.F) {
	x := newFixture(f, nil)
	r := x.readerOf(x.config())
	rec := x.batch(r.cfg.Columns, many(5, 1, 0))
	var buf bytes.Buffer
	data, err := r.codec.encode(&buf, rec)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(data))
	rec.Release()
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := r.codec
		codec.mem = memory.DefaultAllocator
		rec, err := codec.decode(data)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Fatal(err)
			}
			return
		}
		if !rec.Schema().Equal(r.schema) {
			t.Fatalf("a batch of another schema: %v", rec.Schema())
		}
		rec.Release()
	})
}

// Of a local file that was damaged every row found is right: else the data file is
// asked.
func FuzzDamagedFile(f *testing.F) {
	f.Add(uint(0), byte(1))
	f.Add(uint(3000), byte(0x80))
	f.Add(uint(1<<30), byte(0xff))
	f.Fuzz(func(t *testing.T, at uint, flip byte) {
		x := newFixture(t, nil)
		files := x.flush(1, many(600, 2, 0)...)
		r := x.reader()
		x.owe(r, files...)
		b := r.Bucket(dir, files, nil)
		asked := many(1200, 1, 0)
		want := x.get(b, asked...)
		closeBucket(t, b)
		l := x.built(0)
		data := make([]byte, l.size)
		in, err := x.fs.Open(context.Background(), l.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.ReadAt(context.Background(), data, 0); err != nil {
			t.Fatal(err)
		}
		data[at%uint(len(data))] ^= flip
		if err := x.fs.Replace(context.Background(), l.path, data); err != nil {
			t.Fatal(err)
		}
		x.store.shed(1 << 40)
		b = r.Bucket(dir, files, nil)
		if got := x.get(b, asked...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		closeBucket(t, b)
		if flip != 0 && (len(x.warned) != 1 || x.store.Use().Files != 0) {
			t.Fatalf("nothing was noticed: %q, %+v", x.warned, x.store.Use())
		}
		x.close()
	})
}

// built is the i-th local file of the store, the one used last first.
func (f *fixture) built(i int) *localFile {
	f.t.Helper()
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	e := f.store.built.Front()
	for range i {
		e = e.Next()
	}
	return e.Value.(*localFile)
}
