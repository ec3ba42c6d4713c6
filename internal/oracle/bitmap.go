package oracle

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// plainCookie begins a bitmap without runs, in the format of RoaringFormatSpec.
const plainCookie = 12346

// Bitmap is a set of numbers as rbm32 takes it: as lists of the lower 16 bits for each
// upper 16. No two of the numbers may follow one another, for those would be runs, and a
// list holds at most 4096.
func Bitmap(numbers ...uint32) []byte {
	lists := map[uint16][]uint16{}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		lists[uint16(n>>16)] = append(lists[uint16(n>>16)], uint16(n))
	}
	uppers := slices.Sorted(maps.Keys(lists))
	out := binary.LittleEndian.AppendUint32(nil, plainCookie)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(uppers)))
	for _, upper := range uppers {
		out = binary.LittleEndian.AppendUint16(out, upper)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(lists[upper])-1))
	}
	at := len(out) + 4*len(uppers)
	for _, upper := range uppers {
		out = binary.LittleEndian.AppendUint32(out, uint32(at))
		at += 2 * len(lists[upper])
	}
	for _, upper := range uppers {
		for _, lower := range lists[upper] {
			out = binary.LittleEndian.AppendUint16(out, lower)
		}
	}
	return out
}

// numbers reads what Bitmap makes.
func numbers(b []byte) (out []uint32, ok bool) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != plainCookie {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	heads, lists := b[8:], b[8+8*n:]
	for i := range n {
		upper := uint32(binary.LittleEndian.Uint16(heads[4*i:])) << 16
		for range int(binary.LittleEndian.Uint16(heads[4*i+2:])) + 1 {
			out = append(out, upper|uint32(binary.LittleEndian.Uint16(lists)))
			lists = lists[2:]
		}
	}
	return out, true
}

func unite(a, b []byte) (types.Value, error) {
	x, isX := numbers(a)
	y, isY := numbers(b)
	if !isX || !isY {
		return nil, tarnerr.New(tarnerr.Unsupported, "uniting bitmaps", "the oracle knows lists only")
	}
	return Bitmap(append(x, y...)...), nil
}
