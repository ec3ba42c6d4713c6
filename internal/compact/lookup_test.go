package compact

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/types"
)

// A big file that compactions ask for few keys again and again gets a local one: the
// changelog stays what it was, the file is read no more, and the local one goes with it.
func TestSparseLookupsUseALocalFile(t *testing.T) {
	for _, engine := range []string{"deduplicate", "first-row", "aggregation"} {
		t.Run(engine, func(t *testing.T) {
			f := newFixture(t, []string{"k"}, map[string]string{
				"changelog-producer": "lookup", "merge-engine": engine, "fields.v.aggregate-function": "sum", "fields.default-aggregate-function": "last_value",
			})
			local := mem.New(mem.Posix)
			b := budget.New(256 << 20)
			store := lookup.NewStore(spill.NewStore(local, "/tmp/x"), b, f.env)
			counted := layer.Count(f.fs)
			f.fio, f.lookups = counted, store
			r := f.rewriter(1)
			const n = 60_000
			var rows []record
			for k := range int64(n) {
				rows = append(rows, record{key: 2 * k, value: 1000 + k*k*7919%1_000_003, seq: k})
			}
			big := f.flush(5, rows...)
			for _, m := range big {
				m.Level = 5
			}
			value := func(k int64) int64 { return rows[k/2].value }
			var below []*datafile.Meta
			seq := int64(n)
			for round := int64(0); ; round++ {
				k := 2 * (round * 977 % n)
				fresh := f.flush(0, record{key: k, value: 1, seq: seq, kind: types.Insert}, record{key: k + 1, value: 2, seq: seq + 1})
				seq += 2
				unit := lsm.Unit{OutputLevel: 4, Files: fresh}
				levels := f.levels(slices.Concat(fresh, big, below), r)
				counted.Reset()
				built := store.Use().Built
				out, err := r.Rewrite(context.Background(), Task{Unit: unit, Highest: 5, Below: Below(levels, &unit)})
				if err != nil {
					t.Fatal(err)
				}
				inFile := counted.BytesRead()
				want := map[string][]string{
					"deduplicate": {fmt.Sprint("-U ", k, " ", value(k)), fmt.Sprint("+U ", k, " 1"), fmt.Sprint("+I ", k+1, " 2")},
					"aggregation": {fmt.Sprint("-U ", k, " ", value(k)), fmt.Sprint("+U ", k, " ", value(k)+1), fmt.Sprint("+I ", k+1, " 2")},
					"first-row":   {fmt.Sprint("+I ", k+1, " 2")},
				}[engine]
				var got []string
				for _, c := range f.rows(out.Changelog...) {
					got = append(got, fmt.Sprint(c.kind, " ", c.key, " ", c.value))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("round %d: %q, want %q", round, got, want)
				}
				if built > 0 {
					if own := 2 * fresh[0].FileSize; inFile > own {
						t.Errorf("round %d: %d bytes read, of files of %d written", round, inFile, own)
					}
					break
				}
				if round > 60 {
					t.Fatal("no local file")
				}
			}
			full := lsm.Unit{OutputLevel: 5, Files: slices.Concat(f.flush(0, record{key: 1, seq: seq}), big)}
			if _, err := r.Rewrite(context.Background(), Task{Unit: full, Highest: 5, DropDeletes: true}); err != nil {
				t.Fatal(err)
			}
			if u := store.Use(); u.Built != 1 || u.Failed != 0 || u.Files != 0 || len(local.Paths()) != 0 {
				t.Errorf("%+v, %v", u, local.Paths())
			}
			store.Close()
			if b.Used() != 0 {
				t.Errorf("%d bytes are reserved", b.Used())
			}
			f.mem.AssertSize(t, 0)
		})
	}
}
