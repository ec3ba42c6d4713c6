package sketch

import (
	"math"

	"github.com/tarnlake/tarn/tarnerr"
)

// mode is how an HLL sketch holds what it has seen, as it is stored: few coupons in a
// list, more in a hash table, then the largest value of each slot.
type mode uint8

const (
	modeList mode = iota
	modeSet
	modeHLL
)

// packing is how many bits a slot takes in the stored form.
type packing uint8

const (
	pack4 packing = iota
	pack6
	pack8
)

const (
	minLgK, maxLgK = 4, 21
	slotBits       = 26 // of a coupon; its value lies above
	slotMask       = 1<<slotBits - 1
	maxValue       = 63
	lgList, lgSet  = 3, 5 // logarithms of the first lengths of list and hash table
	lgKOfSets      = 8    // smaller sketches go from the list to slots
)

// hll is a sketch of 2^lgK slots.
type hll struct {
	lgK  int
	mode mode
	pack packing

	coupons []uint32 // list or hash table, 0 where empty
	count   int      // of coupons

	slots        []uint8
	hip          float64 // the estimate that goes along with the order of the updates
	kxq0, kxq1   float64 // sum of 2^-value, of values below 32 and of the others
	curMin       int     // smallest value, and in how many slots
	numAtCurMin  int
	outOfOrder   bool // hip does not hold
	needsRebuild bool // kxq, curMin and numAtCurMin do not hold
}

// UnionHLL unites two HLL sketches: a goes into a union that begins with b, and the
// result, compact with slots of four bits, is appended to dst. It fails with Corrupt
// where one of them cannot be read.
func UnionHLL(dst, a, b []byte) ([]byte, error) {
	x, err := decodeHLL(a)
	if err != nil {
		return dst, err
	}
	x.rebuild()
	y, err := decodeHLL(b)
	if err != nil {
		return dst, err
	}
	u := &union{lgMaxK: y.lgK, hll: newList(y.lgK)}
	for _, s := range []*hll{y, x} {
		if err := u.add(s); err != nil {
			return dst, err
		}
	}
	u.rebuild()
	return u.hll.append4(dst), nil
}

func corruptHLL(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading HLL sketch", cause, kv...)
}

func newList(lgK int) *hll {
	return &hll{lgK: lgK, pack: pack8, coupons: make([]uint32, 1<<lgList)}
}

func newSet(lgK int) *hll {
	return &hll{lgK: lgK, mode: modeSet, pack: pack8, coupons: make([]uint32, 1<<lgSet)}
}

func newSlots(lgK int) *hll {
	k := 1 << lgK
	return &hll{lgK: lgK, mode: modeHLL, pack: pack8, slots: make([]uint8, k), kxq0: float64(k), numAtCurMin: k}
}

// union is a union in the making: a sketch of at most 2^lgMaxK slots of eight bits.
type union struct {
	*hll
	lgMaxK int
}

// add unites s into the union.
func (u *union) add(s *hll) error {
	if s.mode != modeHLL {
		if s.count == 0 {
			return nil
		}
		if s.mode == modeSet && u.mode != modeHLL && u.count == 0 && s.lgK == u.lgK {
			set := *s
			set.pack = pack8
			u.hll = &set
			return nil
		}
		return u.addCoupons(s)
	}
	switch {
	case u.mode == modeHLL && s.lgK >= u.lgK:
		u.addSlots(s)
	case u.mode == modeHLL:
		u.hll = u.downsampled(s.lgK)
		u.addSlots(s)
	default:
		coupons := u.hll
		if s.lgK > u.lgMaxK {
			u.hll = s.downsampled(u.lgMaxK)
		} else {
			u.hll = s.copy8()
		}
		return u.addCoupons(coupons)
	}
	return nil
}

// addCoupons updates the union by the coupons of s, in the order in which they lie.
func (u *union) addCoupons(s *hll) error {
	for _, c := range s.coupons {
		if c == 0 {
			continue
		}
		out, err := u.hll.update(c)
		if err != nil {
			return err
		}
		u.hll = out
	}
	return nil
}

// addSlots takes the larger of the values in each slot.
func (u *union) addSlots(s *hll) {
	mask := len(u.slots) - 1
	for i, v := range s.slots {
		u.slots[i&mask] = max(u.slots[i&mask], v)
	}
	u.needsRebuild, u.outOfOrder, u.hip = true, true, 0
}

// rebuild counts anew what merging slots has left behind.
func (h *hll) rebuild() {
	if h.mode != modeHLL || h.pack != pack8 || !h.needsRebuild {
		return
	}
	h.kxq0, h.kxq1 = float64(len(h.slots)), 0
	for _, v := range h.slots {
		switch {
		case v == 0:
		case v < 32:
			h.kxq0 += invPow2(v) - 1
		default:
			h.kxq1 += invPow2(v) - 1
		}
	}
	h.curMin, h.numAtCurMin = h.smallest()
	h.needsRebuild = false
}

func (h *hll) smallest() (value, slots int) {
	value = maxValue + 1
	for _, v := range h.slots {
		switch v := int(v); {
		case v < value:
			value, slots = v, 1
		case v == value:
			slots++
		}
	}
	return value, slots
}

// copy8 is a copy with slots of eight bits. Other packings are built up anew.
func (h *hll) copy8() *hll {
	if h.pack == pack8 {
		out := *h
		out.slots = append([]uint8(nil), h.slots...)
		return &out
	}
	out := h.downsampled(h.lgK)
	out.hip = h.hip
	return out
}

// downsampled is a copy with slots of eight bits, of which there may be fewer.
func (h *hll) downsampled(lgK int) *hll {
	out := newSlots(lgK)
	for i, v := range h.slots {
		if v > 0 {
			out.updateSlot(i&(len(out.slots)-1), v)
		}
	}
	out.hip, out.outOfOrder = h.hip, h.outOfOrder
	if out.outOfOrder {
		out.hip = 0
	}
	return out
}

// update takes a coupon in and returns the sketch, which may have become another.
func (h *hll) update(c uint32) (*hll, error) {
	switch h.mode {
	case modeList:
		return h.updateList(c)
	case modeSet:
		return h.updateSet(c)
	}
	h.updateSlot(int(c)&(len(h.slots)-1), uint8(c>>slotBits))
	return h, nil
}

func (h *hll) updateList(c uint32) (*hll, error) {
	for i, have := range h.coupons {
		if have == c {
			return h, nil
		}
		if have != 0 {
			continue
		}
		h.coupons[i] = c
		if h.count++; h.count < len(h.coupons) {
			return h, nil
		}
		if h.lgK < lgKOfSets {
			return h.promoted(), nil
		}
		set := newSet(h.lgK)
		for _, c := range h.coupons {
			if _, err := set.updateSet(c); err != nil {
				return nil, err
			}
		}
		return set, nil
	}
	return nil, corruptHLL("a list is full", "coupons", h.count)
}

func (h *hll) updateSet(c uint32) (*hll, error) {
	i, found, err := find(h.coupons, c)
	if err != nil || found {
		return h, err
	}
	h.coupons[i] = c
	h.count++
	if 4*h.count <= 3*len(h.coupons) {
		return h, nil
	}
	if len(h.coupons) >= 1<<(h.lgK-3) {
		return h.promoted(), nil
	}
	wider := make([]uint32, 2*len(h.coupons))
	for _, c := range h.coupons {
		if c != 0 {
			i, _, err := find(wider, c)
			if err != nil {
				return nil, err
			}
			wider[i] = c
		}
	}
	h.coupons = wider
	return h, nil
}

// find is where a coupon lies in a hash table, or would.
func find(table []uint32, c uint32) (i int, found bool, err error) {
	mask, lg := len(table)-1, 0
	for 1<<lg < len(table) {
		lg++
	}
	i = int(c) & mask
	stride := int(c&slotMask)>>lg | 1
	for range table {
		switch table[i] {
		case 0:
			return i, false, nil
		case c:
			return i, true, nil
		}
		i = (i + stride) & mask
	}
	return 0, false, corruptHLL("a hash table is full", "coupons", len(table))
}

// promoted is a list or hash table as slots.
func (h *hll) promoted() *hll {
	out := newSlots(h.lgK)
	for _, c := range h.coupons {
		if c != 0 {
			out.updateSlot(int(c)&(len(out.slots)-1), uint8(c>>slotBits))
		}
	}
	out.hip = max(couponEstimate(float64(h.count)), float64(h.count))
	return out
}

func (h *hll) updateSlot(i int, v uint8) {
	old := h.slots[i]
	if v <= old {
		return
	}
	h.slots[i] = v
	h.hip += float64(len(h.slots)) / (h.kxq0 + h.kxq1)
	h.exchange(old, v)
	if old == 0 {
		h.numAtCurMin--
	}
}

// exchange keeps the sums of 2^-value.
func (h *hll) exchange(old, v uint8) {
	if old < 32 {
		h.kxq0 -= invPow2(old)
	} else {
		h.kxq1 -= invPow2(old)
	}
	if v < 32 {
		h.kxq0 += invPow2(v)
	} else {
		h.kxq1 += invPow2(v)
	}
}

func invPow2(v uint8) float64 { return math.Float64frombits((1023 - uint64(v)) << 52) }
