package lookup

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/tarnlake/tarn/tarnerr"
)

// filter is a Bloom filter over keys. It is stored as a byte for the number of
// probes and the bits.
type filter struct {
	probes int
	bits   []byte
}

// filterSize is how many bytes of bits n keys take for a share of false positives.
func filterSize(n int64, share float64) int64 {
	bits := math.Ceil(-float64(max(n, 1)) * math.Log(share) / (math.Ln2 * math.Ln2))
	return int64(bits)/8 + 1
}

// newFilter makes an empty filter for n keys.
func newFilter(n int64, share float64) *filter {
	size := filterSize(n, share)
	probes := int(math.Round(float64(size*8) / float64(max(n, 1)) * math.Ln2))
	return &filter{probes: min(max(probes, 1), 30), bits: make([]byte, size)}
}

// filterHash is what a filter knows of a key.
func filterHash(key []byte) uint64 { return xxhash.Sum64(key) }

func (f *filter) add(h uint64) {
	n, step := uint64(len(f.bits))*8, h>>32|h<<32
	for range f.probes {
		at := h % n
		f.bits[at>>3] |= 1 << (at & 7)
		h += step
	}
}

// has reports that a key may be there.
func (f *filter) has(h uint64) bool {
	n, step := uint64(len(f.bits))*8, h>>32|h<<32
	for range f.probes {
		at := h % n
		if f.bits[at>>3]>>(at&7)&1 == 0 {
			return false
		}
		h += step
	}
	return true
}

func (f *filter) append(dst []byte) []byte {
	return append(append(dst, byte(f.probes)), f.bits...)
}

// decodeFilter reads what append wrote, and keeps data.
func decodeFilter(data []byte) (*filter, error) {
	if len(data) < 2 || data[0] == 0 || data[0] > 30 {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading filter", "no filter", "bytes", len(data))
	}
	return &filter{probes: int(data[0]), bits: data[1:]}, nil
}

// checked is a part of a file with the checksum in front.
func checked(dst, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(part)), part...)
}

// check takes the checksum off.
func check(data []byte) ([]byte, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) != xxhash.Sum64(data[8:]) {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading temporary file", "checksum differs", "bytes", len(data))
	}
	return data[8:], nil
}
