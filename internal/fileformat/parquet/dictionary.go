package parquet

import (
	"encoding/binary"
	"math/bits"
)

// sampleRows is how many values of a column are looked at before it is decided
// whether it goes on with a dictionary; the end of its first page decides again.
const sampleRows = 1024

// worthIt compares the bytes of n values with those of a dictionary and indices.
// Dictionaries that do not pay cost a sixth of the whole write in hash tables
// nobody keeps; a small sample is on the careful side, because what a dictionary
// costs per row only falls with more rows.
func worthIt(n, distinct, raw, dict int) bool {
	return dict+n*bits.Len(uint(distinct))/8 < raw
}

// dictionary gives values their index in order of first appearance.
type dictionary interface {
	entries() int
	// plain are the entries as a dictionary page has them.
	plain() []byte
	// appendPlain appends the entries of these indices as a data page has them.
	appendPlain(dst []byte, indices []uint32) []byte
}

// A multiplier with well mixed bits: the golden ratio's.
const mixer = 0x9E3779B97F4A7C15

// leastSlots is the size of a new hash table, a power of two. Larger tables than
// keptSlots and longer pages than keptBytes are not used again.
const (
	leastSlots = 256
	keptSlots  = 4096
	keptBytes  = 1 << 20
)

// numbers is a dictionary of values of four or eight bytes.
type numbers[T uint32 | uint64] struct {
	slots []uint32 // index + 1 of an entry, 0 = free; linear probing
	shift int
	keys  []T
}

// emptied is a dictionary without entries, in the memory of d if there is one.
func emptied[T uint32 | uint64](d *numbers[T]) *numbers[T] {
	if d == nil || len(d.slots) > keptSlots {
		return &numbers[T]{slots: make([]uint32, leastSlots), shift: 64 - bits.Len(leastSlots-1)}
	}
	clear(d.slots)
	d.keys = d.keys[:0]
	return d
}

// indices appends the index of each value, entering new ones.
func (d *numbers[T]) indices(dst []uint32, values []T) []uint32 {
	mask := len(d.slots) - 1
	for _, v := range values {
		at := int(uint64(v) * mixer >> d.shift)
		for {
			s := d.slots[at&mask]
			if s == 0 {
				d.keys = append(d.keys, v)
				s = uint32(len(d.keys))
				d.slots[at&mask] = s
				dst = append(dst, s-1)
				if len(d.keys)*2 > len(d.slots) {
					d.grow()
					mask = len(d.slots) - 1
				}
				break
			}
			if d.keys[s-1] == v {
				dst = append(dst, s-1)
				break
			}
			at++
		}
	}
	return dst
}

func (d *numbers[T]) grow() {
	d.slots, d.shift = make([]uint32, 2*len(d.slots)), d.shift-1
	mask := len(d.slots) - 1
	for i, v := range d.keys {
		at := int(uint64(v) * mixer >> d.shift)
		for d.slots[at&mask] != 0 {
			at++
		}
		d.slots[at&mask] = uint32(i + 1)
	}
}

func (d *numbers[T]) entries() int  { return len(d.keys) }
func (d *numbers[T]) plain() []byte { return bytesOf(d.keys) }
func (d *numbers[T]) appendPlain(dst []byte, indices []uint32) []byte {
	for _, i := range indices {
		dst = append(dst, bytesOf(d.keys[i:i+1])...)
	}
	return dst
}

// texts is a dictionary of byte strings.
type texts struct {
	prefixed bool // entries are written after their length
	slots    []textSlot
	shift    int
	page     []byte
	starts   []uint32 // of the entries in page, and the end of the last
}

type textSlot struct {
	entry uint32 // index + 1, 0 = free
	tag   uint32 // bits of the hash that do not choose the slot
}

// emptied is a dictionary without entries, in the memory of d if there is one.
func (d *texts) emptied(prefixed bool) *texts {
	if d == nil || len(d.slots) > keptSlots || cap(d.page) > keptBytes {
		return &texts{
			prefixed: prefixed, slots: make([]textSlot, leastSlots), shift: 64 - bits.Len(leastSlots-1), starts: []uint32{0},
		}
	}
	clear(d.slots)
	d.prefixed, d.page, d.starts = prefixed, d.page[:0], d.starts[:1]
	return d
}

// index gives the index of v, which is entered if it is new.
func (d *texts) index(v []byte) uint32 {
	h := hashBytes(v)
	mask := len(d.slots) - 1
	for at := int(h >> d.shift); ; at++ {
		s := d.slots[at&mask]
		if s.entry == 0 {
			return d.enter(v, at&mask, h)
		}
		if s.tag == uint32(h) && string(d.entry(int(s.entry-1))) == string(v) {
			return s.entry - 1
		}
	}
}

func (d *texts) enter(v []byte, at int, h uint64) uint32 {
	if d.prefixed {
		d.page = binary.LittleEndian.AppendUint32(d.page, uint32(len(v)))
	}
	d.page = append(d.page, v...)
	d.starts = append(d.starts, uint32(len(d.page)))
	n := uint32(d.entries())
	d.slots[at] = textSlot{n, uint32(h)}
	if int(n)*2 > len(d.slots) {
		d.grow()
	}
	return n - 1
}

func (d *texts) grow() {
	d.slots, d.shift = make([]textSlot, 2*len(d.slots)), d.shift-1
	mask := len(d.slots) - 1
	for i := range d.entries() {
		h := hashBytes(d.entry(i))
		at := int(h >> d.shift)
		for d.slots[at&mask].entry != 0 {
			at++
		}
		d.slots[at&mask] = textSlot{uint32(i + 1), uint32(h)}
	}
}

// entry is the value of entry i.
func (d *texts) entry(i int) []byte {
	b := d.page[d.starts[i]:d.starts[i+1]]
	if d.prefixed {
		b = b[4:]
	}
	return b
}

func (d *texts) entries() int  { return len(d.starts) - 1 }
func (d *texts) plain() []byte { return d.page }
func (d *texts) appendPlain(dst []byte, indices []uint32) []byte {
	for _, i := range indices {
		dst = append(dst, d.page[d.starts[i]:d.starts[i+1]]...)
	}
	return dst
}

// hashBytes mixes eight bytes at a time by a full multiplication.
func hashBytes(b []byte) uint64 {
	h := uint64(len(b)) * mixer
	for len(b) > 8 {
		h = mix(h ^ binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	return mix(h ^ firstEight(b))
}

func mix(v uint64) uint64 {
	hi, lo := bits.Mul64(v^0xD6E8FEB86659FD93, mixer)
	return hi ^ lo
}

// firstEight are the first eight bytes as a number of little-endian order, those
// that are missing zero.
func firstEight(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	if len(b) >= 4 { // the two halves overlap; what is twice there is the same
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))<<(8*(len(b)-4))
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}
