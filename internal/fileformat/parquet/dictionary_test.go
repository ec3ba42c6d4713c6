package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestNumbersDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, distinct := range []int{1, 2, 100, 10_000} {
		d := emptied[uint64](nil)
		seen := map[uint64]uint32{}
		var values []uint64
		for range 20_000 {
			values = append(values, uint64(r.IntN(distinct))<<(r.IntN(3)*20))
		}
		indices := d.indices(nil, values)
		var plain []byte
		for i, v := range values {
			want, ok := seen[v]
			if !ok {
				want = uint32(len(seen))
				seen[v] = want
			}
			if indices[i] != want {
				t.Fatalf("%d distinct: value %d has index %d, want %d", distinct, v, indices[i], want)
			}
			plain = binary.LittleEndian.AppendUint64(plain, v)
		}
		if d.entries() != len(seen) || len(d.plain()) != 8*len(seen) || !bytes.Equal(d.appendPlain(nil, indices), plain) {
			t.Errorf("%d distinct: %d entries, %d bytes", distinct, d.entries(), len(d.plain()))
		}
	}
}

func TestTextsDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, prefixed := range []bool{false, true} {
		d := (*texts)(nil).emptied(prefixed)
		seen := map[string]uint32{}
		var plain []byte
		var indices []uint32
		for range 30_000 {
			// Texts of every length up to 20, some of which differ in one place only.
			v := []byte(fmt.Sprintf("%020d", r.IntN(3000)))[r.IntN(20):]
			if r.IntN(50) == 0 {
				v = v[:0]
			}
			want, ok := seen[string(v)]
			if !ok {
				want = uint32(len(seen))
				seen[string(v)] = want
			}
			got := d.index(v)
			if got != want || !bytes.Equal(d.entry(int(got)), v) {
				t.Fatalf("%q has index %d, want %d", v, got, want)
			}
			indices = append(indices, got)
			if prefixed {
				plain = binary.LittleEndian.AppendUint32(plain, uint32(len(v)))
			}
			plain = append(plain, v...)
		}
		if d.entries() != len(seen) || !bytes.Equal(d.appendPlain(nil, indices), plain) {
			t.Errorf("prefixed %v: %d entries, want %d", prefixed, d.entries(), len(seen))
		}
	}
}

// Short texts are hashed as a whole: no two of them that differ share all bits.
func TestHashBytes(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 20 {
		for at := range n {
			for _, c := range []byte{0, 1, 0x80} {
				b := bytes.Repeat([]byte{7}, n)
				b[at] = c
				h := hashBytes(b)
				if other, ok := seen[h]; ok && other != string(b) {
					t.Fatalf("%q and %q have one hash", other, b)
				}
				seen[h] = string(b)
			}
		}
	}
}

func TestFirstEight(t *testing.T) {
	b := []byte("abcdefghij")
	for n := range len(b) + 1 {
		var want [8]byte
		copy(want[:], b[:n])
		if got := firstEight(b[:n:n]); got != binary.LittleEndian.Uint64(want[:]) {
			t.Errorf("%q: %x", b[:n], got)
		}
	}
}
