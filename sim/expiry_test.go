package sim

import (
	"bytes"
	"testing"
)

// expiryRuns is how many there are.
const expiryRuns = 600

// TestExpirySeeds runs seeds with expirers.
func TestExpirySeeds(t *testing.T) {
	n := uint64(expiryRuns)
	if !full || testing.Short() {
		n = 40
	}
	if *seeds > 0 {
		n = uint64(*seeds)
	}
	bad := uint64(0)
	for k := uint64(0); k < n && bad < *failures; k++ {
		if r := Run(t, expirySeeds+(*first-1+k)%n, nil); len(r.Violations) > 0 {
			bad++
			fail(t, r)
		}
	}
}

// TestExpiryRepeats: with expirers, too, a seed gives the same run, and so does its trace.
func TestExpiryRepeats(t *testing.T) {
	for seed := uint64(expirySeeds); seed < expirySeeds+10; seed++ {
		first := Run(t, seed, nil).Trace()
		if again := Run(t, seed, nil).Trace(); !bytes.Equal(first, again) {
			t.Fatalf("seed %d: the traces differ:\n%s", seed, firstDifference(first, again))
		}
		replay(t, first)
	}
}
