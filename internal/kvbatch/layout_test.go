package kvbatch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

func names(fields []types.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprintf("%s %d %v", f.Name, f.ID, f.Type.Nullable))
	}
	return out
}

func TestFileFields(t *testing.T) {
	b := types.Field{ID: 1, Name: "b", Type: types.Type{Root: types.Int}}
	a := types.Field{ID: 0, Name: "a", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}}
	for _, c := range []struct {
		thin bool
		want []string
	}{
		{false, []string{"_KEY_b 1073741824 false", "_SEQUENCE_NUMBER 2147483646 false", "_VALUE_KIND 2147483645 false", "a 0 true", "b 1 false"}},
		{true, []string{"_SEQUENCE_NUMBER 2147483646 false", "_VALUE_KIND 2147483645 false", "a 0 true", "b 1 false"}},
	} {
		if diff := cmp.Diff(c.want, names(FileFields([]types.Field{b}, []types.Field{a, b}, c.thin))); diff != "" {
			t.Errorf("thin %v: %s", c.thin, diff)
		}
	}
}

func TestMergeFieldsStandWhereTheConstantsSay(t *testing.T) {
	f := MergeFields([]types.Field{{Name: "v"}})
	if f[SequenceColumn].Name != types.SequenceNumberName || f[KindColumn].Name != types.ValueKindName || f[ValueColumns].Name != "v" {
		t.Errorf("columns are %v", names(f))
	}
}
