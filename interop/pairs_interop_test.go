//go:build interop

package interop

import (
	"fmt"
	"testing"

	"github.com/tarnlake/tarn/metamorphic"
	"github.com/tarnlake/tarn/schema"
)

// createOp is the operation of a scenario that makes a table.
type createOp struct {
	Op            string            `json:"op"`
	Table         string            `json:"table"`
	Columns       [][2]string       `json:"columns"`
	PrimaryKeys   []string          `json:"primary_keys"`
	PartitionKeys []string          `json:"partition_keys"`
	Options       map[string]string `json:"options"`
	Fails         *string           `json:"fails,omitempty"` // with an error that has this text
}

// creations is a scenario of such operations.
type creations struct {
	Name string     `json:"name"`
	Ops  []createOp `json:"ops"`
}

func creation(name string, s schema.Spec) createOp {
	o := createOp{Op: "create_table", Table: name, PrimaryKeys: s.PrimaryKeys, PartitionKeys: s.PartitionKeys, Options: s.Options}
	for _, f := range s.Fields {
		o.Columns = append(o.Columns, [2]string{f.Name, f.Type.String()})
	}
	return o
}

// saidByJava is what Java says of the pairs that the metamorphic suite leaves out, by what
// Tarn says.
var saidByJava = map[string]string{
	"takes no sequence.field":               "Do not support use sequence field on FIRST_ROW merge engine",
	"none and lookup only":                  "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine",
	"ignored and removed on delete at once": "have conflicting behavior so should not be enabled at the same time",
}

// Java makes tables of all pairs of option values that Tarn makes, and none of those that
// it refuses, for the same reason: the metamorphic suite leaves out what no table can be,
// and nothing else.
func TestRefusedPairsAreJavas(t *testing.T) {
	all := creations{Name: "pairs"}
	var names string
	refused := 0
	for i, p := range metamorphic.Tables() {
		o := creation(fmt.Sprint("db.t", i+1), p.Spec)
		if p.Refused != "" {
			refused++
			said := saidByJava[p.Refused]
			if said == "" {
				t.Fatalf("what does Java say where Tarn says %q?", p.Refused)
			}
			o.Fails = &said
		}
		all.Ops = append(all.Ops, o)
		names += fmt.Sprintf("op %d, refused %q:\n%s\n", i+1, p.Refused, p.Values)
	}
	if err := judge(t).Scenario(t.Context(), t.TempDir(), all); err != nil {
		t.Errorf("%v, of\n%s", err, names)
	}
	if len(all.Ops) < 100 || refused < 5 {
		t.Errorf("%d tables, %d refused", len(all.Ops), refused)
	}
}
