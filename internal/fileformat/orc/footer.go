package orc

import "google.golang.org/protobuf/encoding/protowire"

// The parts of ORC's metadata that a reader needs, decoded from protobuf.
// Source: apache/orc-format's orc_proto.proto.

// Bounds of what metadata lists: in memory an entry takes many times the few
// bytes that can stand for it. No real file comes near them.
const (
	maxTypes   = 1 << 17
	maxStripes = 1 << 20
	maxStreams = 1 << 20
	maxStats   = 1 << 22
)

type postScript struct {
	footerLength   int64
	compression    int32
	blockSize      int64
	version        []uint64
	metadataLength int64
	writerVersion  int32
	magic          string
}

type footer struct {
	stripes     []stripeInfo
	types       []typeInfo
	rows        int64
	indexStride int64
	writer      int32 // what wrote it: 0 = ORC for Java, 1 = ORC for C++
	calendar    int32
	encrypted   bool
}

// Values of the enum CalendarKind.
const (
	calendarUnknown   = 0
	calendarJulian    = 1 // Julian before October 1582, as java.sql.Timestamp
	calendarGregorian = 2
)

type stripeInfo struct {
	offset, index, data, footer, rows int64
}

type kind int32

// Values of the enum Type.Kind.
const (
	kindBoolean kind = iota
	kindByte
	kindShort
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindBinary
	kindTimestamp
	kindList
	kindMap
	kindStruct
	kindUnion
	kindDecimal
	kindDate
	kindVarchar
	kindChar
	kindInstant
)

var kindNames = [...]string{
	"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp", "array", "map", "struct",
	"uniontype", "decimal", "date", "varchar", "char", "timestamp with local time zone",
}

func (k kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "of an unknown number"
}

type typeInfo struct {
	kind             kind
	subtypes         []uint64
	names            []string
	maxLength        int64
	precision, scale int32
	id               string // attribute paimon.id
}

func decodePostScript(b []byte) (postScript, bool) {
	p := postScript{blockSize: 256 << 10}
	ok := fields(b, func(id protowire.Number, v value) (ok bool) {
		switch id {
		case 1:
			return v.int64(&p.footerLength)
		case 2:
			return v.int32(&p.compression)
		case 3:
			return v.int64(&p.blockSize)
		case 4:
			p.version, ok = v.numbers(p.version)
			return ok
		case 5:
			return v.int64(&p.metadataLength)
		case 6:
			return v.int32(&p.writerVersion)
		case 8000:
			return v.string(&p.magic)
		}
		return true
	})
	return p, ok
}

func decodeFooter(b []byte) (footer, bool) {
	var f footer
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 3:
			return v.message(func(b []byte) bool {
				s, ok := decodeStripeInfo(b)
				f.stripes = append(f.stripes, s)
				return ok && len(f.stripes) <= maxStripes
			})
		case 4:
			return v.message(func(b []byte) bool {
				t, ok := decodeType(b)
				f.types = append(f.types, t)
				return ok && len(f.types) <= maxTypes
			})
		case 6:
			return v.int64(&f.rows)
		case 8:
			return v.int64(&f.indexStride)
		case 9:
			return v.int32(&f.writer)
		case 10:
			f.encrypted = true
		case 11:
			return v.int32(&f.calendar)
		}
		return true
	})
	return f, ok
}

func decodeStripeInfo(b []byte) (stripeInfo, bool) {
	var s stripeInfo
	to := []*int64{1: &s.offset, 2: &s.index, 3: &s.data, 4: &s.footer, 5: &s.rows}
	ok := fields(b, func(id protowire.Number, v value) bool {
		if id >= 1 && int(id) < len(to) {
			return v.int64(to[id])
		}
		return true
	})
	return s, ok
}

func decodeType(b []byte) (typeInfo, bool) {
	t := typeInfo{}
	ok := fields(b, func(id protowire.Number, v value) (ok bool) {
		switch id {
		case 1:
			var k int32
			ok = v.int32(&k)
			t.kind = kind(k)
			return ok
		case 2:
			t.subtypes, ok = v.numbers(t.subtypes)
			return ok
		case 3:
			var s string
			ok = v.string(&s)
			t.names = append(t.names, s)
			return ok
		case 4:
			return v.int64(&t.maxLength)
		case 5:
			return v.int32(&t.precision)
		case 6:
			return v.int32(&t.scale)
		case 7:
			return v.message(t.attribute)
		}
		return true
	})
	return t, ok
}

// attribute takes one pair of strings.
func (t *typeInfo) attribute(b []byte) bool {
	var key, text string
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 1:
			return v.string(&key)
		case 2:
			return v.string(&text)
		}
		return true
	})
	if key == "paimon.id" {
		t.id = text
	}
	return ok
}

type streamKind int32

// Values of the enum Stream.Kind that are read.
const (
	streamPresent    streamKind = 0
	streamData       streamKind = 1
	streamLength     streamKind = 2
	streamDictionary streamKind = 3
	streamSecondary  streamKind = 5
	streamRowIndex   streamKind = 6
)

// Values of the enum ColumnEncoding.Kind.
const (
	encDirect       = 0
	encDictionary   = 1
	encDirectV2     = 2
	encDictionaryV2 = 3
)

type stripeFooter struct {
	streams   []streamInfo
	encodings []encoding
	zone      string
	encrypted bool
}

type streamInfo struct {
	kind   streamKind
	column int64
	length int64
}

type encoding struct {
	kind       int32
	dictionary int64 // entries
}

func decodeStripeFooter(b []byte) (stripeFooter, bool) {
	var f stripeFooter
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 1:
			return v.message(func(b []byte) bool {
				s, ok := decodeStreamInfo(b)
				f.streams = append(f.streams, s)
				return ok && len(f.streams) <= maxStreams
			})
		case 2:
			return v.message(func(b []byte) bool {
				e, ok := decodeEncoding(b)
				f.encodings = append(f.encodings, e)
				return ok && len(f.encodings) <= maxTypes
			})
		case 3:
			return v.string(&f.zone)
		case 4:
			f.encrypted = true
		}
		return true
	})
	return f, ok
}

func decodeStreamInfo(b []byte) (streamInfo, bool) {
	var s streamInfo
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 1:
			var k int32
			ok := v.int32(&k)
			s.kind = streamKind(k)
			return ok
		case 2:
			return v.int64(&s.column)
		case 3:
			return v.int64(&s.length)
		}
		return true
	})
	return s, ok
}

func decodeEncoding(b []byte) (encoding, bool) {
	var e encoding
	ok := fields(b, func(id protowire.Number, v value) bool {
		switch id {
		case 1:
			return v.int32(&e.kind)
		case 2:
			return v.int64(&e.dictionary)
		}
		return true
	})
	return e, ok
}
