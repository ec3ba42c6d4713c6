package layer

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tarnlake/tarn/fileio"
)

// Counter is a FileIO that counts calls, failed ones included. Tests assert the
// cost of a commit or a scan with it. Safe for concurrent use.
type Counter struct {
	tap
	counts counts
}

type counts struct {
	calls        [methods]atomic.Int64
	read, writes atomic.Int64
}

// Count wraps fio with a counter.
func Count(fio fileio.FileIO) *Counter {
	c := &Counter{}
	c.tap = tap{fio, &c.counts}
	return c
}

// Calls is the number of calls of m.
func (c *Counter) Calls(m Method) int64 { return c.counts.calls[m].Load() }

// Total is the number of calls of the FileIO itself, what Java counts as file
// operations: reads and writes of open files are not among them.
func (c *Counter) Total() int64 {
	var n int64
	for m := range Read {
		n += c.Calls(m)
	}
	return n
}

// BytesRead is the number of bytes read from files.
func (c *Counter) BytesRead() int64 { return c.counts.read.Load() }

// BytesWritten is the number of bytes written to files.
func (c *Counter) BytesWritten() int64 { return c.counts.writes.Load() }

// Reset sets all counts to zero.
func (c *Counter) Reset() {
	for m := range c.counts.calls {
		c.counts.calls[m].Store(0)
	}
	c.counts.read.Store(0)
	c.counts.writes.Store(0)
}

// String lists the counts that are not zero: "open=2 create=1 read=5".
func (c *Counter) String() string {
	var parts []string
	for m := range methods {
		if n := c.Calls(m); n > 0 {
			parts = append(parts, fmt.Sprintf("%v=%d", m, n))
		}
	}
	return strings.Join(parts, " ")
}

func (*counts) begin() time.Time { return time.Time{} }

func (c *counts) end(m Method, _ string, n int64, _ time.Time, _ error) {
	c.calls[m].Add(1)
	if m == Read {
		c.read.Add(n)
	} else {
		c.writes.Add(n)
	}
}
