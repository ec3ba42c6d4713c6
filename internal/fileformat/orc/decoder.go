package orc

import (
	"math"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// decoder turns the streams of a leaf into the Arrow layout asked for.
type decoder interface {
	// start begins a stripe, or a run of its row groups.
	start(s *stripe, n *fileNode) error
	// read appends k values from slot c.N on, for which c has room.
	read(c *batch.Column, k int) error
}

// scratchValues is how many values are converted at a time.
const scratchValues = 1024

// leafDecoder gives the decoder that turns a file's leaf into the Arrow layout
// of want, and the width of that layout's values (see batch.Column). Physical
// variants of one logical value are accepted; everything else is Unsupported.
func leafDecoder(n *fileNode, want types.Type) (dec decoder, width int, err error) {
	switch n.kind {
	case kindBoolean:
		if want.Root == types.Boolean {
			return &booleans{}, 0, nil
		}
	case kindByte, kindShort, kindInt, kindLong:
		switch want.Root {
		case types.TinyInt:
			return &integers[int8]{want: want}, 1, nil
		case types.SmallInt:
			return &integers[int16]{want: want}, 2, nil
		case types.Int:
			return &integers[int32]{want: want}, 4, nil
		case types.BigInt:
			return &integers[int64]{want: want}, 8, nil
		case types.Date, types.Time:
			if n.kind == kindInt {
				return &integers[int32]{want: want}, 4, nil
			}
		}
	case kindDate:
		if want.Root == types.Date {
			return &integers[int32]{want: want}, 4, nil
		}
	case kindFloat:
		switch want.Root {
		case types.Float:
			return &floats{width: 4}, 4, nil
		case types.Double:
			return &widened{}, 8, nil
		}
	case kindDouble:
		if want.Root == types.Double {
			return &floats{width: 8}, 8, nil
		}
	case kindString, kindVarchar, kindChar, kindBinary:
		if want.IsString() || want.IsBytes() {
			return &texts{}, -1, nil
		}
	case kindTimestamp, kindInstant:
		if want.Root == types.Timestamp || want.Root == types.TimestampLTZ {
			return &stamps{want: want}, 8, nil
		}
	case kindDecimal:
		if _, scale := n.decimal(); want.Root == types.Decimal && scale == want.Scale {
			return &decimals{want: want}, 16, nil
		}
	}
	return nil, 0, mismatch(n, want)
}

func mismatch(n *fileNode, want types.Type) error {
	return tarnerr.New(tarnerr.Unsupported, "reading ORC column", "file's type cannot be read as the type asked for",
		"column", n.path, "file", n.kind, "want", want.String())
}

func misfit(n *fileNode, want types.Type, v any) error {
	return tarnerr.New(tarnerr.Invalid, "reading ORC column", "value does not fit the type asked for",
		"column", n.path, "type", want.String(), "value", v)
}

type booleans struct{ runs *bitRuns }

func (d *booleans) start(s *stripe, n *fileNode) (err error) {
	d.runs, err = s.bits(n.column, streamData)
	return err
}

func (d *booleans) read(c *batch.Column, k int) error {
	if d.runs == nil {
		if k > 0 {
			return errEnd
		}
		return nil
	}
	_, err := d.runs.read(c.Data.Bytes(), c.N, k)
	return err
}

// integers reads TINYINT … BIGINT, DATE and TIME.
type integers[T int8 | int16 | int32 | int64] struct {
	node  *fileNode
	want  types.Type
	bytes *byteRuns // of TINYINT, nil else
	runs  *intRuns
	vals  []int64
	raw   []byte
}

func (d *integers[T]) start(s *stripe, n *fileNode) (err error) {
	d.node = n
	if n.kind == kindByte {
		runs, err := s.bytes(n.column, streamData)
		d.bytes = &runs
		return err
	}
	d.runs, err = s.ints(n.column, streamData, true)
	return err
}

func (d *integers[T]) read(c *batch.Column, k int) error {
	dst := valuesOf[T](c.Data.Bytes())[c.N : c.N+k]
	if d.bytes != nil {
		return d.readBytes(dst)
	}
	if full, ok := any(dst).([]int64); ok {
		return d.runs.read(full)
	}
	d.vals = sizedOf(d.vals, min(k, scratchValues))
	for len(dst) > 0 {
		vals := d.vals[:min(len(dst), len(d.vals))]
		if err := d.runs.read(vals); err != nil {
			return err
		}
		for i, v := range vals {
			if dst[i] = T(v); int64(dst[i]) != v {
				return misfit(d.node, d.want, v)
			}
		}
		dst = dst[len(vals):]
	}
	return nil
}

func (d *integers[T]) readBytes(dst []T) error {
	d.raw = sized(d.raw, min(len(dst), scratchValues))
	for len(dst) > 0 {
		raw := d.raw[:min(len(dst), len(d.raw))]
		if err := d.bytes.read(raw); err != nil {
			return err
		}
		for i, b := range raw {
			dst[i] = T(int8(b))
		}
		dst = dst[len(raw):]
	}
	return nil
}

// floats reads FLOAT and DOUBLE: little-endian, as Arrow has them.
type floats struct {
	width int
	in    *stream
}

func (d *floats) start(s *stripe, n *fileNode) (err error) {
	d.in, err = s.raw(n.column, streamData)
	return err
}

func (d *floats) read(c *batch.Column, k int) error {
	return d.in.read(c.Data.Bytes()[c.N*d.width : (c.N+k)*d.width])
}

// widened reads FLOAT as DOUBLE.
type widened struct {
	in   *stream
	vals []uint32
}

func (d *widened) start(s *stripe, n *fileNode) (err error) {
	d.in, err = s.raw(n.column, streamData)
	return err
}

func (d *widened) read(c *batch.Column, k int) error {
	dst := valuesOf[float64](c.Data.Bytes())[c.N : c.N+k]
	d.vals = sizedOf(d.vals, min(k, scratchValues))
	for len(dst) > 0 {
		vals := d.vals[:min(len(dst), len(d.vals))]
		if err := d.in.read(bytesOf(vals)); err != nil {
			return err
		}
		for i, v := range vals {
			dst[i] = float64(math.Float32frombits(v))
		}
		dst = dst[len(vals):]
	}
	return nil
}

// sizedOf gives n values, those of buf when it has as many.
func sizedOf[T any](buf []T, n int) []T {
	if n <= cap(buf) {
		return buf[:n]
	}
	return make([]T, n)
}
