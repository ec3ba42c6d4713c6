package sim

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/table"
)

// reader scans the latest snapshot now and then.
type reader struct {
	name  string
	waits []time.Duration // before each scan
}

// seen is what one scan returned.
type seen struct {
	called, ended int64
	rows          []row
}

func newReader(name string, c *choices) *reader {
	r := &reader{name: name}
	for range c.between(1, 4) {
		r.waits = append(r.waits, time.Duration(c.between(0, 200))*time.Millisecond)
	}
	return r
}

func (r *reader) title() string { return r.name }

func (r *reader) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	for len(r.waits) > 0 {
		if !p.pause(r.waits[0]) {
			return true
		}
		r.waits = r.waits[1:]
		p.begin("scan")
		called := p.s.scheduler.steps.Load()
		rows, err := scan(p.ctx, p.table, table.Scan{Workers: 1})
		if p.isDead() {
			return true
		}
		if err != nil {
			p.say("scan:", err)
			if p.op.faults.Load() == 0 && !p.overtaken(err) {
				p.wrong("a scan failed without a fault: %v", err)
			}
			continue
		}
		p.say("sees", stateOf(rows))
		p.s.mu.Lock()
		p.s.scans = append(p.s.scans, seen{called, p.s.scheduler.steps.Load() + 1, rows})
		p.s.mu.Unlock()
	}
	return false
}

// scan reads a table.
func scan(ctx context.Context, t table.Table, what table.Scan) ([]row, error) {
	r, err := t.Scan(ctx, what)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rows []row
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, rowsIn(rec)...)
	}
}

// state is the content of a table: its rows, sorted, as text.
type state string

func stateOf(rows []row) state {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.String()
	}
	slices.Sort(lines)
	return state(strings.Join(lines, " "))
}
