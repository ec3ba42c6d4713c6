package sketch

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tarnlake/tarn/tarnerr"
)

// A theta sketch begins with words of eight bytes: head; count and a probability, if
// there are several hashes or not all; theta, if not all. Hashes follow.
const (
	thetaWords   = 0 // low six bits: words before the hashes
	thetaVersion = 1
	thetaFamily  = 2
	thetaArray   = 4 // logarithm of the length of the hash table, of sketches not compact
	thetaFlags   = 5
	thetaSeed    = 6
	thetaCount   = 8

	serialVersion = 3
	familyAlpha   = 1
	familyCompact = 3

	flagReadOnly = 2
	flagEmpty    = 4
	flagCompact  = 8
	flagOrdered  = 16
	flagSingle   = 32
	// singleMask and singleBits tell a sketch of one hash: old ones lack flagSingle.
	singleMask = 0x1f
	singleBits = flagReadOnly | flagCompact | flagOrdered

	seedHash = 0x93cc // of the seed 9001, which all sketches have unless told otherwise

	// thetaEntries is how many hashes a union keeps: Java's default.
	thetaEntries = 4096
	thetaAll     = math.MaxInt64
)

// theta are the hashes of a sketch below a limit, ascending.
type theta struct {
	hashes []int64
	limit  int64
	empty  bool // nothing was ever put in
}

// UnionTheta unites two theta sketches as a union of the default size does and appends
// the result, compact and ordered, to dst. It fails with Corrupt where one of them
// cannot be read, and with Unsupported where one has another seed or an old version.
func UnionTheta(dst, a, b []byte) ([]byte, error) {
	x, err := decodeTheta(a)
	if err != nil {
		return dst, err
	}
	y, err := decodeTheta(b)
	if err != nil {
		return dst, err
	}
	out := theta{limit: min(x.limit, y.limit), empty: x.empty && y.empty}
	out.hashes = make([]int64, 0, min(len(x.hashes)+len(y.hashes), thetaEntries+1))
	i, j := 0, 0
	for len(out.hashes) <= thetaEntries {
		h := int64(thetaAll)
		if i < len(x.hashes) {
			h = x.hashes[i]
		}
		if j < len(y.hashes) {
			h = min(h, y.hashes[j])
		}
		if h >= out.limit {
			break
		}
		if i < len(x.hashes) && x.hashes[i] == h {
			i++
		}
		if j < len(y.hashes) && y.hashes[j] == h {
			j++
		}
		out.hashes = append(out.hashes, h)
	}
	if len(out.hashes) > thetaEntries {
		out.limit, out.hashes = out.hashes[thetaEntries], out.hashes[:thetaEntries]
	}
	return out.append(dst), nil
}

func corruptTheta(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading theta sketch", cause, kv...)
}

func decodeTheta(b []byte) (*theta, error) {
	out := &theta{limit: thetaAll, empty: true}
	if len(b) < 16 {
		return out, nil // Java takes what is shorter than one hash as empty
	}
	words, flags := int(b[thetaWords]&0x3f), b[thetaFlags]
	if v := b[thetaVersion]; v != serialVersion {
		if v == 1 || v == 2 || v == 4 {
			return nil, tarnerr.New(tarnerr.Unsupported, "reading theta sketch", "this version of the stored form", "version", v)
		}
		return nil, corruptTheta("no such version", "version", v)
	}
	if f := b[thetaFamily]; f < familyAlpha || f > familyCompact {
		return nil, corruptTheta("another kind of sketch", "family", f)
	}
	switch {
	case words == 1 && b[thetaFamily] == familyCompact && flags&singleMask == singleBits:
		out.empty = false
		return out, out.take(b, 1, 1, false)
	case words == 1:
		return out, nil
	case words > 3 || words == 0:
		return nil, corruptTheta("impossible head", "words", words)
	}
	if s := binary.LittleEndian.Uint16(b[thetaSeed:]); s != seedHash {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading theta sketch", "sketches of another seed", "seed hash", s)
	}
	count := int(int32(binary.LittleEndian.Uint32(b[thetaCount:])))
	if words == 2 && count == 0 {
		return out, nil
	}
	if words == 3 {
		if len(b) < 24 {
			return nil, corruptTheta("the bytes end too early", "bytes", len(b))
		}
		out.limit = int64(binary.LittleEndian.Uint64(b[16:]))
	}
	out.empty = false
	switch {
	case flags&flagOrdered != 0:
		return out, out.take(b, words, count, true)
	case flags&flagCompact != 0:
		return out, out.take(b, words, count, false)
	}
	if lg := b[thetaArray]; lg < 31 {
		return out, out.take(b, words, 1<<lg, false)
	}
	return nil, corruptTheta("impossible hash table", "logarithm", b[thetaArray])
}

// take reads n hashes behind the words of the head. Those that are zero or not below
// the limit are left from updates.
func (t *theta) take(b []byte, words, n int, ordered bool) error {
	if n < 0 || len(b) < 8*words || n > len(b)/8-words {
		return corruptTheta("the bytes end too early", "bytes", len(b), "hashes", n)
	}
	t.hashes = make([]int64, 0, n)
	for b = b[8*words:]; n > 0; n-- {
		h := int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
		if h > 0 && h < t.limit {
			t.hashes = append(t.hashes, h)
		}
	}
	if !ordered || !slices.IsSorted(t.hashes) {
		slices.Sort(t.hashes)
	}
	t.hashes = slices.Compact(t.hashes)
	return nil
}

func (t *theta) append(dst []byte) []byte {
	words, flags, seed := 2, byte(flagReadOnly|flagCompact|flagOrdered), uint16(seedHash)
	switch n := len(t.hashes); {
	case t.limit < thetaAll:
		words = 3
	case n == 0: // also where only hashes beyond the limit were put in
		words, flags, seed = 1, flags|flagEmpty, 0
	case n == 1:
		words, flags = 1, flags|flagSingle
	}
	dst = append(dst, byte(words), serialVersion, familyCompact, 0, 0, flags)
	dst = binary.LittleEndian.AppendUint16(dst, seed)
	if words > 1 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.hashes)))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(1))
	}
	if words > 2 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(t.limit))
	}
	for _, h := range t.hashes {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h))
	}
	return dst
}
