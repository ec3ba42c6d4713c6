package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/table"
)

// writer appends its units one after another. What it keeps here outlives its
// process: a source's position, and messages in a checkpoint.
type writer struct {
	name  string
	style style
	units []*unit
	at    int // the unit at work
	tries int // of that unit
	// kept are messages prepared for the unit at work, and the user they were
	// first committed under.
	kept []table.Message
	made *op // the work that prepared them
	user string
	// patience is how often a unit is tried again after its process knows that it
	// failed, or does not know.
	patience int
	// restarts ends the process when it does not know.
	restarts bool
}

// style is how a writer commits.
type style uint8

const (
	stream     style = iota // StreamWrite.Commit; writes its rows again after a restart
	checkpoint              // keeps what Prepare gave and commits the same messages again
	batch                   // BatchWrite.Commit; never repeats what may have landed
	batchKept               // keeps what Prepare gave
)

func newWriter(name string, units int, c *choices, rows *rowSource) *writer {
	w := &writer{
		name: name, style: style(c.below(4)), patience: c.between(1, 6), restarts: c.percent(30),
	}
	for range units {
		w.units = append(w.units, &unit{what: "append", rows: rows.rows(c.between(1, 3))})
	}
	return w
}

func (w *writer) title() string { return w.name }

// run is one life of the writer; true asks for another one.
func (w *writer) run(p *process) (again bool) {
	if !p.open() {
		return false
	}
	w.recover(p)
	for w.at < len(w.units) && !p.isDead() {
		u := w.units[w.at]
		p.begin(fmt.Sprintf("unit %d", w.at+1))
		if w.tries > 0 {
			p.leaveOpen() // files of an earlier try may be there
		}
		status := w.commit(p, u)
		if p.isDead() {
			return true
		}
		w.tries++
		switch {
		case status == table.Succeeded:
			w.next()
		case status == table.Unknown && w.style == batch:
			w.next() // nobody may write it anew
		case w.tries > w.patience:
			if status == table.Failed {
				w.abort(p)
			}
			if !w.streams() {
				w.next()
				continue
			}
			return false // a stream does not leave out a unit
		case status == table.Unknown && w.restarts:
			return true
		case !p.pause(10 * time.Millisecond):
			return true
		case status == table.Failed && w.style == batchKept && w.tries%2 == 0:
			w.abort(p)
		}
	}
	return p.isDead()
}

func (w *writer) streams() bool { return w.style == stream || w.style == checkpoint }

// next goes on to the next unit.
func (w *writer) next() {
	w.at++
	w.tries, w.kept, w.user = 0, nil, ""
}

// abort gives up the messages kept, whose commit has certainly failed.
func (w *writer) abort(p *process) {
	if w.kept == nil {
		return
	}
	if err := p.table.AbortMessages(p.ctx, w.kept); err != nil {
		p.say("abort:", err)
		w.made.open.Store(true) // its files stay
	}
	w.kept, w.user = nil, ""
}

// recover finds out, at the start of a later life, what became of the unit at work.
func (w *writer) recover(p *process) {
	if w.at >= len(w.units) {
		return
	}
	u := w.units[w.at]
	if len(u.names) == 0 {
		return
	}
	if w.tries == 0 {
		w.tries = 1
	}
	switch w.style {
	case batch:
		w.next() // nobody may write it anew
	case stream, checkpoint:
		id := w.identifier()
		for range 3 {
			left, err := p.table.FilterCommitted(p.ctx, w.name, []int64{id})
			if err == nil && len(left) == 0 {
				p.s.told(p, u.names[0], table.Succeeded, "by its filter")
				w.next()
			}
			if err == nil || p.isDead() {
				return
			}
		}
	}
}

func (w *writer) identifier() int64 { return int64(w.at + 1) }

// commit tries the unit once.
func (w *writer) commit(p *process, u *unit) table.Status {
	switch w.style {
	case stream:
		return w.commitStream(p, u)
	case batch:
		return w.commitBatch(p, u)
	}
	if w.kept == nil {
		messages, err := p.prepare(u.rows)
		if err != nil {
			p.say("prepare:", err)
			return table.Failed
		}
		w.kept, w.made = messages, p.op
		if w.user = w.name; w.style == batchKept {
			w.user = w.freshUser()
		}
	}
	id := w.identifier()
	if w.style == batchKept {
		id = table.BatchIdentifier
	}
	name := p.s.trying(p, u, w.user, id)
	r, err := p.table.Commit(p.ctx, table.Committable{User: w.user, Identifier: id, Messages: w.kept})
	return p.outcome(name, r, err)
}

// freshUser is a user that nobody has had.
func (w *writer) freshUser() string {
	return w.name + "-" + strconv.Itoa(w.at+1) + "-" + strconv.Itoa(w.tries)
}

func (w *writer) commitStream(p *process, u *unit) table.Status {
	sw, err := p.table.NewStreamWrite(p.ctx, table.WriteOptions{User: w.name})
	if err != nil {
		p.say("write:", err)
		return table.Failed
	}
	defer sw.Close()
	last, ok, err := sw.LastCommitted(p.ctx)
	if err != nil {
		p.say("last committed:", err)
		return w.before(u)
	}
	if ok && last >= w.identifier() {
		if len(u.names) == 0 {
			p.wrong("the last commit is %d before anything was tried", last)
			return table.Failed
		}
		p.s.told(p, u.names[0], table.Succeeded, "by its last commit")
		return table.Succeeded
	}
	rec := p.s.batch(u.rows)
	defer rec.Release()
	if err := sw.Write(p.ctx, rec); err != nil {
		p.say("write:", err)
		return w.before(u)
	}
	var status table.Status
	for range 2 { // the rows are kept after a failure that can pass
		name := p.s.trying(p, u, w.name, w.identifier())
		r, err := sw.Commit(p.ctx, w.identifier())
		if status = p.outcome(name, r, err); status != table.Failed || p.isDead() {
			break
		}
	}
	return status
}

// before is the status of a unit whose commit was not tried this time.
func (w *writer) before(u *unit) table.Status {
	if len(u.names) > 0 {
		return u.names[len(u.names)-1].status
	}
	return table.Failed
}

func (w *writer) commitBatch(p *process, u *unit) table.Status {
	user := w.freshUser()
	bw, err := p.table.NewBatchWrite(p.ctx, table.WriteOptions{User: user})
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
	name := p.s.trying(p, u, user, table.BatchIdentifier)
	r, err := bw.Commit(p.ctx)
	return p.outcome(name, r, err)
}

// prepare writes rows and returns their messages.
func (p *process) prepare(rows []row) ([]table.Message, error) {
	bw, err := p.table.NewBatchWrite(p.ctx, table.WriteOptions{User: p.name})
	if err != nil {
		return nil, err
	}
	defer bw.Close()
	rec := p.s.batch(rows)
	defer rec.Release()
	if err := bw.Write(p.ctx, rec); err != nil {
		return nil, err
	}
	return bw.Prepare(p.ctx)
}

// outcome notes how a commit ended.
func (p *process) outcome(name *commitName, r *table.CommitReport, err error) table.Status {
	status, reason := p.s.statusOf(p, r, err)
	if r != nil && r.Compaction != "" && status == table.Succeeded {
		status, reason = table.Failed, "conflict" // of the compaction; what was written has landed
	}
	if r == nil && status == table.Failed && !p.isDead() {
		// The rows could not be written: nothing was said about the commit.
		p.say(name, "not tried:", reason)
		failed := name.failed
		p.s.told(p, name, name.before)
		name.failed = failed
		return status
	}
	words := []any{reason}
	if r != nil {
		words = append(words, "snapshots", r.Snapshots, "attempts", len(r.Attempts))
		if r.Already {
			words = append(words, "already")
		}
	}
	name.nothing = status == table.Succeeded && r != nil && len(r.Snapshots) == 0 && !r.Already
	p.s.told(p, name, status, words...)
	if tries := 0; reason == "conflict" && p.op.faults.Load() == 0 && r != nil {
		// Only what was tried and lost, or undone, is tried again (P5).
		if tries = len(r.Attempts); p.op.sleeps.Load() > int64(tries) {
			p.wrong("%v waited %d times to try again after %d tries that ended in no conflict", name, p.op.sleeps.Load(), tries)
		}
	}
	if !p.isDead() && status == table.Failed && !slices.Contains(name.unit.mayFail(), reason) {
		p.wrong("%v failed: %v", name, err)
	}
	return status
}

// mayFail are the reasons for which a unit may fail.
func (u *unit) mayFail() []string {
	if u.what == "compact" || u.what == "remove" {
		return []string{"contention", "unavailable", "conflict"}
	}
	return []string{"contention", "unavailable"}
}

// batch makes a batch of rows. The caller releases it.
func (s *simulation) batch(rows []row) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.arrow)
	defer b.Release()
	for _, r := range rows {
		b.Field(0).(*array.StringBuilder).Append(r.p)
		b.Field(1).(*array.Int64Builder).Append(r.k)
		b.Field(2).(*array.Int64Builder).Append(r.s)
		b.Field(3).(*array.StringBuilder).Append(r.v)
	}
	return b.NewRecordBatch()
}
