package parquet

// chunkFacts are what the end of a file tells about a chunk.
type chunkFacts struct {
	column        *column
	offset        int64 // of its first page
	dictOffset    int64 // 0 = none
	dataOffset    int64
	values, nulls int64
	raw, stored   int64 // bytes with headers, before and after compression
	bounds        bounds
	dictPages     int32 // data pages that hold indices
	pages         []pageFacts
	columnIndex   span
	offsetIndex   span
}

// pageFacts are what the page index tells about a data page.
type pageFacts struct {
	off, n   int64
	row      int64 // first row in the row group
	values   int64 // with nulls
	nulls    int64
	bounds   bounds
	min, max []byte // as stored, nil when unknown
}

func (p *pageFacts) empty() bool { return p.nulls == p.values }

// groupFacts are what the footer tells about a row group.
type groupFacts struct {
	rows   int64
	chunks []chunkFacts
}

// appendColumnIndex appends the statistics of a chunk's pages. It gives nothing
// when they are unknown for one page that has values: readers want all or none.
func appendColumnIndex(o *thriftOut, c *chunkFacts) bool {
	for i := range c.pages {
		if p := &c.pages[i]; !p.empty() && (p.min == nil || p.max == nil) {
			return false
		}
	}
	if c.column.phys == physInt96 {
		return false // has no order
	}
	o.list(1, thriftTrue, len(c.pages))
	for i := range c.pages {
		if c.pages[i].empty() {
			o.b = append(o.b, thriftTrue)
		} else {
			o.b = append(o.b, thriftFalse)
		}
	}
	for id, bound := range []func(*pageFacts) []byte{
		func(p *pageFacts) []byte { return p.min }, func(p *pageFacts) []byte { return p.max },
	} {
		o.list(int16(id+2), thriftBinary, len(c.pages))
		for i := range c.pages {
			o.text(string(bound(&c.pages[i])))
		}
	}
	o.i32(4, c.boundaryOrder())
	o.list(5, thriftI64, len(c.pages))
	for i := range c.pages {
		o.number(c.pages[i].nulls)
	}
	o.end()
	return true
}

// Values of the enum BoundaryOrder.
const (
	unordered  = 0
	ascending  = 1
	descending = 2
)

// boundaryOrder says whether minima and maxima of the pages with values both
// ascend or descend.
func (c *chunkFacts) boundaryOrder() int32 {
	up, down := true, true
	var last *bounds
	for i := range c.pages {
		b := &c.pages[i].bounds
		if !b.known {
			continue
		}
		if last != nil {
			lo, hi := compareBounds(c.column.phys, last, b)
			up, down = up && lo <= 0 && hi <= 0, down && lo >= 0 && hi >= 0
		}
		last = b
	}
	switch {
	case up:
		return ascending
	case down:
		return descending
	}
	return unordered
}

func appendOffsetIndex(o *thriftOut, c *chunkFacts) {
	o.list(1, thriftStruct, len(c.pages))
	for i := range c.pages {
		p := &c.pages[i]
		o.open()
		o.i64(1, p.off)
		o.i32(2, int32(p.n))
		o.i64(3, p.row)
		o.close()
	}
	o.end()
}

// appendFooter appends the file's metadata.
func appendFooter(o *thriftOut, schema []schemaElement, leaves int, rows int64, groups []groupFacts, codec int32) {
	o.i32(1, 1)
	o.list(2, thriftStruct, len(schema))
	for i := range schema {
		o.open()
		appendSchemaElement(o, &schema[i], i == 0)
		o.close()
	}
	o.i64(3, rows)
	o.list(4, thriftStruct, len(groups))
	for i := range groups {
		o.open()
		appendRowGroup(o, &groups[i], i, codec)
		o.close()
	}
	o.string(6, createdBy)
	o.list(7, thriftStruct, leaves)
	for range leaves {
		o.open()
		o.begin(1) // in the order of the type
		o.close()
		o.close()
	}
	o.end()
}

func appendSchemaElement(o *thriftOut, e *schemaElement, root bool) {
	if !e.hasChildren {
		o.i32(1, int32(e.typ))
	}
	if e.typeLength > 0 {
		o.i32(2, e.typeLength)
	}
	if !root {
		o.i32(3, int32(e.repetition))
	}
	o.string(4, e.name)
	if e.hasChildren {
		o.i32(5, e.children)
	}
	if c := e.converted(); c >= 0 {
		o.i32(6, c)
	}
	if e.logical == logicalDecimal {
		o.i32(7, e.scale)
		o.i32(8, e.precision)
	}
	if e.id >= 0 {
		o.i32(9, e.id)
	}
	if e.logical <= logicalNone {
		return
	}
	o.begin(10)
	o.begin(int16(e.logical))
	switch e.logical {
	case logicalDecimal:
		o.i32(1, e.scale)
		o.i32(2, e.precision)
	case logicalTime, logicalStamp:
		o.bool(1, e.utc)
		o.begin(2)
		o.begin(int16(e.unit))
		o.close()
		o.close()
	case logicalInteger:
		o.i8(1, e.width)
		o.bool(2, e.signed)
	}
	o.close()
	o.close()
}

// converted is the older ConvertedType beside the logical type, −1 without.
// parquet-java gives instants one whatever their zone.
func (e *schemaElement) converted() int32 {
	switch e.logical {
	case logicalString:
		return convertedUTF8
	case logicalList:
		return convertedList
	case logicalMap:
		return convertedMap
	case logicalMapKeyValue:
		return convertedMapKeyValue
	case logicalDecimal:
		return convertedDecimal
	case logicalDate:
		return convertedDate
	case logicalTime:
		return convertedTimeMillis
	case logicalStamp:
		if e.unit == micros {
			return convertedTimestampMicros
		}
		return convertedTimestampMillis
	case logicalInteger:
		if e.width == 8 {
			return convertedInt8
		}
		return convertedInt16
	}
	return -1
}

func appendRowGroup(o *thriftOut, g *groupFacts, ordinal int, codec int32) {
	var raw, stored int64
	o.list(1, thriftStruct, len(g.chunks))
	for i := range g.chunks {
		c := &g.chunks[i]
		raw, stored = raw+c.raw, stored+c.stored
		o.open()
		o.i64(2, c.offset)
		o.begin(3)
		appendChunkMeta(o, c, codec)
		o.close()
		o.i64(4, c.offsetIndex.off)
		o.i32(5, int32(c.offsetIndex.n))
		if c.columnIndex.n > 0 {
			o.i64(6, c.columnIndex.off)
			o.i32(7, int32(c.columnIndex.n))
		}
		o.close()
	}
	o.i64(2, raw)
	o.i64(3, g.rows)
	o.i64(5, g.chunks[0].offset)
	o.i64(6, stored)
	if ordinal <= 0x7fff {
		o.field(7, thriftI16)
		o.number(int64(ordinal))
	}
}

func appendChunkMeta(o *thriftOut, c *chunkFacts, codec int32) {
	o.i32(1, int32(c.column.phys))
	plainPages := int32(len(c.pages)) - c.dictPages
	encodings := []encoding{encRLE} // of levels
	if c.dictOffset > 0 {
		encodings = append(encodings, encPlainDict)
	}
	if plainPages > 0 {
		encodings = append(encodings, encPlain)
	}
	o.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		o.number(int64(e))
	}
	o.list(3, thriftBinary, len(c.column.path))
	for _, name := range c.column.path {
		o.text(name)
	}
	o.i32(4, codec)
	o.i64(5, c.values)
	o.i64(6, c.raw)
	o.i64(7, c.stored)
	o.i64(9, c.dataOffset)
	if c.dictOffset > 0 {
		o.i64(11, c.dictOffset)
	}
	o.begin(12)
	appendStatistics(o, c)
	o.close()
	type count struct {
		page int32
		enc  encoding
		n    int32
	}
	var counts []count
	if c.dictOffset > 0 {
		counts = append(counts, count{pageDictionary, encPlainDict, 1})
	}
	if c.dictPages > 0 {
		counts = append(counts, count{pageData, encPlainDict, c.dictPages})
	}
	if plainPages > 0 {
		counts = append(counts, count{pageData, encPlain, plainPages})
	}
	o.list(13, thriftStruct, len(counts))
	for _, n := range counts {
		o.open()
		o.i32(1, n.page)
		o.i32(2, int32(n.enc))
		o.i32(3, n.n)
		o.close()
	}
}

func appendStatistics(o *thriftOut, c *chunkFacts) {
	lo, hi := c.bounds.raw(c.column)
	known := lo != nil && hi != nil
	switch c.column.phys {
	case physBoolean, physInt32, physInt64, physFloat, physDouble:
		if known { // the fields of old are in signed order
			o.bytes(1, hi)
			o.bytes(2, lo)
		}
	}
	o.i64(3, c.nulls)
	if known {
		o.bytes(5, hi)
		o.bytes(6, lo)
	}
}

// appendPageHeader appends the head of a page of n values, nulls included.
func appendPageHeader(o *thriftOut, typ int32, raw, stored, n int, enc encoding) {
	o.i32(1, typ)
	o.i32(2, int32(raw))
	o.i32(3, int32(stored))
	if typ == pageDictionary {
		o.begin(7)
		o.i32(1, int32(n))
		o.i32(2, int32(enc))
		o.close()
	} else {
		o.begin(5)
		o.i32(1, int32(n))
		o.i32(2, int32(enc))
		o.i32(3, int32(encRLE))
		o.i32(4, int32(encRLE))
		o.close()
	}
	o.end()
}
