package formats

import (
	"errors"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestByName(t *testing.T) {
	for _, name := range []string{"parquet", "PARQUET"} {
		f, err := ByName(name)
		if err != nil || f.Name() != "parquet" {
			t.Errorf("ByName(%q) = %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"orc", "avro", "csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic"} {
		if _, err := ByName(name); !errors.Is(err, tarnerr.Unsupported) {
			t.Errorf("ByName(%q) = %v, want Unsupported", name, err)
		}
	}
	for _, name := range []string{"", "parkett"} {
		if _, err := ByName(name); !errors.Is(err, tarnerr.Invalid) {
			t.Errorf("ByName(%q) = %v, want Invalid", name, err)
		}
	}
}
