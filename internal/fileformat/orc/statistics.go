package orc

import (
	"context"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// stripeStats are the statistics of one stripe, by column.
type stripeStats []columnStats

// columnStats are statistics of a column; what is not known is not set.
type columnStats struct {
	values     int64 // that are not null; −1 = unknown
	ints       bounds[int64]
	dates      bounds[int64]
	utcMillis  bounds[int64] // of timestamps: the wall clock
	doubles    bounds[float64]
	texts      bounds[string] // lower bound and upper bound, or minimum and maximum
	decimals   bounds[string]
	trues      int64
	hasBuckets bool
}

type bounds[T any] struct {
	min, max       T
	hasMin, hasMax bool
}

func (b *bounds[T]) setMin(v T) { b.min, b.hasMin = v, true }
func (b *bounds[T]) setMax(v T) { b.max, b.hasMax = v, true }

// stripeStatistics are those of every stripe, nil when the file has none.
func (f *File) stripeStatistics(ctx context.Context) ([]stripeStats, error) {
	if p := f.stats.Load(); p != nil {
		return *p, nil
	}
	var out []stripeStats
	if n := f.post.metadataLength; n > 0 {
		end := f.Size - 1 - int64(f.tail.data[len(f.tail.data)-1])
		raw, err := f.bytes(ctx, span{end - f.post.footerLength - n, n})
		if err != nil {
			return nil, err
		}
		plain, err := f.plain(raw)
		if err != nil {
			return nil, f.Corrupt("stripe statistics cannot be decompressed")
		}
		var ok bool
		if out, ok = decodeMetadata(plain); !ok {
			return nil, f.Corrupt("stripe statistics cannot be decoded")
		}
	}
	f.stats.Store(&out)
	return out, nil
}

func decodeMetadata(b []byte) ([]stripeStats, bool) {
	var out []stripeStats
	total := 0
	ok := fields(b, func(id protowire.Number, v value) bool {
		if id != 1 {
			return true
		}
		return v.message(func(b []byte) bool {
			var s stripeStats
			ok := fields(b, func(id protowire.Number, v value) bool {
				if id != 1 {
					return true
				}
				return v.message(func(b []byte) bool {
					c, ok := decodeColumnStats(b)
					s = append(s, c)
					total++
					return ok && total <= maxStats
				})
			})
			out = append(out, s)
			return ok && len(out) <= maxStripes
		})
	})
	return out, ok
}

func decodeColumnStats(b []byte) (columnStats, bool) {
	c := columnStats{values: -1}
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 1:
			return v.int64(&c.values)
		case 2:
			return v.message(decodeZigzag(&c.ints, 1, 2))
		case 3:
			return v.message(func(b []byte) bool {
				return fields(b, func(id protowire.Number, v value) bool {
					switch {
					case id == 1 && v.typ == protowire.Fixed64Type:
						c.doubles.setMin(math.Float64frombits(v.num))
					case id == 2 && v.typ == protowire.Fixed64Type:
						c.doubles.setMax(math.Float64frombits(v.num))
					}
					return true
				})
			})
		case 4:
			return v.message(c.decodeTexts)
		case 5:
			return v.message(func(b []byte) bool {
				return fields(b, func(id protowire.Number, v value) bool {
					if id != 1 {
						return true
					}
					counts, ok := v.numbers(nil)
					if len(counts) > 0 && counts[0] <= math.MaxInt64 {
						c.trues, c.hasBuckets = int64(counts[0]), true
					}
					return ok
				})
			})
		case 6:
			return v.message(func(b []byte) bool {
				return fields(b, func(id protowire.Number, v value) bool {
					switch id {
					case 1:
						c.decimals.setMin(string(v.data))
					case 2:
						c.decimals.setMax(string(v.data))
					}
					return true
				})
			})
		case 7:
			return v.message(decodeZigzag(&c.dates, 1, 2))
		case 9:
			return v.message(decodeZigzag(&c.utcMillis, 3, 4))
		}
		return true
	})
	return c, ok
}

// decodeZigzag takes two signed numbers.
func decodeZigzag(c *bounds[int64], min, max protowire.Number) func(b []byte) bool {
	return func(b []byte) bool {
		return fields(b, func(id protowire.Number, v value) bool {
			x, ok := v.sint64()
			switch {
			case id == min && ok:
				c.setMin(x)
			case id == max && ok:
				c.setMax(x)
			}
			return true
		})
	}
}

func (c *columnStats) decodeTexts(b []byte) bool {
	return fields(b, func(id protowire.Number, v value) bool {
		if v.typ != protowire.BytesType {
			return true
		}
		switch id {
		case 1, 4:
			c.texts.setMin(string(v.data))
		case 2, 5:
			c.texts.setMax(string(v.data))
		}
		return true
	})
}
