package sketch

import (
	"encoding/binary"
	"math"
)

// The head of a stored HLL sketch. Integers and floats are little endian.
const (
	hllInts    = 0 // of the head
	hllVersion = 1
	hllFamily  = 2
	hllLgK     = 3
	hllLgArray = 4 // logarithm of the length of the coupons' or the exceptions' table
	hllFlags   = 5
	hllCount   = 6 // of a list
	hllCurMin  = 6
	hllMode    = 7 // two bits mode, two bits packing

	setCount   = 8
	slotHip    = 8
	slotKxq0   = 16
	slotKxq1   = 24
	slotNumMin = 32
	slotAux    = 36 // exceptions

	listHead, setHead, slotHead = 8, 12, 40

	hllSerialVersion = 1
	familyHLL        = 7

	flagOutOfOrder = 16
	flagRebuild    = 32
	// exception marks a slot of four bits whose value is too large for them.
	exception = 15
)

// lgExceptions are the logarithms of the first lengths of tables of exceptions, by lgK.
var lgExceptions = [...]int{0, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13}

func decodeHLL(b []byte) (*hll, error) {
	if len(b) < listHead {
		return nil, shortHLL(b)
	}
	if v, f := b[hllVersion], b[hllFamily]; v != hllSerialVersion || f != familyHLL {
		return nil, corruptHLL("another kind or version of sketch", "version", v, "family", f)
	}
	h := &hll{lgK: int(b[hllLgK]), mode: mode(b[hllMode] & 3), pack: packing(b[hllMode] >> 2 & 3)}
	if h.lgK < minLgK || h.lgK > maxLgK || h.mode > modeHLL || h.pack > pack8 {
		return nil, corruptHLL("impossible head", "lgK", h.lgK, "mode", h.mode, "packing", h.pack)
	}
	heads := [...]int{modeList: listHead, modeSet: setHead, modeHLL: slotHead}
	if head := heads[h.mode]; int(b[hllInts]&0x3f)*4 != head || len(b) < head {
		return nil, shortHLL(b)
	}
	switch h.mode {
	case modeList:
		return h, h.decodeList(b)
	case modeSet:
		return h, h.decodeSet(b)
	}
	return h, h.decodeSlots(b)
}

func shortHLL(b []byte) error {
	return corruptHLL("the bytes end too early", "bytes", len(b))
}

func (h *hll) decodeList(b []byte) error {
	n := int(b[hllCount])
	if n >= 1<<lgList || len(b) < listHead+4*n {
		return corruptHLL("impossible number of coupons", "coupons", n, "bytes", len(b))
	}
	h.coupons = make([]uint32, 1<<lgList)
	for i := range n {
		c := binary.LittleEndian.Uint32(b[listHead+4*i:])
		if c == 0 {
			return corruptHLL("a coupon is empty", "coupon", i)
		}
		h.coupons[i] = c
	}
	h.count = n
	return nil
}

func (h *hll) decodeSet(b []byte) error {
	n := int(int32(binary.LittleEndian.Uint32(b[setCount:])))
	if h.lgK < lgKOfSets || n < 0 || 4*n > 3<<(h.lgK-3) {
		return corruptHLL("impossible number of coupons", "coupons", n, "lgK", h.lgK)
	}
	if b[hllFlags]&flagCompact != 0 {
		if n > (len(b)-setHead)/4 {
			return shortHLL(b)
		}
		h.coupons = make([]uint32, 1<<lgSet)
		for i := range n {
			c := binary.LittleEndian.Uint32(b[setHead+4*i:])
			if c == 0 {
				return corruptHLL("a coupon is empty", "coupon", i)
			}
			if _, err := h.updateSet(c); err != nil {
				return err
			}
		}
		return nil
	}
	lg := int(b[hllLgArray])
	for lg < lgSet || lg <= h.lgK-3 && 4*n > 3<<lg {
		lg++ // not stored by early versions
	}
	if lg > h.lgK-3 || 1<<lg > (len(b)-setHead)/4 {
		return corruptHLL("impossible hash table", "logarithm", lg, "bytes", len(b))
	}
	h.coupons = make([]uint32, 1<<lg)
	for i := range h.coupons {
		if h.coupons[i] = binary.LittleEndian.Uint32(b[setHead+4*i:]); h.coupons[i] != 0 {
			h.count++
		}
	}
	if h.count != n {
		return corruptHLL("a hash table has other coupons than it says", "coupons", h.count, "said", n)
	}
	return nil
}

func (h *hll) decodeSlots(b []byte) error {
	k := 1 << h.lgK
	flags := b[hllFlags]
	h.hip = math.Float64frombits(binary.LittleEndian.Uint64(b[slotHip:]))
	h.kxq0 = math.Float64frombits(binary.LittleEndian.Uint64(b[slotKxq0:]))
	h.kxq1 = math.Float64frombits(binary.LittleEndian.Uint64(b[slotKxq1:]))
	h.curMin, h.numAtCurMin = int(b[hllCurMin]), int(int32(binary.LittleEndian.Uint32(b[slotNumMin:])))
	h.outOfOrder, h.needsRebuild = flags&flagOutOfOrder != 0, flags&flagRebuild != 0
	bytes := [...]int{pack4: k / 2, pack6: k*3/4 + 1, pack8: k}[h.pack]
	if len(b) < slotHead+bytes {
		return shortHLL(b)
	}
	h.slots = make([]uint8, k)
	data := b[slotHead : slotHead+bytes]
	switch h.pack {
	case pack8:
		copy(h.slots, data)
	case pack6:
		for i := range h.slots {
			at := 6 * i
			h.slots[i] = uint8(binary.LittleEndian.Uint16(data[at>>3:])>>(at&7)) & maxValue
		}
	case pack4:
		return h.decode4(data, b[slotHead+bytes:], flags, int(int32(binary.LittleEndian.Uint32(b[slotAux:]))), int(b[hllLgArray]))
	}
	for i, v := range h.slots {
		if v > maxValue {
			return corruptHLL("impossible value", "slot", i, "value", v)
		}
	}
	return nil
}

// decode4 reads slots of four bits, and of the n exceptions those that do not fit.
func (h *hll) decode4(data, table []byte, flags byte, n, lg int) error {
	for i := range h.slots {
		v := data[i/2] >> (4 * (i & 1)) & 15
		if v != exception {
			v += uint8(min(h.curMin, maxValue+1))
		}
		if h.slots[i] = v; v > maxValue {
			return corruptHLL("impossible value", "slot", i, "value", v)
		}
	}
	pairs := n
	if flags&flagCompact == 0 && n > 0 {
		if lg > maxLgK {
			return corruptHLL("impossible table of exceptions", "logarithm", lg)
		}
		pairs = 1 << lg
	}
	if pairs < 0 || pairs > len(table)/4 {
		return corruptHLL("impossible number of exceptions", "exceptions", n)
	}
	left := 0
	for i := range h.slots {
		if data[i/2]>>(4*(i&1))&15 == exception {
			left++
		}
	}
	for i := range pairs {
		p := binary.LittleEndian.Uint32(table[4*i:])
		slot := int(p&slotMask) & (len(h.slots) - 1)
		if p == 0 && flags&flagCompact == 0 {
			continue
		}
		if data[slot/2]>>(4*(slot&1))&15 != exception {
			return corruptHLL("an exception of a slot that has none", "slot", slot)
		}
		h.slots[slot] = uint8(p >> slotBits)
		left--
	}
	if left != 0 {
		return corruptHLL("exceptions are missing", "slots", left)
	}
	return nil
}

// append4 appends the compact form with slots of four bits.
func (h *hll) append4(dst []byte) []byte {
	flags := byte(flagCompact)
	if h.mode != modeHLL {
		if h.count == 0 {
			flags |= flagEmpty
		}
		lg := lgList
		for 1<<lg < len(h.coupons) {
			lg++
		}
		ints, count := byte(listHead/4), byte(h.count)
		if h.mode == modeSet {
			ints, count = setHead/4, 0
		}
		dst = append(dst, ints, hllSerialVersion, familyHLL, byte(h.lgK), byte(lg), flags, count, byte(h.mode))
		if h.mode == modeSet {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(h.count))
		}
		for _, c := range h.coupons {
			if c != 0 {
				dst = binary.LittleEndian.AppendUint32(dst, c)
			}
		}
		return dst
	}
	if h.outOfOrder {
		flags |= flagOutOfOrder
	}
	out := newSlots(h.lgK) // counts the sums anew, in the order of the slots
	curMin, num := h.smallest()
	packed := make([]byte, len(h.slots)/2)
	var e exceptions
	for i, v := range h.slots {
		if v == 0 {
			continue
		}
		out.exchange(0, v)
		nibble := int(v) - curMin
		if nibble >= exception {
			nibble = exception
			e.add(h.lgK, i, v)
		}
		packed[i/2] |= byte(nibble) << (4 * (i & 1))
	}
	dst = append(dst, slotHead/4, hllSerialVersion, familyHLL, byte(h.lgK), byte(e.lg), flags, byte(curMin), byte(modeHLL))
	for _, f := range []float64{h.hip, out.kxq0, out.kxq1} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(num))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(e.count))
	dst = append(dst, packed...)
	for _, p := range e.table {
		if p != 0 {
			dst = binary.LittleEndian.AppendUint32(dst, p)
		}
	}
	return dst
}

// exceptions are the values too large for four bits, in Java's hash table, whose order
// is stored.
type exceptions struct {
	table     []uint32
	lg, count int
}

func (e *exceptions) add(lgK, slot int, v uint8) {
	if e.table == nil {
		e.lg = lgExceptions[lgK]
		e.table = make([]uint32, 1<<e.lg)
	}
	e.put(slot, uint32(v)<<slotBits|uint32(slot))
	if e.count++; 4*e.count > 3*len(e.table) {
		old := e.table
		e.lg++
		e.table = make([]uint32, 1<<e.lg)
		for _, p := range old {
			if p != 0 {
				e.put(int(p&slotMask)&(1<<lgK-1), p)
			}
		}
	}
}

func (e *exceptions) put(slot int, pair uint32) {
	mask := len(e.table) - 1
	i, stride := slot&mask, slot>>e.lg|1
	for e.table[i] != 0 {
		i = (i + stride) & mask
	}
	e.table[i] = pair
}
