package orc

import (
	"math"

	"github.com/tarnlake/tarn/internal/batch"
)

const (
	errLength     = dataError("length of a value out of range")
	errDictionary = dataError("dictionary cannot be decoded")
)

// maxDictionary bounds the memory of a dictionary: writers end a stripe long
// before.
const maxDictionary = 256 << 20

// texts reads strings and bytes, direct or by dictionary.
type texts struct {
	in      *stream  // direct: the bytes
	lengths *intRuns // direct
	keys    *intRuns // by dictionary
	vals    []int64

	of      *stripe // whose dictionary this is
	offsets []int32 // of its entries
	entries []byte
}

func (d *texts) start(s *stripe, n *fileNode) (err error) {
	d.in, d.lengths, d.keys = nil, nil, nil
	e := s.encodings[n.column]
	if e.kind == encDirect || e.kind == encDirectV2 {
		if d.in, err = s.raw(n.column, streamData); err != nil {
			return err
		}
		d.lengths, err = s.ints(n.column, streamLength, false)
		return err
	}
	if d.of != s {
		lengths, err := s.ints(n.column, streamLength, false)
		if err != nil {
			return err
		}
		entries, err := s.raw(n.column, streamDictionary)
		if err != nil {
			return err
		}
		if err := d.dictionary(lengths, entries, e.dictionary); err != nil {
			return err
		}
		d.of = s
	}
	d.keys, err = s.ints(n.column, streamData, false)
	return err
}

// dictionary reads count entries; memory grows with what is really there.
func (d *texts) dictionary(lengths *intRuns, in *stream, count int64) error {
	d.offsets, d.entries = append(d.offsets[:0], 0), d.entries[:0]
	var total int64
	for count > 0 {
		d.vals = sizedOf(d.vals, int(min(count, scratchValues)))
		if err := lengths.read(d.vals); err != nil {
			return err
		}
		for _, n := range d.vals {
			if n < 0 || n > math.MaxInt32-total {
				return errDictionary
			}
			total += n
			d.offsets = append(d.offsets, int32(total))
		}
		if total+4*int64(len(d.offsets)) > maxDictionary {
			return errDictionary
		}
		count -= int64(len(d.vals))
	}
	for left := int(total); left > 0; {
		if err := in.fill(); err != nil {
			return errDictionary
		}
		b := in.cur[:min(left, len(in.cur))]
		d.entries, in.cur, left = append(d.entries, b...), in.cur[len(b):], left-len(b)
	}
	return nil
}

func (d *texts) read(c *batch.Column, k int) error {
	from := c.N
	d.vals = sizedOf(d.vals, min(max(k, 1), scratchValues))
	for k > 0 {
		vals := d.vals[:min(k, len(d.vals))]
		offsets := valuesOf[int32](c.Offsets.Bytes())[from : from+len(vals)+1]
		offsets[0] = int32(c.Used)
		var err error
		if d.keys != nil {
			err = d.look(c, vals, offsets)
		} else {
			err = d.copy(c, vals, offsets)
		}
		if err != nil {
			return err
		}
		from, k = from+len(vals), k-len(vals)
	}
	return nil
}

// copy appends as many values as vals has room for.
func (d *texts) copy(c *batch.Column, vals []int64, offsets []int32) error {
	if err := d.lengths.read(vals); err != nil {
		return err
	}
	at := int64(c.Used)
	for i, n := range vals {
		if n < 0 {
			return errLength
		}
		if n > math.MaxInt32-at {
			return errTexts
		}
		at += n
		offsets[i+1] = int32(at)
	}
	if !c.Allowance.FitsText(at - int64(c.Used)) {
		return errTooLarge
	}
	for left := int(at) - c.Used; left > 0; {
		if err := d.in.fill(); err != nil {
			return err
		}
		b := d.in.cur[:min(left, len(d.in.cur))]
		copy(c.Room(len(b)), b)
		c.Used, d.in.cur, left = c.Used+len(b), d.in.cur[len(b):], left-len(b)
	}
	return nil
}

// look appends entries of the dictionary.
func (d *texts) look(c *batch.Column, vals []int64, offsets []int32) error {
	if err := d.keys.read(vals); err != nil {
		return err
	}
	at := int64(c.Used)
	for i, key := range vals {
		if uint64(key) >= uint64(len(d.offsets)-1) {
			return dataError("entry is not in the dictionary")
		}
		at += int64(d.offsets[key+1] - d.offsets[key])
		if at > math.MaxInt32 {
			return errTexts
		}
		offsets[i+1] = int32(at)
	}
	if !c.Allowance.FitsText(at - int64(c.Used)) {
		return errTooLarge
	}
	dst := c.Room(int(at) - c.Used)
	for _, key := range vals {
		n := copy(dst, d.entries[d.offsets[key]:d.offsets[key+1]])
		dst = dst[n:]
	}
	c.Used = int(at)
	return nil
}
