package parquet

import (
	"context"
	"encoding/binary"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/types"
)

// filterColumn is a column of a predicate found in the file.
type filterColumn struct {
	node *fileNode // nil: the file does not have it, every row is null
	typ  types.Type
	// Of the row group at hand, once loaded: the pages and their statistics.
	pages []pageLocation
	index columnIndex
}

// filter skips what a predicate cannot match.
type filter struct {
	file    *File
	where   *expr.Bound
	columns map[string]*filterColumn
}

func newFilter(f *File, where *expr.Bound, wanted []types.Field) *filter {
	if where == nil {
		return nil
	}
	out := &filter{file: f, where: where, columns: map[string]*filterColumn{}}
	for _, name := range where.Columns() {
		c := &filterColumn{}
		known := false
		for _, w := range wanted {
			if w.Name == name {
				c.node, c.typ, known = f.root.child(w), w.Type, true
			}
		}
		if !known {
			for _, n := range f.root.children {
				if n.element.name == name {
					c.node, c.typ, known = n, n.paimonType(), true
				}
			}
		}
		if known && (c.node == nil || c.node.leaf >= 0 && !c.typ.IsNested()) {
			out.columns[name] = c
		}
	}
	return out
}

// groupStats looks up statistics of a whole row group.
type groupStats struct {
	*filter
	group int
}

func (s groupStats) Column(name string) (min, max types.Value, nulls int64, ok bool) {
	c, known := s.columns[name]
	if !known {
		return nil, nil, -1, false
	}
	g := &s.file.meta.groups[s.group]
	if c.node == nil {
		return nil, nil, g.rows, true
	}
	st := g.columns[c.node.leaf].stats
	lo, hi := st.min, st.max
	if !c.signed() && !s.file.typeOrdered(c.node.leaf) {
		lo, hi = nil, nil
	}
	if lo == nil && hi == nil && c.signed() {
		lo, hi = st.oldMin, st.oldMax
	}
	min, max = c.bounds(lo, hi)
	return min, max, st.nulls, true
}

// typeOrdered reports whether a leaf's statistics are in the order of its type.
func (f *File) typeOrdered(leaf int) bool { return leaf < len(f.meta.ordered) && f.meta.ordered[leaf] }

// signed reports a type whose order never was in doubt.
func (c *filterColumn) signed() bool {
	switch c.node.element.typ {
	case physBoolean, physFloat, physDouble:
		return true
	case physInt32, physInt64:
		return c.node.element.logical != logicalInteger || c.node.element.signed
	}
	return false
}

// bounds turns raw statistics into values of the column's type, nil where
// nothing is known. NaN bounds nothing: Java counts it as the greatest value,
// others leave it out.
func (c *filterColumn) bounds(lo, hi []byte) (min, max types.Value) {
	min, max = c.value(lo), c.value(hi)
	if isNaN(min) || isNaN(max) {
		return nil, nil
	}
	return min, max
}

func isNaN(v types.Value) bool {
	switch x := v.(type) {
	case float32:
		return x != x
	case float64:
		return x != x
	}
	return false
}

// value reads one raw statistic, nil when it is of a form that says nothing
// about the type asked for.
func (c *filterColumn) value(raw []byte) types.Value {
	if raw == nil {
		return nil
	}
	e := c.node.element
	switch e.typ {
	case physBoolean:
		if len(raw) == 1 && c.typ.Root == types.Boolean {
			return raw[0] != 0
		}
	case physInt32:
		if len(raw) == 4 {
			return c.integer(int64(int32(binary.LittleEndian.Uint32(raw))))
		}
	case physInt64:
		if len(raw) == 8 {
			return c.integer(int64(binary.LittleEndian.Uint64(raw)))
		}
	case physFloat:
		if len(raw) == 4 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(raw))
			if c.typ.Root == types.Float {
				return v
			} else if c.typ.Root == types.Double {
				return float64(v)
			}
		}
	case physDouble:
		if len(raw) == 8 && c.typ.Root == types.Double {
			return math.Float64frombits(binary.LittleEndian.Uint64(raw))
		}
	case physByteArray, physFixed:
		switch {
		case e.logical == logicalDecimal:
			if v, ok := decimalOf(raw); ok && c.typ.Root == types.Decimal && int(e.scale) == c.typ.Scale {
				return v
			}
		case c.typ.IsString():
			return string(raw)
		case c.typ.IsBytes():
			return raw
		}
	}
	return nil
}

func (c *filterColumn) integer(v int64) types.Value {
	e := c.node.element
	if e.logical == logicalInteger && !e.signed {
		return nil
	}
	switch c.typ.Root {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		if e.logical == logicalNone || e.logical == logicalInteger {
			return v
		}
	case types.Date:
		if e.logical == logicalNone || e.logical == logicalDate {
			return int32(v)
		}
	case types.Time:
		if e.logical == logicalTime && e.unit >= millis && e.unit <= nanos {
			v, _ = floorDiv(v, unitsPer(millis, e.unit))
			return int32(v)
		} else if e.logical == logicalNone {
			return int32(v)
		}
	case types.Decimal:
		if e.logical == logicalDecimal && int(e.scale) == c.typ.Scale {
			return decimal128.FromI64(v)
		}
	case types.Timestamp, types.TimestampLTZ:
		unit, to := e.unit, unitOf(c.typ.Precision)
		if e.logical == logicalNone {
			unit = to
		} else if e.logical != logicalStamp || unit < millis || unit > nanos {
			return nil
		}
		if unit > to { // values are cut to the type's digits as they are read
			per := unitsPer(to, unit)
			v, _ = floorDiv(v, per)
			unit = to
		}
		return instant(v, [...]arrow.TimeUnit{millis: arrow.Millisecond, micros: arrow.Microsecond, nanos: arrow.Nanosecond}[unit])
	}
	return nil
}

// group reports whether rows of a row group can match.
func (t *filter) group(g int) bool {
	return t == nil || t.where.MayMatch(groupStats{t, g}, t.file.meta.groups[g].rows)
}

// rowRange is a run of rows of a row group.
type rowRange struct{ from, to int64 }

func rowsIn(ranges []rowRange) (n int64) {
	for _, r := range ranges {
		n += r.to - r.from
	}
	return n
}

// within gives the parts of ranges that lie in part.
func within(ranges []rowRange, part rowRange) []rowRange {
	var out []rowRange
	for _, r := range ranges {
		if r = (rowRange{max(r.from, part.from), min(r.to, part.to)}); r.from < r.to {
			out = append(out, r)
		}
	}
	return out
}

// rows gives the rows of a row group that can match by the page index, nil for
// all of them.
func (t *filter) rows(ctx context.Context, g int) ([]rowRange, error) {
	if t == nil {
		return nil, nil
	}
	group := &t.file.meta.groups[g]
	var cuts []int64
	found := false
	for _, c := range t.columns {
		c.pages, c.index = nil, columnIndex{}
		if c.node == nil {
			continue
		}
		chunk := &group.columns[c.node.leaf]
		if chunk.columnIndex.n <= 0 || chunk.offsetIndex.n <= 0 || !c.signed() && !t.file.typeOrdered(c.node.leaf) {
			continue
		}
		pages, err := t.file.offsetIndex(ctx, g, c.node)
		if err != nil {
			return nil, err
		}
		index, err := t.file.pageStats(ctx, g, c.node)
		if err != nil {
			return nil, err
		}
		if len(index.nullPages) != len(pages) {
			continue
		}
		c.pages, c.index, found = pages, index, true
		for _, p := range pages {
			cuts = append(cuts, p.row)
		}
	}
	if !found {
		return nil, nil
	}
	sort.Slice(cuts, func(i, j int) bool { return cuts[i] < cuts[j] })
	cuts = append(cuts, group.rows)
	var out []rowRange
	for i := 0; i+1 < len(cuts); i++ {
		from, to := cuts[i], cuts[i+1]
		if from == to || !t.where.MayMatch(pageStats{t, g, from, to}, to-from) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].to == from {
			out[n-1].to = to
		} else {
			out = append(out, rowRange{from, to})
		}
	}
	if out == nil {
		out = []rowRange{}
	}
	return out, nil
}

// pageStats looks up the statistics of the pages around a run of rows.
type pageStats struct {
	*filter
	group    int
	from, to int64
}

func (s pageStats) Column(name string) (min, max types.Value, nulls int64, ok bool) {
	c, known := s.columns[name]
	if !known {
		return nil, nil, -1, false
	}
	if c.node == nil {
		return nil, nil, s.to - s.from, true
	}
	if c.pages == nil {
		min, max, nulls, ok = groupStats{s.filter, s.group}.Column(name)
		if nulls != 0 && nulls != s.file.meta.groups[s.group].rows {
			nulls = -1
		} else if nulls > 0 {
			nulls = s.to - s.from
		}
		return min, max, nulls, ok
	}
	i := sort.Search(len(c.pages), func(i int) bool { return c.pages[i].row > s.from }) - 1
	if c.index.nullPages[i] {
		return nil, nil, s.to - s.from, true
	}
	nulls = -1
	if len(c.index.nulls) > 0 && c.index.nulls[i] == 0 {
		nulls = 0
	}
	min, max = c.bounds(c.index.min[i], c.index.max[i])
	return min, max, nulls, true
}

// offsetIndex reads where the pages of a chunk are, nil when the file does not say.
func (f *File) offsetIndex(ctx context.Context, g int, n *fileNode) ([]pageLocation, error) {
	chunk := &f.meta.groups[g].columns[n.leaf]
	if chunk.offsetIndex.n <= 0 {
		return nil, nil
	}
	b, err := f.bytes(ctx, chunk.offsetIndex)
	if err != nil {
		return nil, err
	}
	pages, ok := decodeOffsetIndex(b)
	if ok && len(pages) == 0 {
		return nil, nil
	}
	sp := chunk.span()
	for i, p := range pages {
		ok = ok && p.n > 0 && p.off >= sp.off && p.off <= sp.off+sp.n-p.n && p.row >= 0 && p.row < max(f.meta.groups[g].rows, 1)
		ok = ok && (i == 0 && p.row == 0 || i > 0 && p.row > pages[i-1].row && p.off >= pages[i-1].off+pages[i-1].n)
	}
	if !ok {
		return nil, f.Corrupt("offset index cannot be used", "column", n.path, "rowGroup", g)
	}
	return pages, nil
}

func (f *File) pageStats(ctx context.Context, g int, n *fileNode) (columnIndex, error) {
	b, err := f.bytes(ctx, f.meta.groups[g].columns[n.leaf].columnIndex)
	if err != nil {
		return columnIndex{}, err
	}
	x, ok := decodeColumnIndex(b)
	if !ok {
		return x, f.Corrupt("column index cannot be decoded", "column", n.path, "rowGroup", g)
	}
	return x, nil
}

// maxIndexes is the most that is read at once to have all page indexes.
const maxIndexes = 4 << 20

// bytes gives a span of the page indexes. They lie together before the footer,
// so the first one asked for brings all, when they are not too large.
func (f *File) bytes(ctx context.Context, sp span) ([]byte, error) {
	if sp.off < 0 || sp.n < 0 || sp.off > f.Size-sp.n {
		return nil, f.Corrupt("page index lies outside the file", "offset", sp.off, "length", sp.n)
	}
	if b, ok := (segment{off: f.tailOff, data: f.tail}).view(sp.off, sp.n); ok {
		return b, nil
	}
	if s := f.indexes.Load(); s != nil {
		if b, ok := s.view(sp.off, sp.n); ok {
			return b, nil
		}
	}
	from := sp.off
	for _, g := range f.meta.groups {
		for _, c := range g.columns {
			for _, x := range []span{c.columnIndex, c.offsetIndex} {
				if x.off > 0 && x.n > 0 {
					from = min(from, x.off)
				}
			}
		}
	}
	if n := f.Size - from; n <= maxIndexes {
		s := &segment{off: from, data: make([]byte, n)}
		if err := f.ReadAt(ctx, s.data, from); err != nil {
			return nil, err
		}
		f.indexes.Store(s)
		b, _ := s.view(sp.off, sp.n)
		return b, nil
	}
	b := make([]byte, sp.n)
	return b, f.ReadAt(ctx, b, sp.off)
}
