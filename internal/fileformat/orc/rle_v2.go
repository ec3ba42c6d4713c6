package orc

// Source: the ORC v1 specification, "Integer Run Length Encoding, version 2".

// packedWidths are the bits a value may take, by their code of five bits.
var packedWidths = [32]uint{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64,
}

// closestWidth is the narrowest width of packedWidths with at least n bits.
func closestWidth(n uint) uint {
	for _, w := range packedWidths {
		if w >= n {
			return w
		}
	}
	return 64
}

func (r *intRuns) runV2(dst []int64) (int, error) {
	head, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	if head>>6 == 0 {
		return r.shortRepeat(dst, head)
	}
	more, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	code := head >> 1 & 31
	n := (int(head&1)<<8 | int(more)) + 1
	switch head >> 6 {
	case 1:
		return n, r.direct(dst[:n], packedWidths[code])
	case 2:
		return n, r.patched(dst[:n], packedWidths[code])
	}
	return n, r.delta(dst[:n], code)
}

func (r *intRuns) shortRepeat(dst []int64, head byte) (int, error) {
	n := int(head&7) + 3
	v, err := r.bigEndian(int(head>>3&7) + 1)
	if err != nil {
		return 0, err
	}
	x := int64(v)
	if r.signed {
		x = zigzag(v)
	}
	for i := range dst[:n] {
		dst[i] = x
	}
	return n, nil
}

func (r *intRuns) bigEndian(n int) (uint64, error) {
	var v uint64
	for range n {
		b, err := r.in.byte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

func (r *intRuns) direct(dst []int64, width uint) error {
	if err := r.packed(dst, width); err != nil {
		return err
	}
	if r.signed {
		for i, v := range dst {
			dst[i] = zigzag(uint64(v))
		}
	}
	return nil
}

// patched: values of few bits over a base, and patches of higher bits for some.
func (r *intRuns) patched(dst []int64, width uint) error {
	third, err := r.in.byte()
	if err != nil {
		return err
	}
	fourth, err := r.in.byte()
	if err != nil {
		return err
	}
	size := uint(third>>5) + 1 // bytes of the base
	patchWidth, gapWidth := packedWidths[third&31], uint(fourth>>5)+1
	raw, err := r.bigEndian(int(size))
	if err != nil {
		return err
	}
	base := int64(raw)
	if sign := uint64(1) << (8*size - 1); raw&sign != 0 {
		base = -int64(raw &^ sign)
	}
	if err := r.packed(dst, width); err != nil {
		return err
	}
	if patchWidth+gapWidth > 64 {
		return errRun
	}
	var patches [31]int64
	list := patches[:fourth&31]
	if err := r.packed(list, closestWidth(patchWidth+gapWidth)); err != nil {
		return err
	}
	at := 0
	for _, p := range list {
		gap := uint64(p) >> patchWidth
		patch := uint64(p) & (1<<patchWidth - 1)
		if gap >= 256 {
			return errRun
		}
		at += int(gap)
		if patch == 0 { // bridges a gap of more than 255 values
			continue
		}
		if at >= len(dst) || width >= 64 {
			return errRun
		}
		dst[at] |= int64(patch << width)
	}
	for i := range dst {
		dst[i] += base
	}
	return nil
}

// delta: a base, the first step, and further steps of its sign.
func (r *intRuns) delta(dst []int64, code byte) error {
	base, err := r.varint()
	if err != nil {
		return err
	}
	x, err := r.in.uvarint()
	if err != nil {
		return err
	}
	step := zigzag(x)
	dst[0] = base
	if len(dst) == 1 {
		return nil
	}
	dst[1] = base + step
	if code == 0 { // a fixed step
		for i := 2; i < len(dst); i++ {
			dst[i] = dst[i-1] + step
		}
		return nil
	}
	if err := r.packed(dst[2:], packedWidths[code]); err != nil {
		return err
	}
	for i := 2; i < len(dst); i++ {
		if step < 0 {
			dst[i] = dst[i-1] - dst[i]
		} else {
			dst[i] += dst[i-1]
		}
	}
	return nil
}

// packed reads len(dst) values of width bits each, the highest bit first. They
// end on a whole byte.
func (r *intRuns) packed(dst []int64, width uint) error {
	n := (len(dst)*int(width) + 7) / 8
	if r.raw == nil {
		r.raw = make([]byte, maxRun*8)
	}
	b, err := r.in.take(n, r.raw)
	if err != nil {
		return err
	}
	unpack(dst, b, width)
	return nil
}

// unpack reads values of width bits from b, which has enough of them.
func unpack(dst []int64, b []byte, width uint) {
	if width%8 == 0 {
		n := int(width / 8)
		for i := range dst {
			var v uint64
			for _, x := range b[i*n : i*n+n] {
				v = v<<8 | uint64(x)
			}
			dst[i] = int64(v)
		}
		return
	}
	// Widths beside whole bytes have at most 30 bits.
	var acc uint64
	var have uint
	mask := uint64(1)<<width - 1
	for i := range dst {
		for have < width {
			acc = acc<<8 | uint64(b[0])
			b, have = b[1:], have+8
		}
		have -= width
		dst[i] = int64(acc >> have & mask)
	}
}
