package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/tarnsql"
)

// TestProgress: nothing before the delay, then how far the tables are read, then
// how long the rest takes; and nothing is left of it.
func TestProgress(t *testing.T) {
	out := &strings.Builder{}
	asked, ticks := make(chan time.Duration), make(chan time.Time)
	at := make(chan tarnsql.Progress, 1)
	p := &sqlProgress{
		w: out, columns: func() int { return 80 }, read: func() tarnsql.Progress { return <-at },
		after: func(d time.Duration) <-chan time.Time { asked <- d; return ticks },
	}
	p.begin()
	p.begin() // a second time changes nothing
	if d := <-asked; d != progressDelay {
		t.Errorf("the first look is after %v", d)
	}
	for _, step := range []tarnsql.Progress{{Rows: 200, Done: 50}, {Rows: 200, Done: 150}, {Rows: 200, Done: 200}, {Rows: 200, Done: 200}} {
		at <- step
		ticks <- time.Time{}
		if d := <-asked; d != progressEvery {
			t.Errorf("the next look is after %v", d)
		}
	}
	p.end()
	p.end()
	got := out.String()
	for _, want := range []string{"reading tables  25% ", "reading tables  75% ", "\r\x1b[Krunning, 1 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if n := strings.Count(got, "running"); n != 1 {
		t.Errorf("the same is written %d times: %q", n, got)
	}
	if strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("something stays on the screen: %q", got)
	}
	// A statement that is fast enough shows nothing.
	out.Reset()
	p.begin()
	<-asked
	p.end()
	if out.Len() > 0 {
		t.Errorf("a bar without need: %q", out)
	}
	var nobody *sqlProgress
	nobody.begin()
	nobody.end()
}
