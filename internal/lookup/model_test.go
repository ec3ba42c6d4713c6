package lookup

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/types"
	"pgregory.net/rapid"
)

type t2 struct{ *rapid.T }

func (t t2) Helper() {}

// Whatever files there are, directly or by local ones, look-ups find of each key the
// row of the lowest level that has it.
func TestLookupsFindTheLowestRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		t := t2{rt}
		options := map[string]string{
			"lookup.cache.bloom.filter.enabled": fmt.Sprint(rapid.Bool().Draw(rt, "filter")),
			"lookup.cache-spill-compression":    rapid.SampledFrom([]string{"zstd", "lz4", "none"}).Draw(rt, "codec"),
			"file.format":                       rapid.SampledFrom([]string{"parquet", "parquet", "avro"}).Draw(rt, "format"),
			"parquet.page.row.count.limit":      "16",
			"target-file-size":                  rapid.SampledFrom([]string{"1 b", "128 mb"}).Draw(rt, "size"),
		}
		f := newFixture(t, options)
		f.always = rapid.IntRange(0, 3).Draw(rt, "always") > 0
		type level struct{ rows map[string]row }
		var levels []level
		var files []*datafile.Meta
		keySpace := rapid.SampledFrom([]int{8, 60, 1000}).Draw(rt, "keys")
		keyOf := func(i int) row { return row{a: fmt.Sprintf("k%c%02d", 'a'+i%3, i/3%10), b: int64(i)} }
		for l := range int32(rapid.IntRange(1, 3).Draw(rt, "levels")) {
			in := level{map[string]row{}}
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, keySpace-1), 1, 120).Draw(rt, "rows") {
				r := keyOf(i)
				r.v = int64(l)*10000 + int64(i)
				r.kind = rapid.SampledFrom([]types.RowKind{types.Insert, types.UpdateAfter, types.Delete}).Draw(rt, "kind")
				in.rows[r.key()] = r
			}
			levels = append(levels, in)
			files = append(files, f.flush(l+1, slices.Collect(maps.Values(in.rows))...)...)
		}
		want := func(k row) (string, bool) {
			for _, l := range levels {
				if r, ok := l.rows[k.key()]; ok {
					text := fmt.Sprint(r.v)
					if r.kind.IsRetract() {
						text += "-"
					}
					return text, true
				}
			}
			return "", false
		}
		r := f.reader()
		rapid.Permutation(files).Draw(rt, "order")
		var b *Bucket
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			if b == nil {
				b = r.Bucket(dir, rapid.Permutation(files).Draw(rt, "order"), nil)
			}
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				closeBucket(t, b)
				b = nil
			case 1:
				f.store.shed(1 << 40)
			case 2:
				r.Drop(dir, files[:1])
			case 3, 4:
				f.owe(r, files[rapid.IntRange(0, len(files)-1).Draw(rt, "owed")])
			default:
				asked := map[string]row{}
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, keySpace+20), 0, 80).Draw(rt, "asked") {
					k := keyOf(i)
					asked[k.key()] = k
				}
				rows := slices.SortedFunc(maps.Values(asked), order)
				got := f.get(b, rows...)
				for _, k := range rows {
					text, ok := want(k)
					if got[k.key()] != text {
						rt.Fatalf("key %s: %q, want %q (%v)", k.key(), got[k.key()], text, ok)
					}
				}
			}
		}
		if b != nil {
			closeBucket(t, b)
		}
		if len(f.warned) > 0 {
			rt.Fatalf("warned: %q", f.warned)
		}
		f.close()
	})
}

// Many keys are found in one walk over a file that goes on from call to call, back
// to its beginning when keys are asked for again, and past gaps.
func TestWalks(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			f := newFixture(t, map[string]string{"file.format": format, "parquet.page.row.count.limit": "500"})
			rows := many(120_000, 2, 0)
			files := f.flush(1, rows...)
			r := f.readerOf(f.config())
			b := r.Bucket(dir, files, nil)
			all := many(240_000, 1, 0)
			for _, c := range [][2]int{{0, 2000}, {2000, 4000}, {3000, 4500}, {200_000, 202_000}, {0, 1000}, {230_000, 239_000}, {239_000, 239_001}} {
				asked := all[c[0]:c[1]]
				got := f.get(b, asked...)
				for i, k := range asked {
					want := ""
					if (c[0]+i)%2 == 0 {
						want = fmt.Sprint(c[0] + i)
					}
					if got[k.key()] != want {
						t.Fatalf("%v: key %s: %q, want %q", c, k.key(), got[k.key()], want)
					}
				}
			}
			closeBucket(t, b)
			closeBucket(t, b)
			f.close()
		})
	}
}
