package sim

import (
	"runtime/debug"
	"sync"
)

// crowd is several writers in one process and through one table: their commits
// wait for their turn together, as a group.
type crowd struct {
	name    string
	writers []*writer
	over    []bool
}

func newCrowd(name string, writers ...*writer) *crowd {
	return &crowd{name: name, writers: writers, over: make([]bool, len(writers))}
}

func (j *crowd) title() string { return j.name }

func (j *crowd) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	var all sync.WaitGroup
	more := make([]bool, len(j.writers))
	for i, w := range j.writers {
		if j.over[i] {
			continue
		}
		c := p.clientOf(i+1, w.name)
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					c.wrong("panic: %v\n%s", r, debug.Stack())
				}
			}()
			more[i] = w.run(c)
			j.over[i] = !more[i]
		})
	}
	all.Wait()
	for _, m := range more {
		again = again || m
	}
	return again
}
