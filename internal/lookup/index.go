package lookup

import (
	"bytes"
	"encoding/binary"
	"math"
	"sort"

	"github.com/tarnlake/tarn/tarnerr"
)

// index says where the blocks of a local file lie and with which key each begins.
// Stored: the number of blocks, then of each the rows, the bytes on disk and in
// memory, how many bytes its first key shares with that of the block before, how
// many follow, and these; all numbers as varints.
type index struct {
	blocks []blockInfo
	keys   []byte
	ends   []int // of the first keys in keys
}

type blockInfo struct {
	at          int64
	rows        int
	small, size int // bytes on disk, with the checksum, and in memory
}

const maxBlockBytes = 1 << 30

func (x *index) key(i int) []byte {
	from := 0
	if i > 0 {
		from = x.ends[i-1]
	}
	return x.keys[from:x.ends[i]]
}

// add appends a block.
func (x *index) add(first []byte, rows, small, size int) {
	at := int64(0)
	if n := len(x.blocks); n > 0 {
		at = x.blocks[n-1].at + int64(x.blocks[n-1].small)
	}
	x.blocks = append(x.blocks, blockInfo{at, rows, small, size})
	x.keys = append(x.keys, first...)
	x.ends = append(x.ends, len(x.keys))
}

// find is the block that may hold a key, −1 when it comes before all.
func (x *index) find(key []byte, from int) int {
	n := len(x.blocks) - from
	return from + sort.Search(n, func(i int) bool { return bytes.Compare(x.key(from+i), key) > 0 }) - 1
}

func (x *index) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(x.blocks)))
	var before []byte
	for i, b := range x.blocks {
		key := x.key(i)
		shared := 0
		for shared < min(len(key), len(before)) && key[shared] == before[shared] {
			shared++
		}
		for _, v := range []int{b.rows, b.small, b.size, shared, len(key) - shared} {
			dst = binary.AppendUvarint(dst, uint64(v))
		}
		dst, before = append(dst, key[shared:]...), key
	}
	return dst
}

// decodeIndex reads the index of a file whose blocks end at byte end. Corrupt unless
// it says what append may have written.
func decodeIndex(data []byte, end int64) (*index, error) {
	const op = "reading index"
	bad := func(cause string, block int) error {
		return tarnerr.New(tarnerr.Corrupt, op, cause, "block", block)
	}
	number := func() (int, bool) {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > math.MaxInt32 {
			return 0, false
		}
		data = data[n:]
		return int(v), true
	}
	n, ok := number()
	// A block takes six bytes at least.
	if !ok || n > len(data)/6 {
		return nil, bad("more blocks than bytes", n)
	}
	x := &index{blocks: make([]blockInfo, 0, n), ends: make([]int, 0, n)}
	for i := range n {
		var v [5]int
		for k := range v {
			if v[k], ok = number(); !ok {
				return nil, bad("cut short", i)
			}
		}
		rows, small, size, shared, rest := v[0], v[1], v[2], v[3], v[4]
		var before []byte
		if i > 0 {
			before = x.key(i - 1)
		}
		if rows == 0 || small <= 8 || size > maxBlockBytes || shared > len(before) || rest > len(data) {
			return nil, bad("impossible block", i)
		}
		start := len(x.keys)
		x.keys = append(append(x.keys, before[:shared]...), data[:rest]...)
		data = data[rest:]
		if i > 0 && bytes.Compare(x.keys[start-len(before):start], x.keys[start:]) >= 0 {
			return nil, bad("keys out of order", i)
		}
		key := bytes.Clone(x.keys[start:])
		x.keys = x.keys[:start]
		x.add(key, rows, small, size)
	}
	if len(data) > 0 {
		return nil, bad("bytes behind the end", n)
	}
	if n > 0 && x.blocks[n-1].at+int64(x.blocks[n-1].small) != end || n == 0 && end != 0 {
		return nil, bad("blocks end elsewhere", n)
	}
	return x, nil
}
