package faultio

import (
	"math/rand/v2"

	"github.com/tarnlake/tarn/tarnerr"
)

// Call is one call that can fail. Calls are numbered from 1 in the order they come.
type Call struct {
	N      int
	Method string // open, read, create, write, close, abort, create-if-absent, replace, delete, list, stat, rename, delete-all, make-dir
	Path   string
}

// Changes reports that the call changes the storage.
func (c Call) Changes() bool {
	switch c.Method {
	case "open", "read", "list", "stat":
		return false
	}
	return true
}

// When is the point at which a call fails.
type When uint8

const (
	Never When = iota
	// Before: the call had no effect and says so.
	Before
	// After: the call had its effect and fails nevertheless.
	After
	// Halfway: a write takes the first half of its bytes; another call that
	// changes something fails as After, one that only reads as Before.
	Halfway
)

// String names the point in test names.
func (w When) String() string { return [...]string{"never", "before", "after", "halfway"}[w] }

// Fault is what happens to one call. The zero value is no fault.
type Fault struct {
	When When
	// Kind of the error; when it is the zero value, Unavailable for a call
	// without effect, Ambiguous for the others.
	Kind tarnerr.Kind
	// Cause is the error's text; "injected fault" when empty.
	Cause string
}

// Plan decides which calls fail. It is asked for one call at a time.
type Plan interface {
	Decide(Call) Fault
}

// PlanFunc is a function as a plan.
type PlanFunc func(Call) Fault

// Decide implements Plan.
func (f PlanFunc) Decide(c Call) Fault { return f(c) }

// None lets every call pass.
func None() Plan { return PlanFunc(func(Call) Fault { return Fault{} }) }

// FailCall fails call n; kind may be left zero for the one that fits.
func FailCall(n int, when When, kind tarnerr.Kind) Plan {
	return PlanFunc(func(c Call) Fault {
		if c.N != n {
			return Fault{}
		}
		return Fault{When: when, Kind: kind}
	})
}

// FailWhere fails each call that match accepts.
func FailWhere(match func(Call) bool, when When, kind tarnerr.Kind) Plan {
	return PlanFunc(func(c Call) Fault {
		if !match(c) {
			return Fault{}
		}
		return Fault{When: when, Kind: kind}
	})
}

// Crash fails call n at the point given and every later call before its effect,
// as if the process had died in the call.
func Crash(n int, when When) Plan {
	return PlanFunc(func(c Call) Fault {
		switch {
		case c.N < n:
			return Fault{}
		case c.N == n:
			return Fault{When: when}
		}
		return Fault{When: Before, Cause: "the process has crashed"}
	})
}

// DiskFull fails every call from n on that needs space. Reading and deleting go on.
func DiskFull(n int) Plan {
	return PlanFunc(func(c Call) Fault {
		if c.N < n {
			return Fault{}
		}
		f := Fault{When: Before, Kind: tarnerr.Unavailable, Cause: "no space left on device"}
		switch c.Method {
		case "write":
			f.When = Halfway
			return f
		case "create", "close", "create-if-absent", "replace", "make-dir":
			return f
		}
		return Fault{}
	})
}

// Random fails each call with the probability rate, at a random point. One seed
// gives one history as long as the calls come in one order.
func Random(seed uint64, rate float64) Plan {
	rnd := rand.New(rand.NewPCG(seed, seed))
	return PlanFunc(func(c Call) Fault {
		// Both numbers are drawn for each call so that a fault moves no later one.
		hit, when := rnd.Float64() < rate, Before+When(rnd.IntN(3))
		if !hit {
			return Fault{}
		}
		return Fault{When: when}
	})
}
