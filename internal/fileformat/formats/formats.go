package formats

import (
	"strings"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/avro"
	"github.com/tarnlake/tarn/internal/fileformat/orc"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/tarnerr"
)

// Set is the formats of a process, each with what it keeps of one file for the
// next. Safe for concurrent use.
type Set struct{ parquet, orc, avro fileformat.Format }

// NewSet returns formats that have seen no file yet.
func NewSet() *Set { return &Set{parquet.New(), orc.New(), avro.New()} }

// ByName gives the format that a value of file.format, or the ending of a data
// file, stands for. Case does not matter. Formats Paimon knows and Tarn does
// not yet are Unsupported, other names Invalid.
func (s *Set) ByName(name string) (fileformat.Format, error) {
	switch n := strings.ToLower(name); n {
	case "parquet":
		return s.parquet, nil
	case "orc":
		return s.orc, nil
	case "avro":
		return s.avro, nil
	case "csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic":
		return nil, tarnerr.New(tarnerr.Unsupported, "choosing file format", "data files of this format cannot be read or written yet", "format", n).
			WithHint("Set file.format to parquet.")
	}
	return nil, tarnerr.New(tarnerr.Invalid, "choosing file format", "no such format", "format", name).
		WithHint("Set file.format to parquet.")
}

// ByName gives a format for a single use, see [Set.ByName].
func ByName(name string) (fileformat.Format, error) { return NewSet().ByName(name) }
