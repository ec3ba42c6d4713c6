//go:build interop

package interop

import (
	"fmt"
	"testing"

	"github.com/tarnlake/tarn/metamorphic"
)

// Java makes tables of all pairs of option values that Tarn makes, and none of those that
// it refuses: the metamorphic suite leaves out what no table can be, and nothing else.
func TestRefusedPairsAreJavas(t *testing.T) {
	type op struct {
		Op            string            `json:"op"`
		Table         string            `json:"table"`
		Columns       [][2]string       `json:"columns"`
		PrimaryKeys   []string          `json:"primary_keys"`
		PartitionKeys []string          `json:"partition_keys"`
		Options       map[string]string `json:"options"`
		Fails         *string           `json:"fails,omitempty"` // with an error that has this text
	}
	var ops []op
	var names string
	refused := 0
	for i, p := range metamorphic.Tables() {
		o := op{
			Op: "create_table", Table: fmt.Sprint("db.t", i+1), PrimaryKeys: p.Spec.PrimaryKeys, PartitionKeys: p.Spec.PartitionKeys, Options: p.Spec.Options,
		}
		for _, f := range p.Spec.Fields {
			o.Columns = append(o.Columns, [2]string{f.Name, f.Type.String()})
		}
		if p.Refused != "" {
			refused++
			o.Fails = new(string)
		}
		ops = append(ops, o)
		names += fmt.Sprintf("op %d, refused %q:\n%s\n", i+1, p.Refused, p.Values)
	}
	err := judge(t).Scenario(t.Context(), t.TempDir(), struct {
		Name string `json:"name"`
		Ops  []op   `json:"ops"`
	}{"pairs", ops})
	if err != nil {
		t.Errorf("%v, of\n%s", err, names)
	}
	if len(ops) < 100 || refused < 5 {
		t.Errorf("%d tables, %d refused", len(ops), refused)
	}
}
