package formats

import (
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestByName(t *testing.T) {
	for _, name := range []string{"parquet", "PARQUET", "orc", "Orc", "avro"} {
		f, err := ByName(name)
		if err != nil || f.Name() != strings.ToLower(name) {
			t.Errorf("ByName(%q) = %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic"} {
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
