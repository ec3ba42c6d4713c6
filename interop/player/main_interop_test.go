//go:build interop

package player

import (
	"context"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/interop"
)

// The counterparts of all tests, whose tables lie apart: a JVM is slow until it has run
// for a while. There are as many as tests that run at once, but not more than two.
var (
	judges  = counterparts[*interop.Judge]{start: interop.StartJudge}
	pythons = counterparts[*interop.Python]{start: interop.StartPython}
)

func TestMain(m *testing.M) {
	code := m.Run()
	judges.close()
	pythons.close()
	os.Exit(code)
}

// counterparts are started by the tests that ask for them. They have requests carried
// out one after another, so each test is given the one that the fewest have.
type counterparts[P io.Closer] struct {
	start func(context.Context) (P, error)

	mu    sync.Mutex
	all   []func() (P, error)
	tests []int // that have each
}

func (c *counterparts[P]) of(t *testing.T) P {
	t.Helper()
	one, release := c.take()
	t.Cleanup(release)
	p, err := one()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (c *counterparts[P]) take() (func() (P, error), func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.tests, 0)
	switch {
	case i >= 0:
	case len(c.all) < min(2, runtime.GOMAXPROCS(0)):
		i = len(c.all)
		c.all = append(c.all, sync.OnceValues(func() (P, error) { return c.start(context.Background()) }))
		c.tests = append(c.tests, 0)
	default:
		i = slices.Index(c.tests, slices.Min(c.tests))
	}
	c.tests[i]++
	return c.all[i], func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tests[i]--
	}
}

// close ends those that run, after the tests.
func (c *counterparts[P]) close() {
	for _, one := range c.all {
		if p, err := one(); err == nil {
			p.Close()
		}
	}
}

// implementations are the two others, for a test and its parts.
func implementations(t *testing.T) (*interop.Judge, *interop.Python) {
	t.Helper()
	return judges.of(t), pythons.of(t)
}
