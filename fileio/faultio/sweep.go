package faultio

import (
	"fmt"
	"testing"
)

// Sweep runs one piece of work without a fault to count its calls, then once
// for each call and each point of failure. run starts from a fresh storage each
// time, does the work on New(storage, plan), checks what came of it, and returns
// the number of calls. Short runs let every third of many calls fail, other ones at each
// point.
func Sweep(t *testing.T, whens []When, run func(t *testing.T, plan Plan) (calls int)) {
	t.Helper()
	var calls int
	t.Run("no-fault", func(t *testing.T) { calls = run(t, None()) })
	if calls == 0 && !t.Failed() {
		t.Fatal("the work made no storage call: nothing was swept")
	}
	step := 1
	if testing.Short() && calls > 12 {
		step = 3
	}
	for i, when := range whens {
		for n := 1 + i%step; n <= calls; n += step {
			t.Run(fmt.Sprintf("%v/%d", when, n), func(t *testing.T) { run(t, FailCall(n, when, 0)) })
		}
	}
}
