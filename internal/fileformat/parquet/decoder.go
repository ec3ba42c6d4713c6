package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/batch"
)

// decoder turns the values of one leaf column, page by page, into Arrow.
type decoder interface {
	// dictionary takes the n values of a dictionary page.
	dictionary(data []byte, n int) error
	// forget drops the dictionary: another row group begins.
	forget()
	// page starts a data page that holds at most n values that are not null.
	page(enc encoding, data []byte, n int) error
	// read appends n values to out, densely behind its slots.
	read(out *batch.Column, n int) error
	// skip passes over n values.
	skip(n int) error
}

const (
	errShort      = pageError("page ends before its values")
	errDict       = pageError("dictionary index out of range")
	errNoDict     = pageError("page refers to a dictionary there is none of")
	errLength     = pageError("length of a value out of range")
	errEncoding   = pageError("encoding does not fit the column")
	errDictLength = pageError("dictionary is shorter than its header says")
	errTooLarge   = pageError("strings of one batch exceed 2 GiB")
	errMemory     = pageError("row takes too much memory")
	errBomb       = pageError("page decompresses to more than a thousand times its size")
)

// indices decode dictionary indices in strides.
type indices struct {
	hybrid
	buf []uint32
}

const stride = 1024

func (x *indices) begin(data []byte) error {
	if len(data) == 0 {
		x.hybrid = newHybrid(nil, 0)
		return nil
	}
	if data[0] > 32 {
		return errDict
	}
	x.hybrid = newHybrid(data[1:], int(data[0]))
	return nil
}

// next gives up to stride indices, all below size.
func (x *indices) next(n, size int) ([]uint32, error) {
	if x.buf == nil {
		x.buf = make([]uint32, stride)
	}
	out := x.buf[:min(n, stride)]
	if !x.uints(out) {
		return nil, errShort
	}
	var top uint32
	for _, i := range out {
		top = max(top, i)
	}
	if uint64(top) >= uint64(size) {
		return nil, errDict
	}
	return out, nil
}

func (x *indices) skip(n, size int) error {
	for n > 0 {
		out, err := x.next(n, size)
		if err != nil {
			return err
		}
		n -= len(out)
	}
	return nil
}

// word is a fixed-width physical type.
type word interface {
	int32 | int64 | float32 | float64 | [12]byte
}

// fixed decodes physical values P into Arrow values T.
type fixed[P word, T any] struct {
	convert func(dst []T, src []P) error // nil: T is P's bit pattern

	dict    []T
	hasDict bool // a dictionary may be there and empty
	index   indices
	byDict  bool
	plain   []byte // PLAIN: values not read yet
	values  []P    // other encodings: values not read yet
	buf     []P    // of values, kept for the next page
	temp    []P
}

func (d *fixed[P, T]) dictionary(data []byte, n int) error {
	var zero P
	size := len(bytesOf([]P{zero}))
	if len(data)/size < n {
		return errDictLength
	}
	d.dict, d.hasDict = grow(d.dict, n), true
	d.plain = data
	d.byDict, d.values = false, nil
	return d.take(d.dict)
}

func (d *fixed[P, T]) forget() { d.hasDict = false }

func (d *fixed[P, T]) page(enc encoding, data []byte, n int) error {
	d.plain, d.values, d.byDict = nil, nil, false
	switch enc {
	case encPlain:
		d.plain = data
	case encPlainDict, encRLEDict:
		if !d.hasDict {
			return errNoDict
		}
		d.byDict = true
		return d.index.begin(data)
	case encDeltaBinary:
		ok := false
		switch buf := any(&d.buf).(type) {
		case *[]int32:
			*buf, _, ok = deltaBinary(*buf, data, n)
		case *[]int64:
			*buf, _, ok = deltaBinary(*buf, data, n)
		default:
			return errEncoding
		}
		if !ok {
			return errShort
		}
		d.values = d.buf
	case encByteStreamSplit:
		var zero P
		size := len(bytesOf([]P{zero}))
		if len(data)%size != 0 {
			return errShort
		}
		d.buf = grow(d.buf, len(data)/size)
		unsplit(bytesOf(d.buf), data, size)
		d.values = d.buf
	default:
		return errEncoding
	}
	return nil
}

func (d *fixed[P, T]) read(out *batch.Column, n int) error {
	out.Reserve(out.N + n)
	dst := valuesOf[T](out.Data.Bytes())[out.N : out.N+n]
	if !d.byDict {
		return d.take(dst)
	}
	for len(dst) > 0 {
		idx, err := d.index.next(len(dst), len(d.dict))
		if err != nil {
			return err
		}
		for k, i := range idx {
			dst[k] = d.dict[i]
		}
		dst = dst[len(idx):]
	}
	return nil
}

// take moves the next len(dst) values to dst.
func (d *fixed[P, T]) take(dst []T) error {
	if d.convert == nil {
		raw := bytesOf(dst)
		if d.values != nil {
			if len(d.values) < len(dst) {
				return errShort
			}
			copy(raw, bytesOf(d.values[:len(dst)]))
			d.values = d.values[len(dst):]
			return nil
		}
		if len(d.plain) < len(raw) {
			return errShort
		}
		copy(raw, d.plain)
		d.plain = d.plain[len(raw):]
		return nil
	}
	for len(dst) > 0 {
		k := min(len(dst), stride)
		src := d.values
		if src == nil {
			d.temp = grow(d.temp, k)
			raw := bytesOf(d.temp)
			if len(d.plain) < len(raw) {
				return errShort
			}
			copy(raw, d.plain)
			d.plain, src = d.plain[len(raw):], d.temp
		} else if len(src) < k {
			return errShort
		} else {
			d.values = src[k:]
		}
		if err := d.convert(dst[:k], src[:k]); err != nil {
			return err
		}
		dst = dst[k:]
	}
	return nil
}

func (d *fixed[P, T]) skip(n int) error {
	if d.byDict {
		return d.index.skip(n, len(d.dict))
	}
	if d.values != nil {
		if len(d.values) < n {
			return errShort
		}
		d.values = d.values[n:]
		return nil
	}
	var zero P
	size := n * len(bytesOf([]P{zero}))
	if len(d.plain) < size {
		return errShort
	}
	d.plain = d.plain[size:]
	return nil
}

// booleans decodes PLAIN and RLE booleans.
type booleans struct {
	plain []byte
	at    int // bit in plain
	rle   hybrid
	isRLE bool
}

func (d *booleans) dictionary([]byte, int) error { return errEncoding }

func (d *booleans) forget() {}

func (d *booleans) page(enc encoding, data []byte, n int) error {
	d.plain, d.at, d.isRLE = data, 0, false
	switch enc {
	case encPlain:
		return nil
	case encRLE:
		if len(data) == 0 && n == 0 {
			return nil
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return errShort
		}
		d.rle, d.isRLE = newHybrid(data[4:4+binary.LittleEndian.Uint32(data)], 1), true
		return nil
	}
	return errEncoding
}

func (d *booleans) read(out *batch.Column, n int) error {
	out.Reserve(out.N + n)
	dst := out.Data.Bytes()
	// Values spread earlier may have left bits behind the slots.
	for i := out.N; i < out.N+n; i++ {
		dst[i>>3] &^= 1 << (i & 7)
	}
	if d.isRLE {
		if _, ok := d.rle.bits(dst, out.N, n); !ok {
			return errShort
		}
		return nil
	}
	if d.at+n > len(d.plain)*8 {
		return errShort
	}
	copyBits(dst, out.N, d.plain, d.at, n)
	d.at += n
	return nil
}

func (d *booleans) skip(n int) error {
	if d.isRLE {
		if _, ok := d.rle.bits(make([]byte, n/8+1), 0, n); !ok {
			return errShort
		}
		return nil
	}
	if d.at += n; d.at > len(d.plain)*8 {
		return errShort
	}
	return nil
}

// decimals decodes DECIMAL kept as bytes, of fixed or varying length.
type decimals struct {
	bytes     byteArrays // of the same column
	precision int        // of the type wanted
	misfit    error      // of a value with more digits
	temp      batch.Column
	dict      []decimal128.Num
	hasDict   bool
	index     indices
	byDic     bool
}

func (d *decimals) dictionary(data []byte, n int) error {
	if err := d.bytes.dictionary(data, n); err != nil {
		return err
	}
	d.dict, d.hasDict = grow(d.dict, n), true
	for i := range n {
		v, ok := d.value(d.bytes.dict[d.bytes.offsets[i]:d.bytes.offsets[i+1]])
		if !ok {
			return d.misfit
		}
		d.dict[i] = v
	}
	return nil
}

const errDecimal = pageError("decimal of more digits than its type has")

func (d *decimals) forget() {
	d.hasDict = false
	d.bytes.forget()
}

func (d *decimals) page(enc encoding, data []byte, n int) error {
	d.byDic = enc == encPlainDict || enc == encRLEDict
	if d.byDic {
		if !d.hasDict {
			return errNoDict
		}
		return d.index.begin(data)
	}
	return d.bytes.page(enc, data, n)
}

func (d *decimals) read(out *batch.Column, n int) error {
	out.Reserve(out.N + n)
	dst := valuesOf[decimal128.Num](out.Data.Bytes())[out.N : out.N+n]
	for len(dst) > 0 {
		if d.byDic {
			idx, err := d.index.next(len(dst), len(d.dict))
			if err != nil {
				return err
			}
			for k, i := range idx {
				dst[k] = d.dict[i]
			}
			dst = dst[len(idx):]
			continue
		}
		k := min(len(dst), stride)
		d.temp.N, d.temp.Used = 0, 0
		if err := d.bytes.read(&d.temp, k); err != nil {
			return err
		}
		offsets, data := valuesOf[int32](d.temp.Offsets.Bytes()), d.temp.Data
		for i := range k {
			var b []byte
			if data != nil {
				b = data.Bytes()[offsets[i]:offsets[i+1]]
			}
			v, ok := d.value(b)
			if !ok {
				return d.misfit
			}
			dst[i] = v
		}
		dst = dst[k:]
	}
	return nil
}

func (d *decimals) skip(n int) error {
	if d.byDic {
		return d.index.skip(n, len(d.dict))
	}
	return d.bytes.skip(n)
}

func (d *decimals) value(b []byte) (decimal128.Num, bool) {
	v, ok := decimalOf(b)
	return v, ok && v.FitsInPrecision(int32(d.precision))
}

// decimalOf reads a big-endian two's complement number.
func decimalOf(b []byte) (decimal128.Num, bool) {
	for len(b) > 16 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:] // sign extension beyond 16 bytes says nothing
	}
	if len(b) > 16 {
		return decimal128.Num{}, false
	}
	var full [16]byte
	if len(b) > 0 && b[0] >= 0x80 {
		for i := range 16 - len(b) {
			full[i] = 0xff
		}
	}
	copy(full[16-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(full[:])), binary.BigEndian.Uint64(full[8:])), true
}

// widthOf is the bits a level up to top needs.
func widthOf(top uint8) int { return bits.Len8(top) }
