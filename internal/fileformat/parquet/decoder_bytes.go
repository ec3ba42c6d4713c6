package parquet

import (
	"encoding/binary"
	"math"

	"github.com/tarnlake/tarn/internal/batch"
)

// byteArrays decodes BYTE_ARRAY and, with a width, FIXED_LEN_BYTE_ARRAY into
// strings and bytes.
type byteArrays struct {
	width int // of FIXED_LEN_BYTE_ARRAY, else 0

	dict    []byte
	offsets []int32 // of the dictionary, one more than entries
	index   indices
	byDict  bool

	enc     encoding
	plain   []byte  // PLAIN and fixed width: not read yet; delta lengths: the values
	lengths []int32 // DELTA_LENGTH and DELTA_BYTE_ARRAY suffixes, not read yet
	prefix  []int32 // DELTA_BYTE_ARRAY
	last    []byte  // DELTA_BYTE_ARRAY: the value before
	lenBuf  []int32
	preBuf  []int32
	split   []byte
}

func (d *byteArrays) dictionary(data []byte, n int) error {
	if d.width == 0 && len(data)/4 < n || d.width > 0 && len(data)/d.width < n {
		return errDictLength
	}
	d.dict, d.offsets = grow(d.dict, len(data))[:0], grow(d.offsets, n+1)
	d.offsets[0] = 0
	for i := range n {
		v, rest, err := d.cut(data)
		if err != nil {
			return err
		}
		d.dict, data = append(d.dict, v...), rest
		d.offsets[i+1] = int32(len(d.dict))
	}
	return nil
}

// cut takes the first PLAIN value off b.
func (d *byteArrays) cut(b []byte) (v, rest []byte, err error) {
	n := d.width
	if n == 0 {
		if len(b) < 4 {
			return nil, nil, errShort
		}
		u := binary.LittleEndian.Uint32(b)
		b = b[4:]
		if uint64(u) > uint64(len(b)) {
			return nil, nil, errLength
		}
		n = int(u)
	} else if len(b) < n {
		return nil, nil, errShort
	}
	return b[:n], b[n:], nil
}

func (d *byteArrays) forget() { d.offsets = nil }

func (d *byteArrays) page(enc encoding, data []byte, n int) error {
	d.byDict, d.enc, d.plain, d.lengths, d.prefix, d.last = false, enc, data, nil, nil, d.last[:0]
	switch enc {
	case encPlain:
		return nil
	case encPlainDict, encRLEDict:
		if d.offsets == nil {
			return errNoDict
		}
		d.byDict = true
		return d.index.begin(data)
	case encByteStreamSplit:
		if d.width == 0 || len(data)%d.width != 0 {
			return errEncoding
		}
		d.split = grow(d.split, len(data))
		unsplit(d.split, data, d.width)
		d.plain = d.split
		return nil
	case encDeltaByteArray:
		pre, rest, ok := deltaBinary(d.preBuf, data, n)
		if !ok {
			return errShort
		}
		d.prefix, d.preBuf, data = pre, pre, rest
	case encDeltaLength:
		if d.width > 0 {
			return errEncoding
		}
	default:
		return errEncoding
	}
	lengths, rest, ok := deltaBinary(d.lenBuf, data, n)
	if !ok || d.prefix != nil && len(d.prefix) != len(lengths) {
		return errShort
	}
	total := int64(0)
	for _, l := range lengths {
		if l < 0 {
			return errLength
		}
		total += int64(l)
	}
	if total > int64(len(rest)) {
		return errShort
	}
	d.lengths, d.lenBuf, d.plain = lengths, lengths, rest
	return nil
}

func (d *byteArrays) read(out *batch.Column, n int) error {
	out.Reserve(out.N + n)
	offsets := valuesOf[int32](out.Offsets.Bytes())[out.N : out.N+n+1]
	var err error
	switch {
	case d.byDict:
		err = d.readDict(out, offsets)
	case d.lengths != nil || d.enc == encDeltaLength || d.enc == encDeltaByteArray:
		err = d.readDelta(out, offsets)
	case d.width > 0:
		err = d.readFixed(out, offsets)
	default:
		err = d.readPlain(out, offsets)
	}
	return err
}

func (d *byteArrays) readPlain(out *batch.Column, offsets []int32) error {
	// One pass finds the lengths, a second copies: the room is known in between.
	b, total := d.plain, 0
	for range len(offsets) - 1 {
		v, rest, err := d.cut(b)
		if err != nil {
			return err
		}
		total += len(v)
		b = rest
	}
	if err := fits(out, total); err != nil {
		return err
	}
	dst, b, at := out.Room(total), d.plain, 0
	for i := range len(offsets) - 1 {
		n := int(binary.LittleEndian.Uint32(b))
		batch.CopyShort(dst, at, b, 4, n)
		at += n
		b = b[4+n:]
		offsets[i+1] = int32(out.Used + at)
	}
	d.plain = b
	out.Used += total
	return nil
}

func fits(out *batch.Column, more int) error {
	if out.Used+more > math.MaxInt32 || !out.Allowance.FitsText(int64(more)) {
		return errTooLarge
	}
	return nil
}

func (d *byteArrays) readFixed(out *batch.Column, offsets []int32) error {
	n := len(offsets) - 1
	if len(d.plain)/d.width < n {
		return errShort
	}
	if err := fits(out, n*d.width); err != nil {
		return err
	}
	copy(out.Room(n*d.width), d.plain)
	for i := range n {
		out.Used += d.width
		offsets[i+1] = int32(out.Used)
	}
	d.plain = d.plain[n*d.width:]
	return nil
}

func (d *byteArrays) readDict(out *batch.Column, offsets []int32) error {
	for len(offsets) > 1 {
		idx, err := d.index.next(len(offsets)-1, len(d.offsets)-1)
		if err != nil {
			return err
		}
		total := 0
		for _, i := range idx {
			total += int(d.offsets[i+1] - d.offsets[i])
		}
		if err := fits(out, total); err != nil {
			return err
		}
		dst, at := out.Room(total), 0
		for k, i := range idx {
			from, n := int(d.offsets[i]), int(d.offsets[i+1]-d.offsets[i])
			batch.CopyShort(dst, at, d.dict, from, n)
			at += n
			offsets[k+1] = int32(out.Used + at)
		}
		out.Used += total
		offsets = offsets[len(idx):]
	}
	return nil
}

func (d *byteArrays) readDelta(out *batch.Column, offsets []int32) error {
	n := len(offsets) - 1
	if len(d.lengths) < n {
		return errShort
	}
	for i := range n {
		suffix := d.plain[:d.lengths[i]]
		d.plain = d.plain[d.lengths[i]:]
		if d.prefix == nil {
			if err := fits(out, len(suffix)); err != nil {
				return err
			}
			out.Used += copy(out.Room(len(suffix)), suffix)
		} else {
			v, err := d.join(i, suffix)
			if err != nil {
				return err
			}
			if err := fits(out, len(v)); err != nil {
				return err
			}
			out.Used += copy(out.Room(len(v)), v)
		}
		offsets[i+1] = int32(out.Used)
	}
	d.advance(n)
	return nil
}

// join completes the i-th value of DELTA_BYTE_ARRAY.
func (d *byteArrays) join(i int, suffix []byte) ([]byte, error) {
	p := int(d.prefix[i])
	if p < 0 || p > len(d.last) {
		return nil, errLength
	}
	d.last = append(d.last[:p], suffix...)
	if d.width > 0 && len(d.last) != d.width {
		return nil, errLength
	}
	return d.last, nil
}

func (d *byteArrays) advance(n int) {
	d.lengths = d.lengths[n:]
	if d.prefix != nil {
		d.prefix = d.prefix[n:]
	}
}

func (d *byteArrays) skip(n int) error {
	if d.byDict {
		return d.index.skip(n, len(d.offsets)-1)
	}
	if d.enc == encDeltaLength || d.enc == encDeltaByteArray {
		if len(d.lengths) < n {
			return errShort
		}
		for i := range n {
			suffix := d.plain[:d.lengths[i]]
			d.plain = d.plain[d.lengths[i]:]
			if d.prefix != nil {
				if _, err := d.join(i, suffix); err != nil {
					return err
				}
			}
		}
		d.advance(n)
		return nil
	}
	for range n {
		_, rest, err := d.cut(d.plain)
		if err != nil {
			return err
		}
		d.plain = rest
	}
	return nil
}
