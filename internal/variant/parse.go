package variant

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// maxBytes bounds a value and its dictionary, as in Java.
const maxBytes = 128 << 20

// maxDigits are those of the longest decimal, before and behind the point.
const maxDigits = 38

// ParseJSON reads a value from its JSON text and encodes it byte for byte as Java's
// GenericVariant.fromJson does: names enter the dictionary as they come, objects are
// sorted by name, whole numbers take as few bytes as they fit in, other numbers are
// decimals if they have at most 38 digits and no exponent, and doubles otherwise.
//
// It fails with Invalid on text that is no JSON value or cannot be kept as it stands: a
// name given twice in one object, half a surrogate pair, bytes that are no UTF-8, a
// number beyond doubles. It fails with Unsupported when the value is larger than 128 MB
// or nested more than 1000 times.
func ParseJSON(text string) (types.VariantValue, error) {
	if !utf8.ValidString(text) {
		return types.VariantValue{}, invalid("not UTF-8")
	}
	if err := CheckSurrogates([]byte(text)); err != nil {
		return types.VariantValue{}, invalid(err.Error())
	}
	w := &writer{in: json.NewDecoder(strings.NewReader(text)), ids: map[string]int{}}
	w.in.UseNumber()
	if err := w.next(); err != nil {
		return types.VariantValue{}, err
	}
	if _, err := w.in.Token(); err != io.EOF {
		return types.VariantValue{}, invalid("text after the JSON value")
	}
	metadata, err := w.metadata()
	if err != nil {
		return types.VariantValue{}, err
	}
	return types.VariantValue{Value: w.value, Metadata: metadata}, nil
}

func invalid(cause string) error { return tarnerr.New(tarnerr.Invalid, "parsing VARIANT", cause) }

// writer appends values behind each other; a container's head is put before its
// children once these are known.
type writer struct {
	in    *json.Decoder
	value []byte
	ids   map[string]int // of the names in the dictionary
	names []string       // by id
	bytes int            // of all names
	depth int
}

// field is a child of an object: its name, and where it begins behind the head.
type field struct {
	name       string
	id, offset int
}

func (w *writer) token() (json.Token, error) {
	token, err := w.in.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, invalid(err.Error())
	}
	return token, nil
}

// next encodes the value that comes next in the text.
func (w *writer) next() error {
	token, err := w.token()
	if err != nil {
		return err
	}
	if w.depth++; w.depth > maxDepth {
		return tarnerr.New(tarnerr.Unsupported, "parsing VARIANT", "a value that is nested too deep", "limit", maxDepth)
	}
	defer func() { w.depth-- }()
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			err = w.object()
		} else {
			err = w.list()
		}
	case string:
		w.string(v)
	case json.Number:
		err = w.number(string(v))
	case bool:
		if v {
			w.primitive(yes)
		} else {
			w.primitive(no)
		}
	case nil:
		w.primitive(null)
	}
	if err == nil && len(w.value) > maxBytes {
		err = tooLarge()
	}
	return err
}

func tooLarge() error {
	return tarnerr.New(tarnerr.Unsupported, "parsing VARIANT", "a value that is too large", "limit", maxBytes)
}

func (w *writer) object() error {
	start, fields := len(w.value), []field(nil)
	for w.in.More() {
		token, err := w.token()
		if err != nil {
			return err
		}
		name := token.(string) // a decoder gives nothing else between { and :
		fields = append(fields, field{name, w.id(name), len(w.value) - start})
		if err := w.next(); err != nil {
			return err
		}
	}
	if _, err := w.token(); err != nil {
		return err
	}
	slices.SortStableFunc(fields, func(a, b field) int { return compareUTF16(a.name, b.name) })
	maxID := 0
	for i, f := range fields {
		if i > 0 && f.id == fields[i-1].id {
			return invalid(fmt.Sprintf("%q is given twice", f.name))
		}
		maxID = max(maxID, f.id)
	}
	size := len(w.value) - start
	idWidth, offsetWidth := width(maxID), width(size)
	head := object | (offsetWidth-1)<<2 | (idWidth-1)<<4
	var ids, offsets []byte
	for _, f := range fields {
		ids = appendUnsigned(ids, f.id, idWidth)
		offsets = appendUnsigned(offsets, f.offset, offsetWidth)
	}
	w.enclose(start, head, 1<<6, len(fields), append(ids, appendUnsigned(offsets, size, offsetWidth)...))
	return nil
}

func (w *writer) list() error {
	start, offsets := len(w.value), []int(nil)
	for w.in.More() {
		offsets = append(offsets, len(w.value)-start)
		if err := w.next(); err != nil {
			return err
		}
	}
	if _, err := w.token(); err != nil {
		return err
	}
	size := len(w.value) - start
	offsetWidth := width(size)
	var table []byte
	for _, offset := range append(offsets, size) {
		table = appendUnsigned(table, offset, offsetWidth)
	}
	w.enclose(start, list|(offsetWidth-1)<<2, 1<<4, len(offsets), table)
	return nil
}

// enclose makes the values from start on the n children of a container. Its first
// byte has the bit large when n does not fit one byte.
func (w *writer) enclose(start, head, large, n int, table []byte) {
	numberWidth := 1
	if n > 255 {
		head, numberWidth = head|large, 4
	}
	front := appendUnsigned([]byte{byte(head)}, n, numberWidth)
	w.value = slices.Insert(w.value, start, append(front, table...)...)
}

func (w *writer) id(name string) int {
	id, ok := w.ids[name]
	if !ok {
		id = len(w.names)
		w.ids[name] = id
		w.names = append(w.names, name)
		w.bytes += len(name)
	}
	return id
}

func (w *writer) primitive(typ int) { w.value = append(w.value, byte(typ<<2|primitive)) }

func (w *writer) string(s string) {
	if len(s) < 64 {
		w.value = append(w.value, byte(len(s)<<2|shortString))
	} else {
		w.primitive(longString)
		w.value = appendUnsigned(w.value, len(s), 4)
	}
	w.value = append(w.value, s...)
}

func (w *writer) number(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		typ, size := int8bytes, 8
		switch {
		case n == int64(int8(n)):
			typ, size = int1, 1
		case n == int64(int16(n)):
			typ, size = int2, 2
		case n == int64(int32(n)):
			typ, size = int4, 4
		}
		w.primitive(typ)
		w.value = appendBytes(w.value, uint64(n), size)
		return nil
	}
	if !strings.ContainsAny(text, "eE") && w.decimal(text) {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return invalid("a number beyond the range of doubles: " + text)
	}
	w.primitive(double)
	w.value = appendBytes(w.value, math.Float64bits(x), 8)
	return nil
}

// decimal encodes a number without exponent, if it has not too many digits.
func (w *writer) decimal(text string) bool {
	whole, fraction, _ := strings.Cut(text, ".")
	unscaled := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	most := max(len(unscaled), len(fraction))
	if most > maxDigits {
		return false
	}
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return false
	}
	typ, size := decimal16, 16
	switch {
	case most <= digits[decimal4]:
		typ, size = decimal4, 4
	case most <= digits[decimal8]:
		typ, size = decimal8, 8
	}
	w.primitive(typ)
	w.value = append(w.value, byte(len(fraction)))
	// Two's complement of 16 bytes, of which the lower ones come first.
	low := new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
	w.value = appendBytes(w.value, low, min(size, 8))
	if size == 16 {
		high := new(big.Int).Rsh(n, 64) // rounds down
		w.value = appendBytes(w.value, uint64(high.Int64()), 8)
	}
	return true
}

// metadata is the dictionary.
func (w *writer) metadata() ([]byte, error) {
	each := width(max(w.bytes, len(w.names)))
	if size := 1 + (len(w.names)+2)*each + w.bytes; size > maxBytes {
		return nil, tooLarge()
	}
	out := appendUnsigned([]byte{byte(1 | (each-1)<<6)}, len(w.names), each)
	at := 0
	for _, name := range w.names {
		out = appendUnsigned(out, at, each)
		at += len(name)
	}
	out = appendUnsigned(out, at, each)
	for _, name := range w.names {
		out = append(out, name...)
	}
	return out, nil
}

// width is how many bytes a size, an offset or an id takes.
func width(n int) int {
	switch {
	case n < 1<<8:
		return 1
	case n < 1<<16:
		return 2
	case n < 1<<24:
		return 3
	}
	return 4
}

func appendUnsigned(dst []byte, n, width int) []byte { return appendBytes(dst, uint64(n), width) }

// appendBytes appends the lower bytes of n, the lowest first.
func appendBytes(dst []byte, n uint64, width int) []byte {
	for range width {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// compareUTF16 compares as Java compares strings, by units of UTF-16.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return slices.Compare(utf16.AppendRune(nil, x), utf16.AppendRune(nil, y))
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}
