//go:build interop

package player

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/interop"
)

// Where Java has no VECTOR, neither Java nor Tarn makes a table that Java cannot read.
func TestVectorsOutsideOfAvro(t *testing.T) {
	t.Parallel()
	j, _ := implementations(t)
	for _, format := range []string{"parquet", "orc"} {
		s := shaped(t, "types-vector.json", map[string]any{"options": map[string]string{"file.format": format}})
		for _, c := range []struct {
			who  implementation
			want string
		}{
			{j, "Unsupported type: VECTOR<BOOLEAN, 3>"},
			{itself{}, "files of this format cannot hold the type. file.format=" + format + " type=VECTOR<BOOLEAN, 3>. Use file.format=avro"},
		} {
			q := interop.Query{Warehouse: t.TempDir(), Table: s.Table}
			if err := c.who.Scenario(t.Context(), q.Warehouse, s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T, %s: %v", c.who, format, err)
			}
		}
	}
}
