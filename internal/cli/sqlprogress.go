package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/tarnlake/tarn/tarnsql"
)

const (
	progressDelay = time.Second // a statement that is done by then shows no bar
	progressEvery = 100 * time.Millisecond
)

// sqlProgress shows how far a statement is while nothing of it has been printed.
// A nil one shows nothing.
type sqlProgress struct {
	w       io.Writer  // a terminal
	columns func() int // of it
	read    func() tarnsql.Progress
	after   func(time.Duration) <-chan time.Time

	stop chan struct{} // nil while no statement is watched
	done chan struct{}
}

// begin watches a statement; end must follow.
func (p *sqlProgress) begin() {
	if p == nil || p.stop != nil {
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.watch(p.stop, p.done)
}

// end takes the bar away. When it returns, nothing more is written.
func (p *sqlProgress) end() {
	if p == nil || p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.stop, p.done = nil, nil
}

// barSteps is how fine the bar moves.
const barSteps = 1000

func (p *sqlProgress) watch(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	var bar *progressbar.ProgressBar
	waited := progressDelay
	next := p.after(progressDelay)
	said := "" // what stands in the line instead of the bar
	for {
		select {
		case <-stop:
			if bar != nil || said != "" {
				io.WriteString(p.w, "\r\x1b[K") // a terminal that cannot be written to harms nothing
			}
			return
		case <-next:
		}
		// What a join or a sort does after its tables were read has no end that is known.
		if f, ok := p.read().Fraction(); ok && f < 1 {
			if bar == nil {
				bar = p.bar()
			}
			_ = bar.Set(min(barSteps-1, int(f*barSteps)))
			said = ""
		} else if now := fmt.Sprintf("running, %d s", int(waited.Seconds())); now != said {
			io.WriteString(p.w, "\r\x1b[K"+now)
			said = now
		}
		waited += progressEvery
		next = p.after(progressEvery)
	}
}

// bar is one that stays in its line: what stands beside it takes up to 30 columns.
func (p *sqlProgress) bar() *progressbar.ProgressBar {
	return progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription("reading tables"),
		progressbar.OptionSetWidth(max(1, min(30, p.columns()-30))), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
}
