package sim

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Runs of seeds from expirySeeds on have expirers beside the others. What such a run is
// held to is another thing (INV-KEEP-1): all that lives is whole and holds what it held.
const expirySeeds = 1_000_000

// expires tells such runs.
func (s *simulation) expires() bool { return s.seed >= expirySeeds }

// expirer lets snapshots go, again and again.
type expirer struct {
	name  string
	plans []expiry
}

type expiry struct {
	wait  time.Duration
	keep  int
	limit int
}

// tagger makes tags. It takes one back that may have come too late.
type tagger struct {
	name  string
	waits []time.Duration
	back  []int // so many snapshots before the latest
	// late are those that are made when an expiry has its plan, of a snapshot that is
	// about to go.
	late []bool
	made int
}

// expire adds expirers to a scenario, and what is in their way.
func (sc *scenario) expire(c *choices) {
	for i := range c.between(1, 2) {
		j := &expirer{name: "x" + strconv.Itoa(i+1)}
		for range c.between(2, 5) {
			j.plans = append(j.plans, expiry{
				wait: time.Duration(c.between(0, 150)) * time.Millisecond, keep: c.between(3, 5), limit: pick(c, 1, 2, 50),
			})
		}
		sc.jobs = append(sc.jobs, j)
	}
	t := &tagger{name: "t"}
	for range c.between(1, 4) {
		t.waits = append(t.waits, time.Duration(c.between(0, 150))*time.Millisecond)
		t.back = append(t.back, c.below(6))
		t.late = append(t.late, c.percent(70))
	}
	sc.jobs = append(sc.jobs, t)
	for _, j := range sc.jobs {
		if j, ok := j.(*compactor); ok && sc.keyed {
			for i := range j.plans {
				j.plans[i].upgrade = c.percent(60)
			}
		}
	}
	if c.percent(30) {
		sc.consumer = int64(c.between(1, 6))
	}
}

func (j *expirer) title() string { return j.name }

func (j *expirer) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	for len(j.plans) > 0 {
		if !p.pause(j.plans[0].wait) {
			return true
		}
		plan := take(&j.plans)
		p.begin("expiry")
		p.s.remember(p.wrong)
		r, err := p.table.Expire(p.ctx, plan.options())
		if err != nil || p.isDead() { // nobody has finished yet what it has begun
			p.s.whole("when an expiry was cut off", p.wrong)
		}
		if p.isDead() {
			return true
		}
		p.say("expires", r.Snapshots, r.FilesDeleted, err)
		if kind := tarnerr.KindOf(err); err != nil && p.op.faults.Load() == 0 && kind != tarnerr.Contention {
			p.wrong("an expiry failed without a fault: %v", err)
		}
	}
	return false
}

func (e expiry) options() table.ExpireOptions {
	keep := strconv.Itoa(e.keep)
	return table.ExpireOptions{Options: map[string]string{
		"snapshot.num-retained.min": keep, "snapshot.num-retained.max": keep, "snapshot.expire.limit": strconv.Itoa(e.limit),
	}}
}

func (j *tagger) title() string { return j.name }

func (j *tagger) run(p *process) (again bool) {
	p.mortal = false
	for i, wait := range j.waits {
		if !p.pause(wait) {
			return false
		}
		p.begin("tag")
		late := j.late[i] && p.awaitPlan()
		store := snapshot.NewStore(p.fio, place).WithEnv(p.env)
		latest, err := store.LatestID(p.ctx)
		if err != nil || latest == 0 {
			continue
		}
		id := max(1, latest-int64(j.back[i]))
		if first := p.s.first(); late && first > 0 {
			id = first
		}
		data, err := fileio.ReadFile(p.ctx, p.fio, place.SnapshotFile(id))
		if err != nil {
			continue
		}
		p.s.remember(p.wrong)
		p.s.whole("while others work", p.wrong)
		j.made++
		file := place.TagFile(fmt.Sprint("t", j.made))
		p.s.storage.Put(file, data)
		if there, err := fileio.Exists(p.ctx, p.fio, place.SnapshotFile(id)); err != nil || !there {
			p.s.takeBack(file, data)
			continue
		}
		p.say("tags", id)
	}
	return false
}

// takeBack removes a tag. What an expiry has left for it stays: it was not deleted as
// tags are.
func (s *simulation) takeBack(file string, data []byte) {
	s.storage.Remove(file)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.checker()
	if snap, err := snapshot.Parse(data); err == nil && c.open() == nil {
		_, _ = c.stateOf(snap) // as far as it is there
	}
	for path := range c.used {
		s.loose[path] = true
	}
}

// awaitPlan waits for an expiry to have a plan; false when none comes soon.
func (p *process) awaitPlan() bool {
	for range 200 {
		for _, path := range p.s.storage.Paths() {
			if isPlan(path) {
				return true
			}
		}
		if !p.pause(time.Millisecond) {
			return false
		}
	}
	return false
}

func isPlan(path string) bool { return strings.HasSuffix(path, ".plan") }

// first is the oldest snapshot there is, 0 = none.
func (s *simulation) first() (first int64) {
	for _, path := range s.storage.Paths() {
		id, ok := strings.CutPrefix(path, place.SnapshotFile(0)[:len(place.SnapshotFile(0))-1])
		if n, err := strconv.ParseInt(id, 10, 64); ok && err == nil && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// remember notes what each snapshot holds that is there.
func (s *simulation) remember(wrong func(string, ...any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.checker()
	if err := c.open(); err != nil {
		wrong("looking at the table: %v", err)
		return
	}
	for _, snap := range c.snapshots {
		if _, known := s.held[heldBy(snap)]; known {
			continue
		}
		got, err := c.stateOf(snap)
		if err != nil {
			wrong("snapshot %d is not whole: %v", snap.ID, err)
			continue
		}
		s.held[heldBy(snap)] = got
	}
	maps.Copy(s.named, c.used)
}

func heldBy(s *snapshot.Snapshot) string { return fmt.Sprint(s.ID, " ", s.DeltaManifestList) }

// stateOf reads what a snapshot or tag holds.
func (c *checker) stateOf(snap *snapshot.Snapshot) (state, error) {
	base, err := c.files(snap.BaseManifestList, snap.BaseManifestListSize)
	if err != nil {
		return "", err
	}
	delta, err := c.files(snap.DeltaManifestList, snap.DeltaManifestListSize)
	if err != nil {
		return "", err
	}
	entries, err := manifest.MergeEntries(append(base[:len(base):len(base)], delta...))
	if err != nil {
		return "", err
	}
	live := map[string]manifest.Entry{}
	for _, e := range entries {
		live[c.path(e)] = e
	}
	return c.content(live)
}

// kept checks that all that lives is whole and holds what it held, as it is and after
// one more expiry that nothing disturbs.
func (s *simulation) kept() {
	s.whole("at the end", s.trace.violate)
	c := s.checker()
	t, err := c.table()
	if err != nil {
		s.trace.violate("opening the table at the end: %v", err)
		return
	}
	if _, err := t.Expire(c.ctx, expiry{keep: 3, limit: math.MaxInt32}.options()); err != nil {
		s.trace.violate("expiring at the end: %v", err)
	}
	used := s.whole("after the last expiry", s.trace.violate)
	for _, path := range s.storage.Paths() {
		if isPlan(path) {
			s.trace.violate("%s is open after the last expiry", path)
		}
	}
	s.leaks(used)
	s.resolvable(c)
}

// leaks checks that what nobody refers to was never part of the table, and comes from
// work that was cut off, met a fault, or ended in doubt.
func (s *simulation) leaks(used map[string]bool) {
	for _, path := range s.storage.Paths() {
		rest := strings.TrimPrefix(path, place.Dir+"/")
		switch dir, _, _ := strings.Cut(rest, "/"); {
		case used[path] || s.loose[path] || dir == "schema" || dir == "snapshot" || dir == "tag" || dir == "consumer" || dir == ".tarn":
		case s.named[path]:
			s.trace.violate("%s has outlived its snapshots", rest)
		default:
			if o := s.makers[path].op; o == nil {
				s.trace.violate("%s was made by nobody", rest)
			} else if !o.open.Load() && o.faults.Load() == 0 {
				s.trace.violate("%s is left by %s", rest, o.name)
			}
		}
	}
}

// resolvable checks that expiry has left what tells the outcome of each commit that
// nobody knows.
func (s *simulation) resolvable(c *checker) {
	committer, err := c.resolver(s.storage)
	if err != nil {
		s.trace.violate("resolving: %v", err)
		return
	}
	for f, err := range commitlog.NewStore(s.storage, place, 1).All(c.ctx) {
		if err != nil {
			s.trace.violate("reading records of commits: %v", err)
			continue
		}
		if !f.Pending() || f.Identifier == math.MaxInt64 {
			continue
		}
		found, err := committer.ResolveNamed(c.ctx, f.User, f.Identifier, 0)
		if err != nil {
			s.trace.violate("resolving %s/%d: %v", f.User, f.Identifier, err)
		}
		for _, r := range found {
			if r.Status == commitlog.Unknown {
				s.trace.violate("%s/%d cannot be resolved any more: %+v", f.User, f.Identifier, r)
			}
		}
	}
}

// whole holds all that lives to be whole, and returns the files of it.
func (s *simulation) whole(when string, wrong func(string, ...any)) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.checker()
	if err := c.open(); err != nil {
		wrong("looking at the table %s: %v", when, err)
		return c.used
	}
	roots := map[string]*snapshot.Snapshot{}
	var order []string
	for _, snap := range c.snapshots {
		name := fmt.Sprint("snapshot ", snap.ID)
		roots[name], order = snap, append(order, name)
	}
	tags, err := snapshot.NewStore(s.storage, place).Tags().All(context.Background())
	if err != nil {
		wrong("looking at tags %s: %v", when, err)
	}
	for _, t := range tags {
		name := "tag " + t.Name
		roots[name], order = t.Snapshot, append(order, name)
	}
	for _, name := range order {
		got, err := c.stateOf(roots[name])
		if want, known := s.held[heldBy(roots[name])]; err != nil || known && got != want {
			wrong("%s: %s holds\n\t%s\nwant\n\t%s\n%v", when, name, got, want, err)
		}
	}
	if n := len(c.snapshots); n > 0 {
		first, last := c.snapshots[0].ID, c.snapshots[n-1].ID
		if s.scenario.consumer > 0 && s.scenario.consumer <= last && first > s.scenario.consumer {
			wrong("%s: the consumer reads snapshot %d next, the first is %d", when, s.scenario.consumer, first)
		}
		if first > 1 && n < 3 {
			wrong("%s: %d snapshots are left", when, n)
		}
	}
	return c.used
}

// overtaken tells that what a process read has expired under it.
func (p *process) overtaken(err error) bool {
	k := tarnerr.KindOf(err)
	return p.s.expires() && (k == tarnerr.Expired || k == tarnerr.NotFound)
}
