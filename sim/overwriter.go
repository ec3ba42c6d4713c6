package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tarnlake/tarn/table"
)

// overwriter replaces what partitions hold, or drops them.
type overwriter struct {
	name  string
	plans []overwriting
	at    int
	tries int
}

type overwriting struct {
	unit    *unit
	wait    time.Duration
	dynamic bool
	drop    bool // without rows: DropPartitions or Truncate
}

func newOverwriter(name string, c *choices, rows *rowSource, partitioned bool) *overwriter {
	j := &overwriter{name: name}
	for range c.between(1, 3) {
		o := overwriting{
			unit: &unit{what: "overwrite"}, wait: time.Duration(c.between(0, 100)) * time.Millisecond,
			dynamic: c.percent(50), drop: c.percent(30),
		}
		u := o.unit
		if !o.drop {
			u.rows = rows.rows(c.between(1, 3))
		}
		switch {
		case !partitioned:
			u.overwritten = partitions
		case o.drop || !o.dynamic:
			u.overwritten = partitions
			if c.percent(80) { // of one partition, which all rows are put into then
				u.overwritten = []string{pick(c, partitions...)}
				for i := range u.rows {
					u.rows[i].p = u.overwritten[0]
				}
				u.rows = lastOfKey(u.rows)
			}
		default:
			for _, r := range u.rows {
				u.overwritten = append(u.overwritten, r.p)
			}
		}
		j.plans = append(j.plans, o)
	}
	return j
}

// lastOfKey leaves out rows whose key comes again.
func lastOfKey(rows []row) []row {
	m := newModel(true)
	for _, r := range rows {
		m.add(r)
	}
	out := rows[:0]
	for _, r := range rows {
		if m.rows[modelKey{r.p, r.k}] == r {
			out = append(out, r)
		}
	}
	return out
}

func (j *overwriter) title() string { return j.name }

func (j *overwriter) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	if j.at < len(j.plans) && len(j.plans[j.at].unit.names) > 0 {
		j.at, j.tries = j.at+1, 0 // nobody knows: it is not done again
	}
	for j.at < len(j.plans) {
		o := j.plans[j.at]
		if !p.pause(o.wait) {
			return true
		}
		p.begin(fmt.Sprintf("overwrite %d", j.at+1))
		status := j.commit(p, o)
		if p.isDead() {
			return true
		}
		if j.tries++; status != table.Failed || j.tries > 3 {
			j.at, j.tries = j.at+1, 0
		}
	}
	return false
}

func (j *overwriter) commit(p *process, o overwriting) table.Status {
	user := j.name + "-" + strconv.Itoa(j.at+1) + "-" + strconv.Itoa(j.tries)
	u := o.unit
	if o.drop {
		name := p.s.trying(p, u, user, math.MaxInt64)
		var r *table.CommitReport
		var err error
		opts := table.CommitOptions{User: user}
		if len(u.overwritten) == len(partitions) {
			r, err = p.table.Truncate(p.ctx, opts)
		} else {
			r, err = p.table.DropPartitions(p.ctx, []map[string]string{{"p": u.overwritten[0]}}, opts)
		}
		return p.outcome(name, r, err)
	}
	how := &table.Overwrite{Mode: table.OverwriteStatic}
	switch {
	case o.dynamic:
		how.Mode = table.OverwriteDynamic
	case len(u.overwritten) == 1:
		how.Partition = map[string]string{"p": u.overwritten[0]}
	}
	bw, err := p.table.NewBatchWrite(p.ctx, table.WriteOptions{User: user, Overwrite: how})
	if err != nil {
		p.say("write:", err)
		return table.Failed
	}
	defer bw.Close()
	rec := p.s.batch(u.rows)
	defer rec.Release()
	if err := bw.Write(p.ctx, rec); err != nil {
		p.say("write:", err)
		return table.Failed
	}
	name := p.s.trying(p, u, user, math.MaxInt64)
	r, err := bw.Commit(p.ctx)
	return p.outcome(name, r, err)
}
