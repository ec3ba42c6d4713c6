package formats

import (
	"strings"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/avro"
	"github.com/tarnlake/tarn/internal/fileformat/orc"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/tarnerr"
)

// ByName gives the format that a value of file.format, or the ending of a data
// file, stands for. Case does not matter. Formats Paimon knows and Tarn does
// not yet are Unsupported, other names Invalid.
func ByName(name string) (fileformat.Format, error) {
	switch n := strings.ToLower(name); n {
	case "parquet":
		return parquet.New(), nil
	case "orc":
		return orc.New(), nil
	case "avro":
		return avro.New(), nil
	case "csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic":
		return nil, tarnerr.New(tarnerr.Unsupported, "choosing file format", "data files of this format cannot be read or written yet", "format", n).
			WithHint("Set file.format to parquet.")
	}
	return nil, tarnerr.New(tarnerr.Invalid, "choosing file format", "no such format", "format", name).
		WithHint("Set file.format to parquet.")
}
