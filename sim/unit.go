package sim

import (
	"fmt"
	"math"
	"sync"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// unit is one change that a job wants to make once, under one name or, when a
// name has certainly failed, another.
type unit struct {
	what string // append, compact, overwrite, remove
	rows []row
	// removed are the rows a removal takes away.
	removed []row
	// overwritten are the partitions whose rows an overwrite replaces by rows;
	// "" stands for all of them.
	overwritten []string

	mu     sync.Mutex
	names  []*commitName
	called int64 // step of the first try, 0 = never tried
	ended  int64 // step at which the last word was said, 0 = not yet
	status table.Status
}

// commitName is what a commit is known by in the history: its user and identifier.
type commitName struct {
	unit       *unit
	user       string
	identifier int64
	status     table.Status // the last word; unknown as long as nothing was said
	before     table.Status // the last word before the present try
	failed     int64        // step at which FAILED was last said
	nothing    bool         // it was told that there was nothing to commit
	op         *op
}

func (n *commitName) String() string {
	if n.identifier == math.MaxInt64 {
		return n.user
	}
	return fmt.Sprintf("%s/%d", n.user, n.identifier)
}

// trying notes that a commit of the unit is about to be tried under a name.
func (s *simulation) trying(p *process, u *unit, user string, identifier int64) *commitName {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.called == 0 {
		u.called = s.scheduler.steps.Load()
	}
	u.ended, u.status = 0, table.Unknown
	var name *commitName
	for _, n := range u.names {
		if n.user == user && n.identifier == identifier {
			name = n
		}
	}
	if name == nil {
		name = &commitName{unit: u, user: user, identifier: identifier, status: table.Failed}
		u.names = append(u.names, name)
		s.mu.Lock()
		s.names = append(s.names, name)
		s.mu.Unlock()
	}
	name.before, name.status, name.op = name.status, table.Unknown, p.op
	p.say("commits", name, u.what)
	return name
}

// told notes the outcome that a process was told, unless it died before.
func (s *simulation) told(p *process, n *commitName, status table.Status, words ...any) {
	if p.isDead() {
		return
	}
	u := n.unit
	u.mu.Lock()
	defer u.mu.Unlock()
	if n.status == table.Succeeded && status != table.Succeeded {
		p.wrong("%v was told %s after %s", n, status, n.status)
	}
	n.status, u.status = status, status
	if status != table.Unknown {
		u.ended = s.scheduler.steps.Load() + 1
	}
	switch status {
	case table.Unknown:
		p.leaveOpen()
	case table.Failed:
		n.failed = s.scheduler.steps.Load()
	}
	p.say(append([]any{n, status}, words...)...)
}

// statusOf is the outcome of a commit as its caller sees it. It checks that
// report and error agree.
func (s *simulation) statusOf(p *process, r *table.CommitReport, err error) (table.Status, string) {
	if p.isDead() {
		return table.Unknown, ""
	}
	var status table.Status
	switch {
	case err == nil:
		status = table.Succeeded
	case tarnerr.KindOf(err) == tarnerr.CommitStateUnknown:
		status = table.Unknown
	default:
		status = table.Failed
	}
	if r != nil && r.Status != status {
		p.wrong("the report says %s, the error %v", r.Status, err)
	}
	if r != nil && len(r.Displaced) > 0 {
		p.wrong("a snapshot is said to be displaced: %+v", r.Displaced)
	}
	if tarnerr.KindOf(err) == tarnerr.Ambiguous {
		p.wrong("a storage error of unknown effect came through: %v", err)
	}
	reason := ""
	if err != nil {
		reason = tarnerr.KindOf(err).String()
	}
	return status, reason
}
