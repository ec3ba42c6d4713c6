package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/tarnerr"
)

// addValues encodes values, of which there are some, into the open page.
func (w *chunkWriter) addValues(v *leafValues) error {
	if a, ok := v.arr.(*array.Decimal128); ok {
		if err := checkDigits(w.column, a, v); err != nil {
			return err
		}
	}
	p := &w.page
	var b bounds
	switch w.phys {
	case physBoolean:
		a, ok := v.arr.(*array.Boolean)
		if !ok {
			return w.wrongType(v)
		}
		b = p.booleans(a, v)
	case physInt32:
		values, ok := w.scratch.int32s(v)
		if !ok {
			return w.wrongType(v)
		}
		lo, hi := integerBounds(values)
		b = bounds{known: true, lo: int64(lo), hi: int64(hi)}
		w.add4(bytesOf(values))
	case physInt64:
		values, ok := w.scratch.int64s(v)
		if !ok {
			return w.wrongType(v)
		}
		lo, hi := integerBounds(values)
		b = bounds{known: true, lo: lo, hi: hi}
		w.add8(bytesOf(values))
	case physFloat:
		a, ok := v.arr.(*array.Float32)
		if !ok {
			return w.wrongType(v)
		}
		values := pick(&w.scratch.f32, a.Float32Values(), v)
		b = floatBounds(values)
		w.add4(bytesOf(values))
	case physDouble:
		a, ok := v.arr.(*array.Float64)
		if !ok {
			return w.wrongType(v)
		}
		values := pick(&w.scratch.f64, a.Float64Values(), v)
		b = floatBounds(values)
		w.add8(bytesOf(values))
	case physByteArray:
		offsets, data, ok := textView(v.arr)
		if !ok {
			return w.wrongType(v)
		}
		b = w.addTexts(offsets, data, v)
	default:
		values, ok := w.scratch.fixed(v, w.width)
		if !ok {
			return w.wrongType(v)
		}
		if a, ok := v.arr.(*array.Decimal128); ok {
			b = decimalBounds(a, v)
		}
		w.addFixed(values)
	}
	p.bounds.widen(w.phys, &b)
	return nil
}

func (w *chunkWriter) wrongType(v *leafValues) error {
	return tarnerr.New(tarnerr.Invalid, "writing Parquet file", "array does not have the column's type",
		"column", w.dotted(), "type", w.typ.String(), "array", v.arr.DataType())
}

// add4 takes values of four bytes each.
func (w *chunkWriter) add4(values []byte) {
	if w.page.raw += len(values); w.dict != nil {
		w.page.indices = w.small.indices(w.page.indices, valuesOf[uint32](values))
		return
	}
	w.page.append(values)
}

// add8 takes values of eight bytes each.
func (w *chunkWriter) add8(values []byte) {
	if w.page.raw += len(values); w.dict != nil {
		w.page.indices = w.large.indices(w.page.indices, valuesOf[uint64](values))
		return
	}
	w.page.append(values)
}

func (w *chunkWriter) addFixed(values []byte) {
	p := &w.page
	if p.raw += len(values); w.dict == nil {
		p.append(values)
		return
	}
	for ; len(values) > 0; values = values[w.width:] {
		p.indices = append(p.indices, w.texts.index(values[:w.width]))
	}
}

// addTexts takes byte strings. The bounds it gives are the column's own.
func (w *chunkWriter) addTexts(offsets []int32, data []byte, v *leafValues) bounds {
	p := &w.page
	var t textBounds
	size := 0
	if v.idx == nil {
		size = int(offsets[v.to] - offsets[v.from])
	} else {
		for _, i := range v.idx {
			size += int(offsets[i+1] - offsets[i])
		}
	}
	size += 4 * v.count()
	p.raw += size
	switch {
	case w.dict != nil && v.idx == nil:
		for i := v.from; i < v.to; i++ {
			x := data[offsets[i]:offsets[i+1]]
			t.add(x)
			p.indices = append(p.indices, w.texts.index(x))
		}
	case w.dict != nil:
		for _, i := range v.idx {
			x := data[offsets[i]:offsets[i+1]]
			t.add(x)
			p.indices = append(p.indices, w.texts.index(x))
		}
	default:
		p.reserve(size)
		out := p.buf
		v.each(func(i int) {
			x := data[offsets[i]:offsets[i+1]]
			t.add(x)
			out = binary.LittleEndian.AppendUint32(out, uint32(len(x)))
			out = append(out, x...)
		})
		p.buf = out
	}
	return bounds{known: true, textLo: append([]byte{}, t.lo...), textHi: append([]byte{}, t.hi...)}
}
