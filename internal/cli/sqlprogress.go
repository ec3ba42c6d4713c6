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
	w     io.Writer // a terminal
	read  func() tarnsql.Progress
	after func(time.Duration) <-chan time.Time

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
	drawn := false
	for {
		select {
		case <-stop:
			if drawn {
				io.WriteString(p.w, "\r\x1b[K") // a terminal that cannot be written to harms nothing
			}
			return
		case <-next:
		}
		// What a join or a sort does after its tables were read has no end that is known.
		if f, ok := p.read().Fraction(); ok && f < 1 {
			if bar == nil {
				bar = progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(30),
					progressbar.OptionSetDescription("reading tables"), progressbar.OptionUseANSICodes(true),
					progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
			}
			_ = bar.Set(min(barSteps-1, int(f*barSteps)))
		} else {
			fmt.Fprintf(p.w, "\r\x1b[Krunning, %d s", int(waited.Seconds()))
		}
		drawn = true
		waited += progressEvery
		next = p.after(progressEvery)
	}
}
