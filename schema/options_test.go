package schema

import (
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/option"
)

// The golden tables of the features that are there carry no option that
// refuses reads, under any of their schemas; those of missing features do.
func TestGoldenOptions(t *testing.T) {
	set := golden.Open(t)
	readable := set.Match(t, "append-*", "fmt-parquet-*", "lsm-*", "manifest-merge", "manifest-none", "manifest-snappy", "part-*", "pk-*",
		"stats-*", "types-scalar-0.8.2", "types-scalar-1.0.1", "types-scalar-parquet", "types-scalar-parquet-pk", "types-nested-parquet",
		"evo-columns-parquet-*", "expired-*", "many-writers", "renamed-table", "snapshot-kinds", "empty-table", "deep-history-aux",
		"agg-*", "pu-*", "first-row*", "py-append", "py-append-bucketed", "py-append-partitioned", "py-pk", "py-pk-rowkind", "py-types")
	refused := set.Match(t, "dv-pk-1.4.2", "data-evolution", "branch-fallback")
	for _, c := range []struct {
		names []string
		want  bool
	}{{readable, true}, {refused, false}} {
		for _, name := range c.names {
			tb := set.Table(t, name)
			s, err := NewStore(tb.FileIO, tb.Path(), env.Seeded(1, time.UnixMilli(0))).Latest(t.Context())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			err = option.CheckRead(s.Options, option.Table{PrimaryKey: s.HasPrimaryKey()})
			if (err == nil) != c.want {
				t.Errorf("%s: %v, want readable %v", name, err, c.want)
			}
		}
	}
}
