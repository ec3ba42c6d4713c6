package orc

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// decimals reads DECIMAL: unscaled values of any length in one stream, the
// scale of each in another. Writers drop zeros at the end.
type decimals struct {
	want   types.Type
	node   *fileNode
	in     *stream
	scales *intRuns
	vals   []int64
}

func (d *decimals) start(s *stripe, n *fileNode) (err error) {
	d.node = n
	if d.in, err = s.raw(n.column, streamData); err != nil {
		return err
	}
	d.scales, err = s.ints(n.column, streamSecondary, true)
	return err
}

func (d *decimals) read(c *batch.Column, k int) error {
	dst := valuesOf[decimal128.Num](c.Data.Bytes())[c.N : c.N+k]
	d.vals = sizedOf(d.vals, min(k, scratchValues))
	for len(dst) > 0 {
		scales := d.vals[:min(len(dst), len(d.vals))]
		if err := d.scales.read(scales); err != nil {
			return err
		}
		for i, scale := range scales {
			v, err := d.in.wideVarint()
			if err != nil {
				return err
			}
			var ok bool
			if dst[i], ok = d.rescale(v, scale); !ok {
				return misfit(d.node, d.want, v.ToString(int32(max(min(scale, 38), -38))))
			}
		}
		dst = dst[len(scales):]
	}
	return nil
}

// rescale gives a value the scale of the type. Digits the type does not have
// are rounded half up, as Java does.
func (d *decimals) rescale(v decimal128.Num, scale int64) (decimal128.Num, bool) {
	precision := int32(d.want.Precision)
	switch more := int64(d.want.Scale) - scale; {
	case more == 0:
	case v == decimal128.Num{}:
		return v, true
	case more > 38 || more < -38:
		return v, false
	case more > 0:
		if int64(precision) <= more || !v.FitsInPrecision(precision-int32(more)) {
			return v, false
		}
		v = v.IncreaseScaleBy(int32(more))
	default:
		v = v.ReduceScaleBy(int32(-more), true)
	}
	return v, v.FitsInPrecision(precision)
}

// wideVarint reads a signed base-128 number of up to 128 bits.
func (s *stream) wideVarint() (decimal128.Num, error) {
	if s != nil && len(s.cur) > 0 {
		if x, n := binary.Uvarint(s.cur); n > 0 {
			s.cur = s.cur[n:]
			return decimal128.FromI64(zigzag(x)), nil
		}
	}
	var lo, hi uint64
	for shift := uint(0); shift < 128; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return decimal128.Num{}, err
		}
		v := uint64(b & 0x7f)
		if shift < 64 {
			lo |= v << shift
			if shift > 57 {
				hi |= v >> (64 - shift)
			}
		} else {
			if v<<(shift-64)>>(shift-64) != v {
				return decimal128.Num{}, errRun
			}
			hi |= v << (shift - 64)
		}
		if b < 0x80 {
			return unzigzag(lo, hi), nil
		}
	}
	return decimal128.Num{}, errRun
}

func unzigzag(lo, hi uint64) decimal128.Num {
	sign := -(lo & 1)
	lo, hi = lo>>1|hi<<63, hi>>1
	return decimal128.New(int64(hi^sign), lo^sign)
}
