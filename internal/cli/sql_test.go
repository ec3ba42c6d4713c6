package cli

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

func TestDistinct(t *testing.T) {
	for in, want := range map[string]string{"a b": "a b", "a a": "a a_1", "a a a_1 a": "a a_2 a_1 a_3", "": ""} {
		var fields []types.Field
		for _, n := range strings.Fields(in) {
			fields = append(fields, types.Field{Name: n})
		}
		var names []string
		for _, f := range distinct(fields) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
