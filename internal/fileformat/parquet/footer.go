package parquet

// The parts of Parquet's metadata that a reader needs, decoded from Thrift.
// Source: parquet-format's parquet.thrift.

type physical int32

const (
	physBoolean physical = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physByteArray
	physFixed
)

var physicalNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

func (p physical) String() string {
	if p >= 0 && int(p) < len(physicalNames) {
		return physicalNames[p]
	}
	return "group"
}

type repetition int32

const (
	required repetition = iota
	optional
	repeated
)

// logicalKind is the member of the union LogicalType, or what the older
// ConvertedType stands for.
type logicalKind int16

const (
	logicalNone    logicalKind = 0
	logicalString  logicalKind = 1
	logicalMap     logicalKind = 2
	logicalList    logicalKind = 3
	logicalEnum    logicalKind = 4
	logicalDecimal logicalKind = 5
	logicalDate    logicalKind = 6
	logicalTime    logicalKind = 7
	logicalStamp   logicalKind = 8
	logicalInteger logicalKind = 10
	logicalJSON    logicalKind = 12
	logicalOther   logicalKind = 99 // known to others, not to us: the bytes are what they are
)

// timeUnit is the member of the union TimeUnit.
type timeUnit int16

const (
	millis timeUnit = 1
	micros timeUnit = 2
	nanos  timeUnit = 3
)

type schemaElement struct {
	typ         physical
	typeLength  int32
	repetition  repetition
	name        string
	children    int32
	hasChildren bool
	id          int32 // −1 = none

	logical          logicalKind
	unit             timeUnit
	utc              bool
	width            int8 // bits of an integer
	signed           bool
	precision, scale int32
}

type fileMeta struct {
	schema    []schemaElement
	rows      int64
	groups    []rowGroup
	createdBy string
	ordered   []bool // columns whose order is the type's, by leaf
	encrypted bool
}

type rowGroup struct {
	columns []chunkMeta
	bytes   int64
	rows    int64
}

type chunkMeta struct {
	typ          physical
	codec        int32
	values       int64
	uncompressed int64
	compressed   int64
	dataOffset   int64
	dictOffset   int64
	stats        statistics
	path         []string
	otherFile    bool
	encrypted    bool
	offsetIndex  span
	columnIndex  span
	hasMeta      bool
}

// span is a range of bytes in the file.
type span struct{ off, n int64 }

// statistics of a chunk; nil bounds are unknown, nulls −1 is unknown.
type statistics struct {
	oldMin, oldMax []byte // deprecated: signed order whatever the type
	min, max       []byte
	nulls          int64
}

func decodeFooter(b []byte) (fileMeta, bool) {
	c := &compact{b: b}
	m := fileMeta{}
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 2 && typ == thriftList:
			m.schema = listOf(c, thriftStruct, maxColumns, decodeSchemaElement)
		case id == 3 && typ == thriftI64:
			m.rows = c.int64()
		case id == 4 && typ == thriftList:
			m.groups = listOf(c, thriftStruct, maxGroups, decodeRowGroup)
		case id == 6 && typ == thriftBinary:
			m.createdBy = c.string()
		case id == 7 && typ == thriftList:
			m.ordered = listOf(c, thriftStruct, maxColumns, func(c *compact) (typeDefined bool) {
				c.fields(func(id int16, _ byte) bool {
					typeDefined = typeDefined || id == 1
					return false
				})
				return typeDefined
			})
		case id == 8:
			m.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	return m, !c.bad
}

// Values of the enum ConvertedType.
const (
	convertedUTF8 = iota
	convertedMap
	convertedMapKeyValue
	convertedList
	convertedEnum
	convertedDecimal
	convertedDate
	convertedTimeMillis
	convertedTimeMicros
	convertedTimestampMillis
	convertedTimestampMicros
	convertedUint8
	convertedUint16
	convertedUint32
	convertedUint64
	convertedInt8
	convertedInt16
	convertedInt32
	convertedInt64
	convertedJSON
)

func decodeSchemaElement(c *compact) schemaElement {
	e := schemaElement{id: -1, typ: -1}
	converted := int32(-1)
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftI32:
			e.typ = physical(c.int32())
		case id == 2 && typ == thriftI32:
			e.typeLength = c.int32()
		case id == 3 && typ == thriftI32:
			e.repetition = repetition(c.int32())
		case id == 4 && typ == thriftBinary:
			e.name = c.string()
		case id == 5 && typ == thriftI32:
			e.children, e.hasChildren = c.int32(), true
		case id == 6 && typ == thriftI32:
			converted = c.int32()
		case id == 7 && typ == thriftI32:
			e.scale = c.int32()
		case id == 8 && typ == thriftI32:
			e.precision = c.int32()
		case id == 9 && typ == thriftI32:
			e.id = c.int32()
		case id == 10 && typ == thriftStruct:
			decodeLogicalType(c, &e)
		default:
			return false
		}
		return true
	})
	if e.logical == logicalNone {
		e.fromConverted(converted)
	}
	return e
}

func (e *schemaElement) fromConverted(converted int32) {
	switch converted {
	case convertedUTF8:
		e.logical = logicalString
	case convertedMap, convertedMapKeyValue:
		e.logical = logicalMap
	case convertedList:
		e.logical = logicalList
	case convertedEnum:
		e.logical = logicalEnum
	case convertedJSON:
		e.logical = logicalJSON
	case convertedDecimal:
		e.logical = logicalDecimal
	case convertedDate:
		e.logical = logicalDate
	case convertedTimeMillis:
		e.logical, e.unit, e.utc = logicalTime, millis, true
	case convertedTimeMicros:
		e.logical, e.unit, e.utc = logicalTime, micros, true
	case convertedTimestampMillis:
		e.logical, e.unit, e.utc = logicalStamp, millis, true
	case convertedTimestampMicros:
		e.logical, e.unit, e.utc = logicalStamp, micros, true
	case convertedUint8, convertedUint16, convertedUint32, convertedUint64:
		e.logical, e.width = logicalInteger, 8<<(converted-convertedUint8)
	case convertedInt8, convertedInt16, convertedInt32, convertedInt64:
		e.logical, e.width, e.signed = logicalInteger, 8<<(converted-convertedInt8), true
	}
}

func decodeLogicalType(c *compact, e *schemaElement) {
	c.fields(func(id int16, typ byte) bool {
		if typ != thriftStruct {
			return false
		}
		e.logical = logicalKind(id)
		switch e.logical {
		case logicalDecimal:
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == thriftI32:
					e.scale = c.int32()
				case id == 2 && typ == thriftI32:
					e.precision = c.int32()
				default:
					return false
				}
				return true
			})
		case logicalTime, logicalStamp:
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && (typ == thriftTrue || typ == thriftFalse):
					e.utc = typ == thriftTrue
				case id == 2 && typ == thriftStruct:
					c.fields(func(id int16, _ byte) bool {
						e.unit = timeUnit(id)
						return false
					})
				default:
					return false
				}
				return true
			})
		case logicalInteger:
			c.fields(func(id int16, typ byte) bool {
				switch {
				case id == 1 && typ == thriftByte:
					e.width = int8(c.byte())
				case id == 2 && (typ == thriftTrue || typ == thriftFalse):
					e.signed = typ == thriftTrue
				default:
					return false
				}
				return true
			})
		case logicalString, logicalMap, logicalList, logicalEnum, logicalDate, logicalJSON:
			return false
		default:
			e.logical = logicalOther
			return false
		}
		return true
	})
}

func decodeRowGroup(c *compact) rowGroup {
	var g rowGroup
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftList:
			g.columns = listOf(c, thriftStruct, maxColumns, decodeChunk)
		case id == 2 && typ == thriftI64:
			g.bytes = c.int64()
		case id == 3 && typ == thriftI64:
			g.rows = c.int64()
		default:
			return false
		}
		return true
	})
	return g
}

func decodeChunk(c *compact) chunkMeta {
	m := chunkMeta{stats: statistics{nulls: -1}}
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftBinary:
			m.otherFile = len(c.bytes()) > 0
		case id == 3 && typ == thriftStruct:
			m.hasMeta = true
			decodeChunkMeta(c, &m)
		case id == 4 && typ == thriftI64:
			m.offsetIndex.off = c.int64()
		case id == 5 && typ == thriftI32:
			m.offsetIndex.n = int64(c.int32())
		case id == 6 && typ == thriftI64:
			m.columnIndex.off = c.int64()
		case id == 7 && typ == thriftI32:
			m.columnIndex.n = int64(c.int32())
		case id == 8 || id == 9:
			m.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	if !m.hasMeta && !m.encrypted && !m.otherFile {
		c.fail()
	}
	return m
}

func decodeChunkMeta(c *compact, m *chunkMeta) {
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftI32:
			m.typ = physical(c.int32())
		case id == 3 && typ == thriftList:
			m.path = listOf(c, thriftBinary, maxColumns, (*compact).string)
		case id == 4 && typ == thriftI32:
			m.codec = c.int32()
		case id == 5 && typ == thriftI64:
			m.values = c.int64()
		case id == 6 && typ == thriftI64:
			m.uncompressed = c.int64()
		case id == 7 && typ == thriftI64:
			m.compressed = c.int64()
		case id == 9 && typ == thriftI64:
			m.dataOffset = c.int64()
		case id == 11 && typ == thriftI64:
			m.dictOffset = c.int64()
		case id == 12 && typ == thriftStruct:
			m.stats = decodeStatistics(c)
		default:
			return false
		}
		return true
	})
}

func decodeStatistics(c *compact) statistics {
	s := statistics{nulls: -1}
	c.fields(func(id int16, typ byte) bool {
		switch {
		case id == 1 && typ == thriftBinary:
			s.oldMax = c.bytes()
		case id == 2 && typ == thriftBinary:
			s.oldMin = c.bytes()
		case id == 3 && typ == thriftI64:
			s.nulls = c.int64()
		case id == 5 && typ == thriftBinary:
			s.max = c.bytes()
		case id == 6 && typ == thriftBinary:
			s.min = c.bytes()
		default:
			return false
		}
		return true
	})
	return s
}
