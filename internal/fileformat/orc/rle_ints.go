package orc

// intRuns decodes ORC's run lengths of integers, version 1 or 2.
type intRuns struct {
	in     *stream
	v2     bool
	signed bool

	vals []int64 // decoded and not yet taken, in buf
	buf  []int64
	raw  []byte // scratch for packed values
}

// maxRun is the most values of a run of version 2.
const maxRun = 512

func newIntRuns(in *stream, v2, signed bool) *intRuns {
	return &intRuns{in: in, v2: v2, signed: signed}
}

// read decodes len(dst) values.
func (r *intRuns) read(dst []int64) error {
	for len(dst) > 0 {
		if len(r.vals) > 0 {
			n := copy(dst, r.vals)
			dst, r.vals = dst[n:], r.vals[n:]
			continue
		}
		to := dst
		if len(dst) < maxRun {
			if r.buf == nil {
				r.buf = make([]int64, maxRun)
			}
			to = r.buf
		}
		n, err := r.run(to)
		if err != nil {
			return err
		}
		if len(dst) < maxRun {
			r.vals = to[:n]
		} else {
			dst = dst[n:]
		}
	}
	return nil
}

// run decodes one run into dst, which has room for maxRun values.
func (r *intRuns) run(dst []int64) (int, error) {
	if r.v2 {
		return r.runV2(dst)
	}
	return r.runV1(dst)
}

func (r *intRuns) varint() (int64, error) {
	x, err := r.in.uvarint()
	if r.signed {
		return zigzag(x), err
	}
	return int64(x), err
}

// runV1: a control byte of 0…127 stands for 3 to 130 values from a base on with
// a fixed step, one of −1…−128 for 1 to 128 values in full.
// Source: the ORC v1 specification, "Integer Run Length Encoding, version 1".
func (r *intRuns) runV1(dst []int64) (int, error) {
	c, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	if n := -int(int8(c)); n > 0 {
		for i := range dst[:n] {
			if dst[i], err = r.varint(); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	n := int(c) + 3
	step, err := r.in.byte()
	if err != nil {
		return 0, err
	}
	v, err := r.varint()
	if err != nil {
		return 0, err
	}
	for i := range dst[:n] {
		dst[i] = v
		v += int64(int8(step))
	}
	return n, nil
}
