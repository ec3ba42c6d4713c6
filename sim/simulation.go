package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// job is what a process has to do. What it remembers outlives the process.
type job interface {
	title() string
	// run is one life of a process; true asks for another one.
	run(p *process) (again bool)
}

type jobState struct {
	job
	name   string
	number int
}

// simulation is one run.
type simulation struct {
	seed      uint64
	scenario  *scenario
	choices   *choices
	trace     *trace
	scheduler *scheduler
	storage   *mem.FS
	schema    *schema.Schema
	arrow     *arrow.Schema

	mu    sync.Mutex
	names []*commitName
	scans []seen
	// snapshots is how many there are at the end.
	snapshots int
	makers    map[string]making // of files, by path
	held      map[string]state  // by snapshots, of runs with expirers
	named     map[string]bool   // files that were seen in a snapshot, of runs with expirers
	loose     map[string]bool   // files that may stay for a tag that was taken back
}

// making is the making of a file.
type making struct {
	op   *op
	step int64
}

// Result is what became of a run.
type Result struct {
	Seed       uint64
	Violations []string
	// Stray counts decisions of a replayed trace that no longer fitted.
	Stray int

	simulation *simulation

	Writers, Operations, Faults, Crashes, Steps, Snapshots, Unknown, Scans int
}

// Run runs the simulation of a seed. given are the decisions of a trace to be
// repeated, nil for the seed's own.
func Run(t *testing.T, seed uint64, given []uint32) *Result {
	t.Helper()
	c := newChoices(seed, given)
	tr := &trace{}
	s := &simulation{seed: seed, choices: c, trace: tr, makers: map[string]making{}, held: map[string]state{}, named: map[string]bool{}, loose: map[string]bool{}}
	s.scenario = layOut(c)
	if s.expires() {
		s.scenario.expire(c)
	}
	s.storage = mem.New(s.scenario.profile)
	if err := s.create(); err != nil {
		tr.violate("creating the table: %v", err)
	} else {
		synctest.Test(t, func(*testing.T) { s.live() })
		s.check()
	}
	return &Result{
		Seed: seed, Violations: tr.violations, simulation: s, Stray: c.stray,
		Writers: s.scenario.writers, Operations: s.scenario.operations, Faults: int(s.scheduler.faults.Load()),
		Crashes: s.scheduler.crashes, Steps: int(s.scheduler.steps.Load()), Scans: len(s.scans),
		Snapshots: s.snapshots, Unknown: s.unknown(),
	}
}

func (s *simulation) create() (err error) {
	s.scheduler = newScheduler(s.choices, s.scenario.rates, s.trace)
	s.scheduler.expiry = s.expires()
	e := env.Seeded(1, time.Unix(1_700_000_000, 0).UTC())
	if s.schema, err = schema.NewStore(s.storage, place.Dir, e).Create(context.Background(), s.scenario.spec()); err != nil {
		return err
	}
	if s.scenario.consumer > 0 {
		if err = snapshot.NewStore(s.storage, place).WithEnv(e).Consumers().Set(context.Background(), "c", s.scenario.consumer); err != nil {
			return err
		}
	}
	s.arrow, err = types.ArrowSchema(s.schema.Fields)
	return err
}

// live starts all processes and schedules them until they have ended.
func (s *simulation) live() {
	s.scheduler.arrived = make(chan struct{}, 1) // of this bubble
	var all sync.WaitGroup
	for i, j := range s.scenario.jobs {
		state := &jobState{job: j, name: j.title(), number: i}
		s.scheduler.begin()
		all.Go(func() {
			defer s.scheduler.end()
			s.lives(state)
		})
	}
	s.scheduler.run()
	all.Wait()
	for len(s.scheduler.late) > 0 {
		s.scheduler.finishLate(0)
	}
}

// lives runs a job's processes one after another.
func (s *simulation) lives(j *jobState) {
	for life := 1; life <= lives; life++ {
		p := s.newProcess(j, life)
		if !s.life(p, j) {
			p.say("ends")
			return
		}
		p.say("is over")
		time.Sleep(time.Duration(life) * 20 * time.Millisecond)
	}
}

// life is one process. A panic in it is a violation.
func (s *simulation) life(p *process, j *jobState) (again bool) {
	defer func() {
		if r := recover(); r != nil {
			p.wrong("panic: %v\n%s", r, debug.Stack())
			again = false
		}
	}()
	return j.run(p)
}

// maker notes in which piece of work a file is made.
func (s *simulation) maker(path string, o *op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makers[path] = making{o, s.scheduler.steps.Load()}
}

// Trace is the run line by line, with the decisions by which it can be repeated.
func (r *Result) Trace() []byte { return r.simulation.trace.file(r.Seed, r.simulation.choices) }

// String says what the run is about, for messages.
func (r *Result) String() string {
	return fmt.Sprintf("seed %d: %d steps, %d faults, %d crashes, %d snapshots, %d unknown, %d scans",
		r.Seed, r.Steps, r.Faults, r.Crashes, r.Snapshots, r.Unknown, r.Scans)
}

// unknown counts the commits whose outcome nobody was told.
func (s *simulation) unknown() (n int) {
	for _, name := range s.names {
		if name.status == table.Unknown {
			n++
		}
	}
	return n
}
