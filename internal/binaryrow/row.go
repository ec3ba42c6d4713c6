package binaryrow

import (
	"encoding/binary"

	"github.com/tarnlake/tarn/tarnerr"
)

// Row is one BinaryRow in its stored form: a 4-byte big-endian arity, then the
// row's bytes (null bits, 8-byte slots, variable part). Rows are immutable and
// compare equal as strings exactly when they are equal rows of one type.
type Row []byte

// Empty is the row of arity 0: the partition of an unpartitioned table and the
// key of an append file.
var Empty = Row(make([]byte, 12))

// Arity is the number of fields.
func (r Row) Arity() int {
	if len(r) < 4 {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(r)))
}

// Body is the row without its arity prefix; hashes run over it.
func (r Row) Body() []byte {
	if len(r) < 4 {
		return nil
	}
	return r[4:]
}

// Check reports whether r is long enough for its arity, which must be want
// (any when want is negative). It guards every decoder against cut rows.
func (r Row) Check(want int) error {
	if len(r) < 4 {
		return tarnerr.New(tarnerr.Corrupt, "decoding binary row", "row shorter than its arity prefix", "bytes", len(r))
	}
	n := r.Arity()
	if n < 0 || n > (len(r)-4)/8 || len(r.Body()) < NullBitsSize(n)+8*n {
		return tarnerr.New(tarnerr.Corrupt, "decoding binary row", "row shorter than its fields", "bytes", len(r), "arity", n)
	}
	if want >= 0 && n != want {
		return tarnerr.New(tarnerr.Corrupt, "decoding binary row", "wrong number of fields", "arity", n, "want", want)
	}
	return nil
}

// NullBitsSize is the size in bytes of the header and null bits of a row of arity n.
func NullBitsSize(n int) int { return (n + 63 + 8) / 64 * 8 }
