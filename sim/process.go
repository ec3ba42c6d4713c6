package sim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
)

// process is one life of a simulated process: from its start to its end or
// death. What outlives it is in its job.
type process struct {
	s      *simulation
	name   string // w1, and w1.2 in its second life
	number int    // of the job, for the order of calls
	mortal bool   // it may die
	ctx    context.Context
	fio    *gate
	env    env.Env
	end    *end
	op     *op
	table  table.Table
	// client is the number of a part of the process that works beside others; whole
	// is the process then.
	client int
	whole  *process
}

// end is the death of a process, which all parts of it share.
type end struct {
	died chan struct{}
	dead atomic.Bool
	once sync.Once
}

// op is one piece of work of a process. Every file is made in one.
type op struct {
	name   string
	faults atomic.Int64 // calls that failed in it
	sleeps atomic.Int64 // waits of the program under test
	// open means that the work did not come to an end that tells: its process
	// died, nobody knows what it did, or its files were left on purpose.
	open atomic.Bool
}

// newProcess starts a life of a job.
func (s *simulation) newProcess(j *jobState, life int) *process {
	p := &process{
		s: s, name: j.name, number: j.number, mortal: life < lives, end: &end{died: make(chan struct{})},
	}
	if life > 1 {
		p.name = fmt.Sprintf("%s.%d", j.name, life)
	}
	// The end of a process cuts off its waits, not the calls it has made.
	p.ctx = context.Background()
	p.fio = newGate(p, s.storage)
	p.env = &processEnv{Env: env.Seeded(s.seed*1000+uint64(j.number*10+life), time.Time{}), p: p}
	p.begin("start")
	return p
}

// lives is how often a process starts at most.
const lives = 4

type clientKey struct{}

// clientOf is a part of the process that works beside others.
func (p *process) clientOf(client int, name string) *process {
	c := *p
	c.client, c.whole = client, p
	c.ctx = context.WithValue(p.ctx, clientKey{}, client)
	if c.name = name; p.name != p.s.scenario.jobs[p.number].title() { // a later life
		c.name += strings.TrimPrefix(p.name, p.s.scenario.jobs[p.number].title())
	}
	return &c
}

// clientIn is the part of a process that a call comes from, 0 when unknown.
func clientIn(ctx context.Context) int {
	n, _ := ctx.Value(clientKey{}).(int)
	return n
}

// begin starts the next piece of work. Parts of a process begin one at a time: so
// they draw from the process's chance in an order that the seed decides.
func (p *process) begin(name string) {
	if p.whole != nil {
		_ = p.fio.run(p.ctx, pass, p.name, func() error { return nil }, nil)
	}
	p.op = &op{name: p.name + " " + name}
}

// pass is the method of a call that asks nothing of the storage.
const pass = "pass"

// leaveOpen notes that the work at hand does not come to an end that tells.
func (p *process) leaveOpen() {
	p.op.open.Store(true)
	if p.whole != nil {
		p.whole.op.open.Store(true)
	}
}

func (p *process) isDead() bool { return p.end.dead.Load() }

func (p *process) die() {
	p.end.once.Do(func() {
		p.op.open.Store(true)
		p.end.dead.Store(true)
		close(p.end.died)
	})
}

// made notes which piece of work is about to make a file.
func (p *process) made(path string) {
	if !p.isDead() {
		p.s.maker(path, p.op)
	}
}

// say notes in the trace what the process does or is told.
func (p *process) say(words ...any) { p.s.trace.line(p, words...) }

// wrong notes that something is wrong.
func (p *process) wrong(format string, args ...any) { p.s.trace.wrong(p, format, args...) }

// open opens the table, again when the storage fails.
func (p *process) open() bool {
	if p.table != nil { // by the process of which this is a part
		return !p.isDead()
	}
	for range 8 {
		if p.isDead() {
			return false
		}
		t, err := paimon.Open(p.ctx, paimon.Components{
			FileIO: p.fio, Env: p.env, Alloc: memory.DefaultAllocator, Budget: budget.New(1 << 30), Workers: 1,
		}, tableName, place.Dir)
		if err == nil {
			p.table = t
			return true
		}
		p.say("open:", err)
	}
	return false
}

// pause lets the process sleep a little; false when it has died.
func (p *process) pause(d time.Duration) bool {
	return !p.isDead() && p.s.scheduler.sleep(p.ctx, d, p.end.died) == nil && !p.isDead()
}

// take takes the first of some plans: who is dead before it has begun finds it again.
func take[P any](plans *[]P) P {
	first := (*plans)[0]
	*plans = (*plans)[1:]
	return first
}

// processEnv is chance from the seed and time from the bubble.
type processEnv struct {
	env.Env
	p *process
}

func (e *processEnv) Now() time.Time { return time.Now() }

func (e *processEnv) Sleep(ctx context.Context, d time.Duration) error {
	if e.p.isDead() {
		return errCrashed
	}
	e.p.op.sleeps.Add(1)
	return e.p.s.scheduler.sleep(ctx, d, e.p.end.died)
}
