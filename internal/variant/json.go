package variant

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// The lower two bits of a value's first byte are its basic type, the others tell
// more. Source: paimon-common data/variant/GenericVariantUtil.
const (
	primitive   = 0
	shortString = 1
	object      = 2
	list        = 3
)

// Primitive types.
const (
	null         = 0
	yes          = 1
	no           = 2
	int1         = 3
	int2         = 4
	int4         = 5
	int8bytes    = 6
	double       = 7
	decimal4     = 8
	decimal8     = 9
	decimal16    = 10
	date         = 11
	timestamp    = 12 // microseconds, with local time zone
	timestampNTZ = 13
	float        = 14
	bytes        = 15
	longString   = 16
	uuid         = 20
)

// maxText bounds the text of one value, of which a dictionary may make much more
// than the bytes it is stored in.
const maxText = 256 << 20

// maxDepth is how deep values may be nested, a bound of Tarn's own: each level is a
// call of a function. Jackson 2.14.2, with which Java 1.4.2 parses, has none.
const maxDepth = 1000

// AppendJSON appends a value as JSON text, as Java's Variant.toJson gives it: without
// blanks, fields as they are stored, timestamps in UTC. It fails with Corrupt on bytes
// that are no variant, and with Unsupported when the text is larger than 256 MB or
// nested more than 1000 times.
func AppendJSON(dst, value, metadata []byte) ([]byte, error) {
	r := &reader{value: value, metadata: metadata, left: len(value), most: len(dst) + maxText}
	return r.append(dst, 0)
}

type reader struct {
	value, metadata []byte
	// left is how many bytes may still be read: values that lie in each other are none.
	left  int
	most  int // bytes of the text, and what was before it
	depth int
}

func corrupt(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading VARIANT", cause, kv...)
}

// take is n bytes of the value from pos on.
func (r *reader) take(pos, n int) ([]byte, error) {
	if pos < 0 || n < 0 || pos > len(r.value) || n > len(r.value)-pos {
		return nil, corrupt("the value ends too early", "position", pos, "bytes", n, "of", len(r.value))
	}
	if r.left -= n; r.left < 0 {
		return nil, corrupt("parts of the value lie in each other", "position", pos)
	}
	return r.value[pos : pos+n], nil
}

// unsigned is a little-endian number of up to four bytes, which fits 31 bits.
func unsigned(b []byte) (int, error) {
	var n uint64
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	if n > math.MaxInt32 {
		return 0, corrupt("a size or an offset is too large", "number", n)
	}
	return int(n), nil
}

func (r *reader) append(dst []byte, pos int) ([]byte, error) {
	if len(dst) > r.most {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading VARIANT", "a value whose JSON text is too large", "limit", maxText)
	}
	head, err := r.take(pos, 1)
	if err != nil {
		return nil, err
	}
	info := int(head[0] >> 2)
	if r.depth++; r.depth > maxDepth {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading VARIANT", "a value that is nested too deep", "limit", maxDepth)
	}
	defer func() { r.depth-- }()
	switch head[0] & 3 {
	case shortString:
		b, err := r.take(pos+1, info)
		if err != nil {
			return nil, err
		}
		return appendString(dst, b), nil
	case object:
		return r.appendObject(dst, pos, 1+info>>4&1*3, 1+info>>2&3, 1+info&3)
	case list:
		return r.appendList(dst, pos, 1+info>>2&1*3, 1+info&3)
	}
	return r.appendPrimitive(dst, pos+1, info)
}

// count reads the number of children of a container at pos.
func (r *reader) count(pos, width int) (int, error) {
	b, err := r.take(pos+1, width)
	if err != nil {
		return 0, err
	}
	n, err := unsigned(b)
	if err == nil && n > len(r.value) {
		err = corrupt("more fields or elements than bytes", "number", n)
	}
	return n, err
}

func (r *reader) appendObject(dst []byte, pos, sizeWidth, idWidth, offsetWidth int) ([]byte, error) {
	n, err := r.count(pos, sizeWidth)
	if err != nil {
		return nil, err
	}
	at := pos + 1 + sizeWidth
	ids, err := r.take(at, n*idWidth)
	if err != nil {
		return nil, err
	}
	at += n * idWidth
	offsets, err := r.take(at, (n+1)*offsetWidth)
	if err != nil {
		return nil, err
	}
	at += (n + 1) * offsetWidth
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		id, err := unsigned(ids[i*idWidth : (i+1)*idWidth])
		if err != nil {
			return nil, err
		}
		name, err := r.name(id)
		if err != nil {
			return nil, err
		}
		dst = append(appendString(dst, name), ':')
		offset, err := unsigned(offsets[i*offsetWidth : (i+1)*offsetWidth])
		if err != nil {
			return nil, err
		}
		if dst, err = r.append(dst, at+offset); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (r *reader) appendList(dst []byte, pos, sizeWidth, offsetWidth int) ([]byte, error) {
	n, err := r.count(pos, sizeWidth)
	if err != nil {
		return nil, err
	}
	at := pos + 1 + sizeWidth
	offsets, err := r.take(at, (n+1)*offsetWidth)
	if err != nil {
		return nil, err
	}
	at += (n + 1) * offsetWidth
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		offset, err := unsigned(offsets[i*offsetWidth : (i+1)*offsetWidth])
		if err != nil {
			return nil, err
		}
		if dst, err = r.append(dst, at+offset); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// name is a field name of the dictionary.
func (r *reader) name(id int) ([]byte, error) {
	m := r.metadata
	if len(m) == 0 {
		return nil, corrupt("the dictionary is empty")
	}
	width := 1 + int(m[0]>>6)
	number := func(i int) (int, error) {
		from := 1 + i*width
		if from+width > len(m) {
			return 0, corrupt("the dictionary ends too early", "bytes", len(m))
		}
		return unsigned(m[from : from+width])
	}
	n, err := number(0)
	if err != nil {
		return nil, err
	}
	if id >= n {
		return nil, corrupt("a field name is not in the dictionary", "number", id, "names", n)
	}
	from, err := number(1 + id)
	if err != nil {
		return nil, err
	}
	to, err := number(2 + id)
	if err != nil {
		return nil, err
	}
	names := 1 + (n+2)*width
	if from > to || names > len(m) || to > len(m)-names {
		return nil, corrupt("a field name lies outside of the dictionary", "from", from, "to", to)
	}
	return m[names+from : names+to], nil
}

func (r *reader) appendPrimitive(dst []byte, pos, typ int) ([]byte, error) {
	width, ok := widths[typ]
	if !ok {
		return nil, corrupt("no such type of value", "type", typ)
	}
	b, err := r.take(pos, width)
	if err != nil {
		return nil, err
	}
	switch typ {
	case null:
		return append(dst, "null"...), nil
	case yes:
		return append(dst, "true"...), nil
	case no:
		return append(dst, "false"...), nil
	case int1, int2, int4, int8bytes:
		return types.AppendValueText(dst, types.Type{Root: types.BigInt}, signed(b)), nil
	case double:
		return appendNumber(dst, types.Type{Root: types.Double}, math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case float:
		return appendNumber(dst, types.Type{Root: types.Float}, math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
	case decimal4, decimal8, decimal16:
		return appendDecimal(dst, b, digits[typ])
	case date:
		return append(types.AppendDate(append(dst, '"'), int32(signed(b))), '"'), nil
	case timestamp, timestampNTZ:
		return appendInstant(dst, signed(b), typ == timestamp), nil
	case uuid:
		return appendUUID(dst, b), nil
	}
	n, err := unsigned(b)
	if err != nil {
		return nil, err
	}
	if b, err = r.take(pos+4, n); err != nil {
		return nil, err
	}
	if typ == longString {
		return appendString(dst, b), nil
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), b)
	return append(dst, '"'), nil
}

// widths are the bytes behind the first one, of strings and bytes those of their size.
var widths = map[int]int{
	null: 0, yes: 0, no: 0, int1: 1, int2: 2, int4: 4, int8bytes: 8, double: 8, decimal4: 5, decimal8: 9, decimal16: 17,
	date: 4, timestamp: 8, timestampNTZ: 8, float: 4, bytes: 4, longString: 4, uuid: 16,
}

// digits are the most digits of decimals, before and behind the point.
var digits = map[int]int{decimal4: 9, decimal8: 18, decimal16: 38}

// signed is a little-endian number.
func signed(b []byte) int64 {
	var n uint64
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	unused := 64 - 8*len(b)
	return int64(n<<unused) >> unused
}

// appendNumber writes what JSON has no number for as text.
func appendNumber(dst []byte, t types.Type, v types.Value) []byte {
	text := types.FormatValue(t, v)
	if c := text[len(text)-1]; c < '0' || c > '9' { // NaN, Infinity
		return append(append(append(dst, '"'), text...), '"')
	}
	return append(dst, text...)
}

// appendDecimal writes scale and unscaled value without zeroes at the end.
func appendDecimal(dst, b []byte, most int) ([]byte, error) {
	scale := int(b[0])
	big16 := make([]byte, len(b)-1)
	for i, c := range b[1:] {
		big16[len(big16)-1-i] = c
	}
	n := new(big.Int).SetBytes(big16)
	if big16[0]>>7 == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(big16))))
	}
	text := new(big.Int).Abs(n).String()
	if len(text) > most || scale > most {
		return nil, corrupt("a decimal has too many digits", "digits", len(text), "scale", scale)
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	if len(text) <= scale {
		text = strings.Repeat("0", scale-len(text)+1) + text
	}
	whole, fraction := text[:len(text)-scale], strings.TrimRight(text[len(text)-scale:], "0")
	dst = append(dst, whole...)
	if fraction != "" {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst, nil
}

// appendInstant writes microseconds since 1970.
func appendInstant(dst []byte, micros int64, zoned bool) []byte {
	millis := micros / 1000
	if micros%1000 < 0 {
		millis--
	}
	text := types.AppendInstant(nil, types.Instant{Millis: millis, NanoOfMilli: int32(micros-millis*1000) * 1000})
	day, clock, _ := strings.Cut(string(text), "T")
	dst = append(append(append(append(dst, '"'), day...), ' '), clock...)
	if zoned {
		dst = append(dst, "+00:00"...)
	}
	return append(dst, '"')
}

func appendUUID(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return append(dst, '"')
}

const hexDigits = "0123456789ABCDEF"

// appendString escapes as Jackson does. What is no UTF-8 becomes U+FFFD.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		c, n := utf8.DecodeRune(s)
		s = s[n:]
		switch {
		case c == '"', c == '\\':
			dst = append(dst, '\\', byte(c))
		case c >= 0x20:
			dst = utf8.AppendRune(dst, c)
		case strings.ContainsRune("\b\t\n\f\r", c):
			dst = append(dst, '\\', "btn?fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"')
}
