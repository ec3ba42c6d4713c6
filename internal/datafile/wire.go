package datafile

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// The wire forms are those of Java's DataOutput, big endian, as commit messages
// and splits use them.

// AppendBool and AppendUTF append a boolean and a string in modified UTF-8,
// which is Invalid when it has more than 65,535 bytes.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func AppendUTF(dst []byte, s string) ([]byte, error) {
	at := len(dst)
	dst = append(dst, 0, 0)
	for _, r := range s {
		switch {
		case r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			dst = appendSurrogate(appendSurrogate(dst, hi), lo)
		case r == 0: // so that no encoded string has a zero byte
			dst = append(dst, 0xc0, 0x80)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	if n := len(dst) - at - 2; n > math.MaxUint16 {
		return dst[:at], tarnerr.New(tarnerr.Invalid, "serialising text", "longer than 65535 bytes", "bytes", n)
	}
	binary.BigEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
	return dst, nil
}

func appendSurrogate(dst []byte, r rune) []byte {
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
}

// AppendRow appends a row in its stream form: length, arity, row.
func AppendRow(dst []byte, r binaryrow.Row) []byte {
	if r == nil {
		r = binaryrow.Empty
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(r))), r...)
}

// AppendRecord appends values as a row in the form of Java's row serializer:
// length, row, without arity, which the reader knows.
func AppendRecord(dst []byte, ts []types.Type, vs []types.Value) ([]byte, error) {
	row, err := binaryrow.Encode(ts, vs)
	if err != nil {
		return dst, err
	}
	body := row.Body()
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(body))), body...), nil
}

// Wire reads what the append functions write. The first error sticks: after it
// every read gives zero values.
type Wire struct {
	data []byte
	pos  int
	err  error
}

// NewWire reads from data, whose bytes what is read may share.
func NewWire(data []byte) *Wire { return &Wire{data: data} }

// Err is the first error.
func (w *Wire) Err() error { return w.err }

// Fail sets the error, unless there is one or err is nil.
func (w *Wire) Fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

func (w *Wire) fail(cause string, kv ...any) {
	w.Fail(tarnerr.New(tarnerr.Corrupt, "deserialising", cause, append(kv, "offset", w.pos)...))
}

// End fails unless all was read.
func (w *Wire) End() error {
	if w.err == nil && w.pos != len(w.data) {
		w.fail("bytes after the end", "bytes", len(w.data)-w.pos)
	}
	return w.err
}

// Take reads n bytes, shared.
func (w *Wire) Take(n int) []byte {
	if w.err != nil {
		return nil
	}
	if n < 0 || n > len(w.data)-w.pos {
		w.fail("cut off", "length", n)
		return nil
	}
	b := w.data[w.pos : w.pos+n : w.pos+n]
	w.pos += n
	return b
}

func (w *Wire) Byte() byte {
	if b := w.Take(1); b != nil {
		return b[0]
	}
	return 0
}

func (w *Wire) Bool() bool { return w.Byte() != 0 }

func (w *Wire) Int() int32 {
	if b := w.Take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (w *Wire) Long() int64 {
	if b := w.Take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Count reads how many items follow, each of at least one byte.
func (w *Wire) Count() int {
	n := int(w.Int())
	if n < 0 || n > len(w.data)-w.pos {
		w.fail("more items than bytes", "items", n)
		return 0
	}
	return n
}

// UTF reads a string in modified UTF-8.
func (w *Wire) UTF() string {
	head := w.Take(2)
	if head == nil {
		return ""
	}
	b := w.Take(int(binary.BigEndian.Uint16(head)))
	var out strings.Builder
	var high rune // a surrogate waiting for its other half
	for i := 0; i < len(b); {
		r, n := modifiedRune(b[i:])
		if n == 0 {
			w.fail("not modified UTF-8")
			return ""
		}
		i += n
		switch {
		case high != 0 && r >= 0xdc00 && r < 0xe000:
			out.WriteRune(utf16.DecodeRune(high, r))
			high = 0
			continue
		case high != 0:
			out.WriteRune(utf8.RuneError)
			high = 0
		}
		switch {
		case r >= 0xd800 && r < 0xdc00:
			high = r
		default:
			out.WriteRune(r)
		}
	}
	if high != 0 {
		out.WriteRune(utf8.RuneError)
	}
	return out.String()
}

// modifiedRune reads one UTF-16 unit of one to three bytes; n is 0 when there is none.
func modifiedRune(b []byte) (r rune, n int) {
	switch c := b[0]; {
	case c < 0x80:
		return rune(c), 1
	case c&0xe0 == 0xc0 && len(b) > 1 && b[1]&0xc0 == 0x80:
		return rune(c&0x1f)<<6 | rune(b[1]&0x3f), 2
	case c&0xf0 == 0xe0 && len(b) > 2 && b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80:
		return rune(c&0x0f)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), 3
	}
	return 0, 0
}

// Row reads a row in its stream form.
func (w *Wire) Row() binaryrow.Row {
	r := binaryrow.Row(w.Take(int(w.Int())))
	if w.err == nil {
		w.Fail(r.Check(-1))
	}
	return r
}

// Record reads the first fields of a row written by [AppendRecord], of types ts.
func (w *Wire) Record(ts []types.Type) []types.Value {
	body := w.Take(int(w.Int()))
	if w.err != nil {
		return nil
	}
	row := binaryrow.Row(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(ts))), body...))
	vs, err := binaryrow.Decode(row, ts)
	if err != nil {
		w.Fail(err)
		return nil
	}
	return vs
}
