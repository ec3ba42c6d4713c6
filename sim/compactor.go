package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/option"
)

// compactor rewrites the files of a bucket into one, again and again: what
// compactions of another process do to the commits of writers. Which files it
// takes was drawn beforehand; in a key table it takes all of the levels above 0
// with them, so that a compaction is right on the snapshot it saw.
type compactor struct {
	name  string
	plans []compaction
	id    int64 // identifier of the last commit
}

type compaction struct {
	wait   time.Duration
	bucket int // which of the buckets that can be compacted
	files  int // a bit for each file of level 0 that is taken, the oldest first
	// upgrade gives a file another level instead, where one can be had: of runs with
	// expirers.
	upgrade bool
	again   int // so often the same messages are committed again when nobody knows
}

// top is the level that compactions write.
const top = 5

func newCompactor(name string, c *choices) *compactor {
	j := &compactor{name: name}
	for range c.between(2, 4) {
		j.plans = append(j.plans, compaction{
			wait: time.Duration(c.between(0, 100)) * time.Millisecond, bucket: c.below(4), files: pick(c, 0b111111, 0b010101, 0b101010, c.below(64)), again: c.below(3),
		})
	}
	return j
}

func (j *compactor) title() string { return j.name }

func (j *compactor) run(p *process) (again bool) {
	if !p.open() {
		return p.isDead()
	}
	for len(j.plans) > 0 {
		if !p.pause(j.plans[0].wait) {
			return true
		}
		plan := take(&j.plans)
		j.id++
		p.begin(fmt.Sprintf("compaction %d", j.id))
		m, err := p.compact(plan)
		switch {
		case p.isDead():
			return true
		case err != nil:
			p.failed("compact", err)
		case m != nil:
			p.commitOften(&unit{what: "compact"}, j.name, j.id, m, plan.again)
		}
	}
	return p.isDead()
}

// compact rewrites some files of one bucket; nil when there is nothing to do.
func (p *process) compact(plan compaction) (*commitmsg.Message, error) {
	s := p.s.schema
	opts, err := option.Parse(s.Options)
	if err != nil {
		return nil, err
	}
	entries, err := p.live()
	if err != nil {
		return nil, err
	}
	groups := map[string][]manifest.Entry{}
	var order []string
	for _, e := range entries {
		id := string(e.Partition) + fmt.Sprint(e.Bucket)
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], e)
	}
	if len(order) == 0 {
		return nil, nil
	}
	files := groups[order[plan.bucket%len(order)]]
	slices.SortFunc(files, func(a, b manifest.Entry) int {
		return cmp.Or(-cmp.Compare(a.File.Level, b.File.Level), cmp.Compare(a.File.MinSequence, b.File.MinSequence), strings.Compare(a.File.FileName, b.File.FileName))
	})
	if e, level := upgradable(files); plan.upgrade && level > 0 {
		after := *e.File
		after.Level = level
		total := e.TotalBuckets
		return &commitmsg.Message{
			Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: &total,
			CompactBefore: []*datafile.Meta{e.File}, CompactAfter: []*datafile.Meta{&after},
		}, nil
	}
	var chosen []manifest.Entry
	level0 := 0
	for _, e := range files {
		if e.File.Level > 0 || plan.files>>(level0%6)&1 == 1 {
			chosen = append(chosen, e)
		}
		if e.File.Level == 0 {
			level0++
		}
	}
	if len(chosen) == 0 || len(chosen) == 1 && (!s.HasPrimaryKey() || chosen[0].File.Level > 0) {
		return nil, nil
	}
	after, err := p.rewrite(opts, chosen, func(rows []numbered) []numbered {
		if s.HasPrimaryKey() {
			rows = newest(rows)
		}
		return rows
	})
	if err != nil {
		return nil, err
	}
	total := chosen[0].TotalBuckets
	m := &commitmsg.Message{Partition: chosen[0].Partition, Bucket: chosen[0].Bucket, TotalBuckets: &total, CompactAfter: after}
	for _, e := range chosen {
		m.CompactBefore = append(m.CompactBefore, e.File)
	}
	return m, nil
}

// upgradable is the file of a bucket, the highest levels first, that may go up as it
// is, and to which level: the only one above level 0, or the oldest of level 0 when
// there is none. 0 = no file.
func upgradable(files []manifest.Entry) (manifest.Entry, int32) {
	e := files[0]
	switch {
	case e.File.Level == 0:
		return e, top - 1
	case e.File.Level < top && (len(files) == 1 || files[1].File.Level == 0):
		return e, top
	}
	return e, 0
}
