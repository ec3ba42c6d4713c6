package parquet

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// leafDecoder gives the decoder that turns a file's leaf into the Arrow layout
// of want, and the width of that layout's values (see batch.Column). Physical
// variants of one logical value are accepted; everything else is Unsupported.
func leafDecoder(n *fileNode, want types.Type) (dec decoder, width int, err error) {
	e := n.element
	switch e.typ {
	case physBoolean:
		if want.Root == types.Boolean {
			return &booleans{}, 0, nil
		}
	case physInt32:
		return int32Decoder(n, want)
	case physInt64:
		return int64Decoder(n, want)
	case physInt96:
		if want.Root == types.Timestamp || want.Root == types.TimestampLTZ {
			return &fixed[[12]byte, int64]{convert: int96Converter(n, want)}, 8, nil
		}
	case physFloat:
		switch want.Root {
		case types.Float:
			return &fixed[float32, float32]{}, 4, nil
		case types.Double:
			return &fixed[float32, float64]{convert: each(func(v float32) (float64, bool) { return float64(v), true }, n)}, 8, nil
		}
	case physDouble:
		if want.Root == types.Double {
			return &fixed[float64, float64]{}, 8, nil
		}
	case physByteArray, physFixed:
		length := 0
		if e.typ == physFixed {
			length = int(e.typeLength)
		}
		switch {
		case want.Root == types.Decimal && e.logical == logicalDecimal && int(e.scale) == want.Scale:
			d := &decimals{bytes: byteArrays{width: length}, precision: want.Precision, misfit: errDecimal}
			if int(e.precision) > want.Precision {
				d.misfit = tarnerr.New(tarnerr.Invalid, "reading Parquet column", "value does not fit the type asked for", "column", n.path, "type", want.String())
			}
			d.temp.Mem, d.temp.Width = tempAllocator, batch.WidthText
			return d, 16, nil
		case (want.IsString() || want.IsBytes()) && e.logical != logicalDecimal:
			return &byteArrays{width: length}, -1, nil
		}
	}
	return nil, 0, mismatch(n, want)
}

func mismatch(n *fileNode, want types.Type) error {
	return tarnerr.New(tarnerr.Unsupported, "reading Parquet column", "file's type cannot be read as the type asked for",
		"column", n.path, "file", n.valueType().String(), "physical", n.element.typ, "want", want.String())
}

// each lifts a conversion of one value; ok false is a value that want cannot hold.
func each[P word, T any](conv func(P) (T, bool), n *fileNode) func([]T, []P) error {
	return func(dst []T, src []P) error {
		for i, v := range src {
			t, ok := conv(v)
			if !ok {
				return tarnerr.New(tarnerr.Invalid, "reading Parquet column", "value does not fit the type asked for",
					"column", n.path, "value", v)
			}
			dst[i] = t
		}
		return nil
	}
}

// integer narrows or widens; unsigned says how to read the physical value.
func integer[P int32 | int64, T int8 | int16 | int32 | int64](unsigned bool, n *fileNode) func([]T, []P) error {
	return each(func(v P) (T, bool) {
		x := int64(v)
		if unsigned {
			if _, narrow := any(v).(int32); narrow {
				x = int64(uint32(v))
			} else if x < 0 {
				return 0, false
			}
		}
		t := T(x)
		return t, int64(t) == x
	}, n)
}

func int32Decoder(n *fileNode, want types.Type) (decoder, int, error) {
	e := n.element
	unsigned := e.logical == logicalInteger && !e.signed
	switch e.logical {
	case logicalNone, logicalInteger:
		switch want.Root {
		case types.TinyInt:
			return &fixed[int32, int8]{convert: integer[int32, int8](unsigned, n)}, 1, nil
		case types.SmallInt:
			return &fixed[int32, int16]{convert: integer[int32, int16](unsigned, n)}, 2, nil
		case types.Int:
			if !unsigned {
				return &fixed[int32, int32]{}, 4, nil
			}
			return &fixed[int32, int32]{convert: integer[int32, int32](unsigned, n)}, 4, nil
		case types.BigInt:
			return &fixed[int32, int64]{convert: integer[int32, int64](unsigned, n)}, 8, nil
		}
		if e.logical == logicalNone && (want.Root == types.Date || want.Root == types.Time) {
			return &fixed[int32, int32]{}, 4, nil
		}
	case logicalDate:
		if want.Root == types.Date {
			return &fixed[int32, int32]{}, 4, nil
		}
	case logicalTime:
		if want.Root == types.Time && e.unit == millis {
			return &fixed[int32, int32]{}, 4, nil
		}
	case logicalDecimal:
		if want.Root == types.Decimal && int(e.scale) == want.Scale {
			return &fixed[int32, decimal128.Num]{convert: decimalConverter[int32](n, want)}, 16, nil
		}
	}
	return nil, 0, mismatch(n, want)
}

func int64Decoder(n *fileNode, want types.Type) (decoder, int, error) {
	e := n.element
	unsigned := e.logical == logicalInteger && !e.signed
	stamp := want.Root == types.Timestamp || want.Root == types.TimestampLTZ
	switch e.logical {
	case logicalNone, logicalInteger:
		switch want.Root {
		case types.TinyInt:
			return &fixed[int64, int8]{convert: integer[int64, int8](unsigned, n)}, 1, nil
		case types.SmallInt:
			return &fixed[int64, int16]{convert: integer[int64, int16](unsigned, n)}, 2, nil
		case types.Int:
			return &fixed[int64, int32]{convert: integer[int64, int32](unsigned, n)}, 4, nil
		case types.BigInt:
			if !unsigned {
				return &fixed[int64, int64]{}, 8, nil
			}
			return &fixed[int64, int64]{convert: integer[int64, int64](unsigned, n)}, 8, nil
		case types.Decimal:
			if unsigned && want.Scale == 0 {
				return &fixed[int64, decimal128.Num]{convert: each(func(v int64) (decimal128.Num, bool) {
					d := decimal128.FromU64(uint64(v))
					return d, d.FitsInPrecision(int32(want.Precision))
				}, n)}, 16, nil
			}
		}
		if e.logical == logicalNone && stamp { // no annotation: the unit is the one the type would have
			return &fixed[int64, int64]{}, 8, nil
		}
	case logicalStamp:
		if stamp {
			return &fixed[int64, int64]{convert: stampConverter(n, want)}, 8, nil
		}
	case logicalTime:
		if want.Root == types.Time && e.unit >= millis && e.unit <= nanos {
			per := unitsPer(millis, e.unit)
			return &fixed[int64, int32]{convert: each(func(v int64) (int32, bool) {
				v, _ = floorDiv(v, per)
				return int32(v), v >= 0 && v < 86_400_000
			}, n)}, 4, nil
		}
	case logicalDecimal:
		if want.Root == types.Decimal && int(e.scale) == want.Scale {
			return &fixed[int64, decimal128.Num]{convert: decimalConverter[int64](n, want)}, 16, nil
		}
	}
	return nil, 0, mismatch(n, want)
}

func decimalConverter[P int32 | int64](n *fileNode, want types.Type) func([]decimal128.Num, []P) error {
	if int(n.element.precision) <= want.Precision && n.element.precision > 0 {
		return func(dst []decimal128.Num, src []P) error {
			// A decimal128.Num is two words, the lower one first.
			halves := valuesOf[int64](bytesOf(dst))
			for i, v := range src {
				at := halves[2*i : 2*i+2 : 2*i+2]
				at[0], at[1] = int64(v), int64(v)>>63
			}
			return nil
		}
	}
	return each(func(v P) (decimal128.Num, bool) {
		d := decimal128.FromI64(int64(v))
		return d, d.FitsInPrecision(int32(want.Precision))
	}, n)
}

// unitsPer is how many units of the finer kind one of the coarser has.
func unitsPer(coarse, fine timeUnit) int64 {
	per := int64(1)
	for ; coarse < fine; coarse++ {
		per *= 1000
	}
	return per
}

func unitOf(precision int) timeUnit {
	switch {
	case precision <= 3:
		return millis
	case precision <= 6:
		return micros
	}
	return nanos
}

// stampConverter takes timestamps from the file's unit to that of want: finer
// digits than want has are cut (towards the past), values out of range refused.
func stampConverter(n *fileNode, want types.Type) func([]int64, []int64) error {
	from, to := n.element.unit, unitOf(want.Precision)
	if from < millis || from > nanos {
		from = to
	}
	switch {
	case from == to:
		return nil
	case from > to:
		per := unitsPer(to, from)
		return each(func(v int64) (int64, bool) {
			q, _ := floorDiv(v, per)
			return q, true
		}, n)
	}
	per := unitsPer(from, to)
	return each(func(v int64) (int64, bool) { return v * per, v <= math.MaxInt64/per && v >= math.MinInt64/per }, n)
}

// int96Converter reads Java's form and those of others: any time of the day,
// negative or beyond 24 hours, is added to the day.
func int96Converter(n *fileNode, want types.Type) func([]int64, [][12]byte) error {
	unit := unitOf(want.Precision)
	perDay := 86_400_000 * unitsPer(millis, unit)
	perUnit := unitsPer(unit, nanos)
	return each(func(v [12]byte) (int64, bool) {
		day := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julianEpoch
		rest, _ := floorDiv(int64(binary.LittleEndian.Uint64(v[:])), perUnit)
		// Whole days of the rest first, so that the product below only overflows
		// when the instant itself does.
		more, within := floorDiv(rest, perDay)
		if day += more; day > math.MaxInt64/perDay || day < math.MinInt64/perDay-1 {
			return 0, false
		}
		if day < 0 { // count from the next midnight down: the first day in range is only partly so
			day, within = day+1, within-perDay
		}
		base := day * perDay
		sum := base + within
		return sum, (within < 0) == (sum < base)
	}, n)
}

// tempAllocator serves scratch space that lives as long as a decoder and is
// left to the garbage collector.
var tempAllocator = memory.NewGoAllocator()
