package orc

import (
	"context"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// rowIndex is what a stripe says of the row groups of one column: every
// rowIndexStride rows where the streams are, and statistics.
type rowIndex []indexEntry

type indexEntry struct {
	positions []uint64
	stats     []byte // a message of column statistics
}

func decodeRowIndex(b []byte) (rowIndex, bool) {
	var out rowIndex
	ok := fields(b, func(id protowire.Number, v value) bool {
		if id != 1 {
			return true
		}
		return v.message(func(b []byte) bool {
			var e indexEntry
			ok := fields(b, func(id protowire.Number, v value) (ok bool) {
				switch id {
				case 1:
					e.positions, ok = v.numbers(e.positions)
					return ok
				case 2:
					e.stats = v.data
				}
				return true
			})
			out = append(out, e)
			return ok && len(out) <= maxStripes
		})
	})
	return out, ok
}

// groups is the number of row groups of a stripe, 0 when it is not to be read
// by row groups.
func (s *stripe) groups() int {
	f := s.file
	if f.meta.indexStride <= 0 || s.rows <= f.meta.indexStride || f.meta.writer == 0 && f.post.writerVersion < soundIndexes {
		return 0
	}
	if n := (s.rows-1)/f.meta.indexStride + 1; n <= math.MaxInt32 {
		return int(n)
	}
	return 0
}

// soundIndexes is the version of the Java writer from which positions of
// decimals are right: HIVE-13083.
const soundIndexes = 3

// readIndexes reads the row indexes of columns; missing says that the stripe
// does not have all of them.
func (s *stripe) readIndexes(ctx context.Context, columns []int) (missing bool, err error) {
	var spans []span
	for _, c := range columns {
		sp, ok := s.spans[streamKey{c, streamRowIndex}]
		if !ok {
			return true, nil
		}
		if _, ok := s.indexes[c]; !ok {
			spans = append(spans, sp)
		}
	}
	loaded, err := s.file.gather(ctx, spans)
	if err != nil {
		return false, err
	}
	for _, c := range columns {
		if _, ok := s.indexes[c]; ok {
			continue
		}
		raw, _ := view(loaded, s.spans[streamKey{c, streamRowIndex}])
		plain, err := s.file.plain(raw)
		if err != nil {
			return false, s.file.corruptStripe(s.index, "row index cannot be decompressed", "column", s.file.nodes[c].path)
		}
		x, ok := decodeRowIndex(plain)
		if !ok {
			return false, s.file.corruptStripe(s.index, "row index cannot be decoded", "column", s.file.nodes[c].path)
		}
		if len(x) != s.groups() {
			return true, nil
		}
		s.indexes[c] = x
	}
	return false, nil
}

// groups tells which row groups of a stripe can match, nil for all.
func (t *filter) groups(ctx context.Context, s *stripe) ([]bool, error) {
	n := s.groups()
	if t == nil || n == 0 {
		return nil, nil
	}
	var columns []int
	for _, c := range t.columns {
		if c.node != nil {
			columns = append(columns, c.node.column)
		}
	}
	if len(columns) == 0 {
		return nil, nil
	}
	if missing, err := s.readIndexes(ctx, columns); err != nil || missing {
		return nil, err
	}
	keep := make([]bool, n)
	stats := make(stripeStats, len(t.file.nodes))
	for g := range keep {
		for _, c := range columns {
			st, ok := decodeColumnStats(s.indexes[c][g].stats)
			if !ok {
				return nil, t.file.corruptStripe(s.index, "statistics of a row group cannot be decoded", "column", t.file.nodes[c].path)
			}
			stats[c] = st
		}
		from := int64(g) * t.file.meta.indexStride
		rows := min(t.file.meta.indexStride, s.rows-from)
		keep[g] = t.where.MayMatch(lookup{filter: t, stats: stats, rows: rows}, rows)
	}
	return keep, nil
}

// position is where a stream stands at the beginning of a row group.
type position struct {
	off    uint64 // of the block, or of the byte when nothing is compressed
	inside uint64 // of the block
	values uint64 // of the run there
	bits   uint64 // of the byte there
}

// rowRun is a run of row groups to be read.
type rowRun struct {
	from, to  int64 // rows
	positions map[streamKey]position
	ends      map[streamKey]uint64 // bytes of the stream the run needs at most
}

// runs joins the row groups to keep. Whole says that positions are not to be
// had: the stripe must be read as a whole.
func (s *stripe) runs(ctx context.Context, keep []bool, columns []int) (runs []rowRun, whole bool, err error) {
	all := true
	for _, k := range keep {
		all = all && k
	}
	if all {
		return nil, true, nil
	}
	if missing, err := s.readIndexes(ctx, columns); err != nil || missing {
		return nil, true, err
	}
	stride := s.file.meta.indexStride
	for g := 0; g < len(keep); g++ {
		if !keep[g] {
			continue
		}
		end := g
		for end < len(keep) && keep[end] {
			end++
		}
		r := rowRun{from: int64(g) * stride, to: min(int64(end)*stride, s.rows), positions: map[streamKey]position{}, ends: map[streamKey]uint64{}}
		for _, c := range columns {
			start, ok := s.positions(c, g)
			if !ok {
				return nil, true, nil
			}
			for k, p := range start {
				r.positions[k] = p
			}
			if end == len(keep) {
				continue
			}
			stop, ok := s.positions(c, end)
			if !ok {
				return nil, true, nil
			}
			for k, p := range stop {
				r.ends[k] = p.off + s.slack()
			}
		}
		runs = append(runs, r)
		g = end
	}
	return runs, false, nil
}

// slack is how far beyond the position of the next row group a run of values
// may reach: to the end of the block there, and over the blocks a run may fill.
func (s *stripe) slack() uint64 {
	const run = 2 * maxRun * 8 // values, and more than enough for head and patches
	if s.file.post.compression == codecNone {
		return run
	}
	block := uint64(s.file.post.blockSize)
	return (2 + run/block) * (block + 3)
}

// positions takes apart the numbers that a column's index has for a row group.
// Source: the ORC v1 specification, "Row Index".
func (s *stripe) positions(column, group int) (map[streamKey]position, bool) {
	out := map[streamKey]position{}
	if group == 0 {
		return out, true // all at their beginning, whether the index says so or not
	}
	list := s.indexes[column][group].positions
	ok := true
	next := func() (v uint64) {
		if len(list) == 0 {
			ok = false
			return 0
		}
		v, list = list[0], list[1:]
		return v
	}
	add := func(kind streamKind, values, bits bool) {
		p := position{off: next()}
		if s.file.post.compression != codecNone {
			p.inside = next()
		}
		if values {
			p.values = next()
		}
		if bits {
			p.bits = next()
		}
		key := streamKey{column, kind}
		ok = ok && p.off <= uint64(s.spans[key].n) && p.inside <= maxBlock && p.values <= maxRun && p.bits < 8
		out[key] = p
	}
	if _, has := s.spans[streamKey{column, streamPresent}]; has {
		add(streamPresent, true, true)
	}
	switch s.file.nodes[column].kind {
	case kindBoolean:
		add(streamData, true, true)
	case kindByte, kindShort, kindInt, kindLong, kindDate:
		add(streamData, true, false)
	case kindFloat, kindDouble:
		add(streamData, false, false)
	case kindString, kindVarchar, kindChar, kindBinary:
		if e := s.encodings[column].kind; e == encDictionary || e == encDictionaryV2 {
			add(streamData, true, false)
		} else {
			add(streamData, false, false)
			add(streamLength, true, false)
		}
	case kindTimestamp, kindInstant:
		add(streamData, true, false)
		add(streamSecondary, true, false)
	case kindDecimal:
		add(streamData, false, false)
		add(streamSecondary, true, false)
	case kindList, kindMap:
		add(streamLength, true, false)
	case kindStruct:
	default:
		return nil, false // unions
	}
	return out, ok
}
