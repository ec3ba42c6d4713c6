package orc

import (
	"math"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// stamps reads TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE: seconds in one
// stream, nanoseconds of the second in another. Digits finer than want has are
// cut, towards the past.
type stamps struct {
	want    types.Type
	node    *fileNode
	clock   zone
	seconds *intRuns
	nanos   *intRuns
	secs    []int64
	fracs   []int64
}

func (d *stamps) start(s *stripe, n *fileNode) (err error) {
	d.node, d.clock = n, s.local
	if n.kind == kindInstant {
		d.clock = s.instant
	}
	if d.seconds, err = s.ints(n.column, streamData, true); err != nil {
		return err
	}
	d.nanos, err = s.ints(n.column, streamSecondary, false)
	return err
}

// perSecond is the units of a second that a type of a precision counts in.
func perSecond(precision int) int64 {
	switch {
	case precision <= 3:
		return 1_000
	case precision <= 6:
		return 1_000_000
	}
	return 1_000_000_000
}

func (d *stamps) read(c *batch.Column, k int) error {
	dst := valuesOf[int64](c.Data.Bytes())[c.N : c.N+k]
	d.secs, d.fracs = sizedOf(d.secs, min(k, scratchValues)), sizedOf(d.fracs, min(k, scratchValues))
	per := perSecond(d.want.Precision)
	for len(dst) > 0 {
		n := min(len(dst), len(d.secs))
		if err := d.seconds.read(d.secs[:n]); err != nil {
			return err
		}
		if err := d.nanos.read(d.fracs[:n]); err != nil {
			return err
		}
		for i, stored := range d.secs[:n] {
			nanos, ok := nanoseconds(d.fracs[i])
			if !ok {
				return dataError("nanoseconds out of range")
			}
			if stored > math.MaxInt64/2 || stored < math.MinInt64/2 {
				return misfit(d.node, d.want, stored)
			}
			sec := d.clock.wall(stored, nanos)
			if nanos < 0 {
				sec, nanos = sec-1, nanos+1_000_000_000
			}
			frac := nanos / (1_000_000_000 / per)
			// The first second in range is only partly so: count from its end down.
			if sec < 0 {
				sec, frac = sec+1, frac-per
			}
			v := sec * per
			if sec > math.MaxInt64/per || sec < math.MinInt64/per || v > 0 && v+frac < 0 || v < 0 && v+frac > 0 {
				return misfit(d.node, d.want, stored)
			}
			dst[i] = v + frac
		}
		dst = dst[n:]
	}
	return nil
}

var powers = [...]int64{1, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// nanoseconds unpacks a fraction: its low three bits count the zeros cut off,
// less one. Arrow's writer has negative ones before 1970.
func nanoseconds(packed int64) (int64, bool) {
	v := packed >> 3
	if v <= -1_000_000_000 || v >= 1_000_000_000 {
		return 0, false
	}
	v *= powers[packed&7]
	return v, v > -1_000_000_000 && v < 1_000_000_000
}
