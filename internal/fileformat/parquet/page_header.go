package parquet

// encoding is a value of parquet.thrift's Encoding.
type encoding int32

const (
	encPlain           encoding = 0
	encPlainDict       encoding = 2
	encRLE             encoding = 3
	encBitPacked       encoding = 4
	encDeltaBinary     encoding = 5
	encDeltaLength     encoding = 6
	encDeltaByteArray  encoding = 7
	encRLEDict         encoding = 8
	encByteStreamSplit encoding = 9
)

const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

type pageHeader struct {
	typ                      int32
	uncompressed, compressed int32
	values                   int32
	enc                      encoding
	defEnc, repEnc           encoding // v1
	defLen, repLen           int32    // v2
	rows                     int32    // v2
	stored                   bool     // v2: values are not compressed
	hasBody                  bool     // the struct of the page's own type was there
}

// decodePageHeader reads the header at the front of b and its length.
func decodePageHeader(b []byte) (h pageHeader, n int, ok bool) {
	c := &compact{b: b}
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftI32:
			h.typ = c.int32()
		case id == 2 && typ == thriftI32:
			h.uncompressed = c.int32()
		case id == 3 && typ == thriftI32:
			h.compressed = c.int32()
		case (id == 5 || id == 7) && typ == thriftStruct:
			h.hasBody = true
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == thriftI32:
					h.values = c.int32()
				case id == 2 && typ == thriftI32:
					h.enc = encoding(c.int32())
				case id == 3 && typ == thriftI32:
					h.defEnc = encoding(c.int32())
				case id == 4 && typ == thriftI32:
					h.repEnc = encoding(c.int32())
				default:
					return false
				}
				return true
			})
		case id == 8 && typ == thriftStruct:
			h.hasBody = true
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == thriftI32:
					h.values = c.int32()
				case id == 3 && typ == thriftI32:
					h.rows = c.int32()
				case id == 4 && typ == thriftI32:
					h.enc = encoding(c.int32())
				case id == 5 && typ == thriftI32:
					h.defLen = c.int32()
				case id == 6 && typ == thriftI32:
					h.repLen = c.int32()
				case id == 7 && (typ == thriftTrue || typ == thriftFalse):
					h.stored = typ == thriftFalse
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	ok = !c.bad && h.uncompressed >= 0 && h.compressed >= 0 && h.values >= 0 && h.rows >= 0 && h.defLen >= 0 && h.repLen >= 0
	return h, c.pos, ok
}

// pageLocation is where a data page lies and its first row in the row group.
type pageLocation struct {
	off, n int64
	row    int64
}

// decodeOffsetIndex reads the pages of a chunk.
func decodeOffsetIndex(b []byte) ([]pageLocation, bool) {
	c := &compact{b: b}
	var out []pageLocation
	c.fields(func(id int16, typ byte) bool {
		if id != 1 || typ != thriftList {
			return false
		}
		out = listOf(c, thriftStruct, maxPages, func(c *compact) (p pageLocation) {
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == thriftI64:
					p.off = c.int64()
				case id == 2 && typ == thriftI32:
					p.n = int64(c.int32())
				case id == 3 && typ == thriftI64:
					p.row = c.int64()
				default:
					return false
				}
				return true
			})
			return p
		})
		return true
	})
	return out, !c.bad
}

// columnIndex holds the statistics of a chunk's pages.
type columnIndex struct {
	nullPages []bool
	min, max  [][]byte
	nulls     []int64 // empty when unknown
}

func decodeColumnIndex(b []byte) (columnIndex, bool) {
	c := &compact{b: b}
	var x columnIndex
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftList:
			n, _ := c.list()
			for range n {
				x.nullPages = append(x.nullPages, c.byte() == thriftTrue)
			}
		case id == 2 && typ == thriftList:
			x.min = listOf(c, thriftBinary, maxPages, (*compact).bytes)
		case id == 3 && typ == thriftList:
			x.max = listOf(c, thriftBinary, maxPages, (*compact).bytes)
		case id == 5 && typ == thriftList:
			x.nulls = listOf(c, thriftI64, maxPages, (*compact).int64)
		default:
			return false
		}
		return true
	})
	return x, !c.bad && len(x.min) == len(x.nullPages) && len(x.max) == len(x.nullPages) &&
		(len(x.nulls) == 0 || len(x.nulls) == len(x.nullPages))
}
