package rows

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestRowsAreThoseOfOtherLanguages compares with what the Java and Python forms
// of the formula gave, summed up by DuckDB.
func TestRowsAreThoseOfOtherLanguages(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{N: 100}, `{"n":100,"id":4950,"seq":4950,"st":5456,"amt":453490761,"qty":48570,"pnull":13,"price":39864.0,"note":8594,"ts":172131996262028,"d":1990723,"flag":57}`},
		{Spec{N: 1_000_000, Keys: 400_000}, `{"n":1000000,"id":200016853812,"seq":499999500000,"st":49476972,"amt":5001575167455,"qty":499336158,"pnull":100006,"price":450093945.3,"note":86380509,"ts":1719841025315481869,"d":19905154904,"flag":499560}`},
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		batches, err := Make(mem, c.spec)
		if err != nil {
			t.Fatal(err)
		}
		var halves [2]Sums
		for i, b := range batches {
			if err := halves[i%2].Add(b); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		halves[0].Merge(&halves[1])
		if got := halves[0].JSON(); got != c.want {
			t.Errorf("%d rows:\n got %s\nwant %s", c.spec.N, got, c.want)
		}
		mem.AssertSize(t, 0)
	}
}
