package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
)

// openPage is the page being filled.
type openPage struct {
	firstRow int64
	levels   int // values with nulls
	nulls    int
	raw      int // bytes of its values without a dictionary
	valid    []byte
	defs     []int16 // of nested columns, whose values valid says nothing about
	reps     []int16
	buf      []byte // front bytes left free for the levels, then values
	bits     int    // of buf, in BOOLEAN columns
	indices  []uint32
	bounds   bounds
}

// empty makes room for the next page.
func (p *openPage) empty() {
	batch.GiveBuffer(p.buf)
	*p = openPage{valid: p.valid[:0], defs: p.defs[:0], reps: p.reps[:0], indices: p.indices[:0]}
}

// front is how many bytes before a page's values are kept free for its levels.
const front = 4 << 10

// reserve makes room for n more bytes.
func (p *openPage) reserve(n int) {
	need := max(len(p.buf), front) + n
	if need <= cap(p.buf) {
		if len(p.buf) < front {
			p.buf = p.buf[:front]
		}
		return
	}
	buf := batch.TakeBuffer(max(need, 2*cap(p.buf)))
	k := copy(buf, p.buf)
	batch.GiveBuffer(p.buf)
	p.buf = buf[:max(k, front)]
}

func (p *openPage) append(values []byte) {
	p.reserve(len(values))
	p.buf = append(p.buf, values...)
}

// mark notes which of n more rows have a value.
func (p *openPage) mark(arr arrow.Array, from, n int, nulls bool) {
	size := (p.levels + n + 7) / 8
	for len(p.valid) < size {
		p.valid = append(p.valid, 0)
	}
	if nulls {
		copyBits(p.valid, p.levels, arr.NullBitmapBytes(), arr.Data().Offset()+from, n)
	} else {
		setBits(p.valid, p.levels, n)
	}
}

func (p *openPage) booleans(a *array.Boolean, v *leafValues) bounds {
	n := v.count()
	p.reserve((p.bits + n + 7) / 8)
	size := front + (p.bits+n+7)/8
	for len(p.buf) < size {
		p.buf = append(p.buf, 0)
	}
	ones := 0
	if v.idx == nil {
		ones = copyBits(p.buf[front:], p.bits, a.Data().Buffers()[1].Bytes(), a.Data().Offset()+v.from, n)
	} else {
		for k, i := range v.idx {
			if a.Value(int(i)) {
				setBits(p.buf[front:], p.bits+k, 1)
				ones++
			}
		}
	}
	p.bits += n
	p.raw += n
	b := bounds{known: true, lo: 1}
	if ones < n {
		b.lo = 0
	}
	if ones > 0 {
		b.hi = 1
	}
	return b
}

// withLevels is the content of the page: levels, then values.
func (p *openPage) withLevels(c *column) []byte {
	var room [64]byte
	levels := room[:0]
	if c.rep > 0 {
		levels = appendLevels(levels, p.reps, bits.Len(uint(c.rep)))
	}
	switch {
	case c.def == 0:
	case len(p.valid) == 0: // nested
		levels = appendLevels(levels, p.defs, bits.Len(uint(c.def)))
	default:
		at := len(levels)
		levels = append(levels, 0, 0, 0, 0)
		switch p.nulls {
		case 0:
			levels = appendRun(levels, p.levels, 1)
		case p.levels:
			levels = appendRun(levels, p.levels, 0)
		default:
			levels = appendBits(levels, p.valid, p.levels)
		}
		binary.LittleEndian.PutUint32(levels[at:], uint32(len(levels)-at-4))
	}
	if at := front - len(levels); at >= 0 {
		copy(p.buf[at:], levels)
		return p.buf[at:]
	}
	return append(levels, p.buf[front:]...)
}

// appendLevels appends levels after their length.
func appendLevels(dst []byte, levels []int16, width int) []byte {
	at := len(dst)
	dst = appendHybrid(append(dst, 0, 0, 0, 0), levels, width)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
