package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/table"
)

// remover deletes single rows of an append table, as a DELETE does that rewrites
// files: a compaction of the file in the meantime stands in its way and is undone.
type remover struct {
	name  string
	plans []removal
	id    int64
}

type removal struct {
	wait      time.Duration
	file, row int // which
	again     int // so often the same messages are committed again when nobody knows
}

func newRemover(name string, c *choices) *remover {
	j := &remover{name: name}
	for range c.between(1, 3) {
		j.plans = append(j.plans, removal{
			wait: time.Duration(c.between(0, 100)) * time.Millisecond, file: c.below(6), row: c.below(3), again: c.below(3),
		})
	}
	return j
}

func (j *remover) title() string { return j.name }

func (j *remover) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	for len(j.plans) > 0 {
		if !p.pause(j.plans[0].wait) {
			return true
		}
		plan := take(&j.plans)
		j.id++
		p.begin(fmt.Sprintf("removal %d", j.id))
		u := &unit{what: "remove"}
		m, err := p.remove(plan, u)
		switch {
		case p.isDead():
			return true
		case err != nil:
			p.failed("remove", err)
		case m != nil:
			p.commitOften(u, j.name, j.id, m, plan.again)
		}
	}
	return p.isDead()
}

// remove prepares the removal of a row, nil when there is none.
func (p *process) remove(plan removal, u *unit) (*commitmsg.Message, error) {
	entries, err := p.live()
	if len(entries) == 0 || err != nil {
		return nil, err
	}
	opts, err := option.Parse(p.s.schema.Options)
	if err != nil {
		return nil, err
	}
	e := entries[plan.file%len(entries)]
	total := e.TotalBuckets
	m := &commitmsg.Message{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: &total}
	m.DeletedFiles = append(m.DeletedFiles, e.File)
	m.NewFiles, err = p.rewrite(opts, []manifest.Entry{e}, func(rows []numbered) []numbered {
		i := plan.row % len(rows)
		u.removed = append(u.removed, rows[i].row)
		return append(rows[:i:i], rows[i+1:]...)
	})
	return m, err
}

// commitOften commits a message, every other one as a batch, again as long as nobody knows, and gives it up
// when that fails.
func (p *process) commitOften(u *unit, user string, id int64, m *commitmsg.Message, again int) {
	messages := []table.Message{table.WrapMessage(m)}
	if id%2 == 0 {
		user, id = user+"-"+strconv.FormatInt(id, 10), table.BatchIdentifier
	}
	for try := 0; ; try++ {
		name := p.s.trying(p, u, user, id)
		r, err := p.table.Commit(p.ctx, table.Committable{User: user, Identifier: id, Messages: messages})
		status := p.outcome(name, r, err)
		if status == table.Failed && !p.isDead() {
			if err := p.table.AbortMessages(p.ctx, messages); err != nil {
				p.say("abort:", err)
			}
		}
		if status != table.Unknown || try == again || p.isDead() {
			return
		}
	}
}

// failed notes that work failed that must not fail without a fault.
func (p *process) failed(what string, err error) {
	p.say(what+":", err)
	if p.op.faults.Load() == 0 && !p.overtaken(err) {
		p.wrong("%s failed without a fault: %v", what, err)
	}
}
