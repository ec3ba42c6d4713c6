package orc

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The examples of the ORC v1 specification, and ends of ranges.
func TestIntegerRuns(t *testing.T) {
	repeat := func(v int64, n int) []int64 { return slices.Repeat([]int64{v}, n) }
	count := func(from, step int64, n int) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = from + int64(i)*step
		}
		return out
	}
	for name, c := range map[string]struct {
		v2, signed bool
		in         []byte
		want       []int64
	}{
		"v1 repeat":       {false, false, []byte{0x61, 0x00, 0x07}, repeat(7, 100)},
		"v1 down":         {false, false, []byte{0x61, 0xff, 0x64}, count(100, -1, 100)},
		"v1 literals":     {false, false, []byte{0xfb, 2, 3, 4, 7, 0xb}, []int64{2, 3, 4, 7, 11}},
		"v1 signed":       {false, true, []byte{0xfe, 1, 2}, []int64{-1, 1}},
		"short repeat":    {true, false, []byte{0x0a, 0x27, 0x10}, repeat(10000, 5)},
		"short, signed":   {true, true, []byte{0x00, 0x03}, repeat(-2, 3)},
		"direct":          {true, false, []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, []int64{23713, 43806, 57005, 48879}},
		"direct 64 bits":  {true, true, append([]byte{0x7e, 0x01}, append(bytes.Repeat([]byte{0xff}, 8), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe)...), []int64{math.MinInt64, math.MaxInt64}},
		"patched base":    {true, false, []byte{0x8e, 0x09, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0xfc, 0xe8}, []int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090}},
		"delta":           {true, false, []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
		"delta, fixed":    {true, true, []byte{0xc0, 0x04, 0x02, 0x13}, count(1, -10, 5)},
		"delta, down":     {true, true, []byte{0xc2, 0x03, 0x14, 0x03, 0xc0}, []int64{10, 8, 5, 5}},
		"delta, one":      {true, true, []byte{0xc0, 0x00, 0x14, 0x00}, []int64{10}},
		"several runs":    {true, false, []byte{0x00, 0x01, 0x01, 0x02, 0xc0, 0x01, 0x05, 0x00}, []int64{1, 1, 1, 2, 2, 2, 2, 5, 5}},
		"patch over 255":  {true, false, patchedFar, append(repeat(0, 299), 256)},
		"v1 two runs":     {false, false, []byte{0x00, 0x00, 0x01, 0xff, 0x09}, []int64{1, 1, 1, 9}},
		"v1 wraps around": {false, true, []byte{0x00, 0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, []int64{math.MaxInt64, math.MinInt64, math.MinInt64 + 1}},
	} {
		for _, step := range []int{1, 2, 3, 1000} {
			r := newIntRuns(newStream(c.in, codecNone, 0), c.v2, c.signed)
			got := make([]int64, len(c.want))
			for at := 0; at < len(got); at += step {
				if err := r.read(got[at:min(at+step, len(got))]); err != nil {
					t.Fatalf("%s, %d at a time: %v", name, step, err)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %d at a time: %v, want %v", name, step, got, c.want)
			}
			if err := r.read(make([]int64, 1)); err != errEnd {
				t.Errorf("%s: one more value: %v", name, err)
			}
		}
	}
}

// patchedFar is 300 values of one bit over base 0; the last has a patch, 299
// values from the first: a gap of 255, then one of 44.
var patchedFar = slices.Concat(
	[]byte{0x81, 0x2b, 0x07, 0xe2, 0x00}, // width 1, 300 values, base of a byte, patches of 8 bits, gaps of 8 bits, two of them
	make([]byte, 38),
	[]byte{0xff, 0x00, 0x2c, 0x80},
)

func TestByteAndBitRuns(t *testing.T) {
	in := []byte{0x61, 0x00, 0xfe, 0x44, 0x45} // 100 zeros, two literals
	r := byteRuns{in: newStream(in, codecNone, 0)}
	got := make([]byte, 102)
	for at := 0; at < len(got); at += 17 {
		if err := r.read(got[at : at+17]); err != nil {
			t.Fatal(err)
		}
	}
	if want := append(make([]byte, 100), 0x44, 0x45); !bytes.Equal(got, want) {
		t.Errorf("bytes %x, want %x", got, want)
	}
	if err := r.read(got[:1]); err != errEnd {
		t.Errorf("one more byte: %v", err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	raw := make([]byte, 128)
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	for range 200 {
		bits := bitRuns{byteRuns: byteRuns{in: newStream(append([]byte{0x80}, raw...), codecNone, 0)}}
		dst := make([]byte, 140)
		off := random.IntN(16)
		start, ones := off, 0
		for off < start+1024 {
			k := min(1+random.IntN(200), start+1024-off)
			n, err := bits.read(dst, off, k)
			if err != nil {
				t.Fatal(err)
			}
			off, ones = off+k, ones+n
		}
		want := 0
		for i := range 1024 {
			bit := raw[i/8] >> (7 - i%8) & 1
			want += int(bit)
			if at := start + i; dst[at/8]>>(at%8)&1 != bit {
				t.Fatalf("bit %d from %d on is wrong", i, start)
			}
		}
		if ones != want || dst[0]&(1<<min(start, 8)-1) != 0 {
			t.Fatalf("%d ones, want %d; %x", ones, want, dst[0])
		}
	}
}

// TestPacked packs random values of every width and unpacks them.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for _, width := range packedWidths {
		want := make([]int64, 1+random.IntN(maxRun))
		packed := make([]byte, len(want)*8+8)
		for i := range want {
			v := random.Uint64() >> (64 - width)
			want[i] = int64(v)
			for b := range width {
				at := i*int(width) + int(b)
				packed[at/8] |= byte(v>>(width-1-b)&1) << (7 - at%8)
			}
		}
		got := make([]int64, len(want))
		unpack(got, packed[:(len(want)*int(width)+7)/8], width)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("width %d\n%s", width, diff)
		}
	}
}

func FuzzRuns(f *testing.F) {
	f.Add([]byte{0x8e, 0x09, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0xfc, 0xe8}, byte(1), uint16(10))
	f.Add([]byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, byte(3), uint16(7))
	f.Add([]byte{0x61, 0xff, 0x64}, byte(0), uint16(600))
	f.Add(patchedFar, byte(1), uint16(300))
	f.Fuzz(func(t *testing.T, data []byte, how byte, n uint16) {
		v2, signed := how&1 != 0, how&2 != 0
		all := make([]int64, int(n)%2000)
		whole := newIntRuns(newStream(data, codecNone, 0), v2, signed)
		err := whole.read(all)
		pieces := newIntRuns(newStream(data, codecNone, 0), v2, signed)
		for i := range all {
			var one [1]int64
			if e := pieces.read(one[:]); e != nil {
				if err == nil {
					t.Fatalf("value %d alone: %v", i, e)
				}
				return
			}
			if err == nil && one[0] != all[i] {
				t.Fatalf("value %d alone is %d, not %d", i, one[0], all[i])
			}
		}
		bits := bitRuns{byteRuns: byteRuns{in: newStream(data, codecNone, 0)}}
		if ones, err := bits.read(make([]byte, int(n)/8+2), 5, int(n)); err == nil && ones > int(n) {
			t.Fatal("more ones than bits")
		}
	})
}

func FuzzStream(f *testing.F) {
	for _, name := range []string{"scalars-zlib.orc", "scalars-snappy.orc", "scalars-lz4.orc", "scalars-zstd.orc"} {
		file := testFile(f, name, nil)
		s, err := file.openStripe(f.Context(), 0)
		if err != nil {
			f.Fatal(err)
		}
		sp := s.spans[streamKey{9, streamData}]
		b, _ := file.tail.view(sp.off, sp.n)
		f.Add(b, byte(file.post.compression))
	}
	f.Fuzz(func(t *testing.T, data []byte, codec byte) {
		s := newStream(data, int32(codec%6), 1<<16)
		if b, err := s.all(1 << 24); err == nil && len(data) < 3 && len(b) > 3 {
			t.Fatal("something out of nothing")
		}
		d := newStream(data, int32(codec%6), 1<<16)
		for {
			if _, err := d.wideVarint(); err != nil {
				return
			}
		}
	})
}
