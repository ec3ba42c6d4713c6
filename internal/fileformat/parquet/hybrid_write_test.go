package parquet

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHybridRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 32).Draw(t, "width")
		value := rapid.Uint32Range(0, uint32(uint64(1)<<width-1))
		var want []uint32
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			if rapid.Bool().Draw(t, "run") {
				v := value.Draw(t, "value")
				for range rapid.IntRange(1, 100).Draw(t, "length") {
					want = append(want, v)
				}
				continue
			}
			want = append(want, rapid.SliceOfN(value, 0, 40).Draw(t, "values")...)
		}
		b := appendHybrid([]byte{0xaa}, want, width)
		got := make([]uint32, len(want))
		h := newHybrid(b[1:], width)
		if !h.uints(got) || !slices.Equal(got, want) || b[0] != 0xaa {
			t.Fatalf("width %d: %v came back as %v", width, want, got)
		}
		if width == 0 && len(b) > 4 {
			t.Fatalf("%d zeroes of no bits take %d bytes", len(want), len(b)-1)
		}
	})
}

func TestBitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []uint32
		for range rapid.IntRange(1, 8).Draw(t, "pieces") {
			if rapid.Bool().Draw(t, "run") {
				v := rapid.Uint32Range(0, 1).Draw(t, "value")
				for range rapid.IntRange(1, 300).Draw(t, "length") {
					want = append(want, v)
				}
				continue
			}
			want = append(want, rapid.SliceOfN(rapid.Uint32Range(0, 1), 0, 50).Draw(t, "values")...)
		}
		bitmap := make([]byte, (len(want)+7)/8)
		for i, v := range want {
			bitmap[i/8] |= byte(v << (i % 8))
		}
		b := appendBits(nil, bitmap, len(want))
		got := make([]uint32, len(want))
		h := newHybrid(b, 1)
		if !h.uints(got) || !slices.Equal(got, want) {
			t.Fatalf("%v came back as %v", want, got)
		}
	})
}

// Runs are not spelled out: levels without a null, or with few, take few bytes.
func TestRunsAreShort(t *testing.T) {
	values := make([]uint32, 20_000)
	if n := len(appendHybrid(nil, values, 7)); n != 4 {
		t.Errorf("20,000 equal values take %d bytes", n)
	}
	bitmap := make([]byte, 2500)
	for i := range bitmap {
		bitmap[i] = 0xff
	}
	bitmap[1000] = 0xfe
	if n := len(appendBits(nil, bitmap, 20_000)); n != 3+2+4 {
		t.Errorf("20,000 levels with one null take %d bytes", n)
	}
}
