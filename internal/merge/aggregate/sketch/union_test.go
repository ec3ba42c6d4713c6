package sketch

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/merge/aggregate/uniontest"
	"github.com/tarnlake/tarn/tarnerr"
)

// The unions of testdata were made by Java.
func TestUnionsAreJavas(t *testing.T) {
	for name, union := range map[string]uniontest.Union{"theta_sketch": UnionTheta, "hll_sketch": UnionHLL} {
		uniontest.Javas(t, name, union, func(set []byte, n int) bool { return n < 16 || set[hllFlags]&flagCompact == 0 })
	}
}

// A union of theta sketches holds the smallest hashes below both limits, however many
// are united and in whatever order.
func TestThetaKeepsTheSmallest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	estimating := 0
	for range 40 {
		limit, all := int64(thetaAll), map[int64]bool{}
		var stored [][]byte
		for range 2 + rnd.IntN(3) {
			s := theta{limit: thetaAll}
			for range 1 + rnd.IntN(5000) {
				s.hashes = append(s.hashes, 1+rnd.Int64N(1<<40)<<20)
			}
			if rnd.IntN(2) == 0 {
				s.limit = 1 + rnd.Int64N(1<<60)
				s.hashes = slices.DeleteFunc(s.hashes, func(h int64) bool { return h >= s.limit })
			}
			slices.Sort(s.hashes)
			s.hashes = slices.Compact(s.hashes)
			limit = min(limit, s.limit)
			for _, h := range s.hashes {
				all[h] = true
			}
			stored = append(stored, s.append(nil))
		}
		want := slices.Sorted(maps.Keys(all))
		n, _ := slices.BinarySearch(want, limit)
		if want = want[:n]; n > thetaEntries {
			limit, want = want[thetaEntries], want[:thetaEntries]
		}
		out := stored[0]
		for _, s := range stored[1:] {
			var err error
			if out, err = UnionTheta(nil, out, s); err != nil {
				t.Fatal(err)
			}
		}
		got, err := decodeTheta(out)
		if err != nil {
			t.Fatal(err)
		}
		if got.limit != limit || !slices.Equal(got.hashes, want) {
			t.Fatalf("%d hashes below %d, not %d below %d", len(got.hashes), got.limit, len(want), limit)
		}
		if limit < thetaAll {
			estimating++
		}
	}
	if estimating == 0 || estimating == 40 {
		t.Errorf("%d of 40 unions do not hold all", estimating)
	}
}

// A union of HLL sketches holds the largest value of each slot, whatever the forms and
// sizes, and its sums are those of its slots.
func TestHLLKeepsTheLargest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	modes := map[mode]int{}
	for range 200 {
		x, y := randomHLL(rnd), randomHLL(rnd)
		lgK := y.lgK
		if x.mode == modeHLL {
			lgK = min(lgK, x.lgK)
		}
		want := make([]uint8, 1<<lgK)
		for _, h := range []*hll{x, y} {
			for i, v := range h.values() {
				want[i&(len(want)-1)] = max(want[i&(len(want)-1)], v)
			}
		}
		out, err := UnionHLL(nil, x.append4(nil), y.append4(nil))
		if err != nil {
			t.Fatal(err)
		}
		z, err := decodeHLL(out)
		if err != nil {
			t.Fatal(err)
		}
		modes[z.mode]++
		got := make([]uint8, 1<<lgK)
		for i, v := range z.values() {
			got[i&(len(got)-1)] = max(got[i&(len(got)-1)], v)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("slots of %d and %d differ", x.lgK, y.lgK)
		}
		if z.mode != modeHLL {
			continue
		}
		sum := 0.0
		for _, v := range want {
			sum += math.Pow(2, -float64(v))
		}
		if math.Abs(sum-z.kxq0-z.kxq1) > 1e-9*sum {
			t.Fatalf("sum %v is %v + %v", sum, z.kxq0, z.kxq1)
		}
	}
	if len(modes) != 3 {
		t.Errorf("modes reached: %v", modes)
	}
}

// values are the slots, of coupons as many as the largest sketch here has.
func (h *hll) values() []uint8 {
	if h.mode == modeHLL {
		return h.slots
	}
	out := make([]uint8, 1<<10)
	for _, c := range h.coupons {
		if c != 0 {
			i := int(c) & (len(out) - 1)
			out[i] = max(out[i], uint8(c>>slotBits))
		}
	}
	return out
}

func randomHLL(rnd *rand.Rand) *hll {
	h := newList(4 + rnd.IntN(7))
	if rnd.IntN(3) == 0 {
		h = newList(9)
	}
	for range []int{0, 3, 20, 40, 5000}[rnd.IntN(5)] {
		v := uint32(1)
		for v < 60 && rnd.IntN(2) == 0 {
			v++
		}
		if rnd.IntN(50) == 0 {
			v = 40
		}
		var err error
		if h, err = h.update(v<<slotBits | rnd.Uint32()&slotMask); err != nil {
			panic(err)
		}
	}
	return h
}

func FuzzUnionTheta(f *testing.F) { fuzzUnion(f, "theta_sketch", UnionTheta) }
func FuzzUnionHLL(f *testing.F)   { fuzzUnion(f, "hll_sketch", UnionHLL) }

func fuzzUnion(f *testing.F, name string, union func(dst, a, b []byte) ([]byte, error)) {
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		a, b, _ := uniontest.Of(f, line)
		f.Add(a, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		out, err := union(nil, a, b)
		if err != nil {
			if k := tarnerr.KindOf(err); k != tarnerr.Corrupt && k != tarnerr.Unsupported {
				t.Fatal(err)
			}
			return
		}
		if _, err := union(nil, out, out); err != nil {
			t.Fatalf("a union cannot be read: %v", err)
		}
	})
}
