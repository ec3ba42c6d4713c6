package maintain

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
)

// Config is a table whose history is to be kept short.
type Config struct {
	FileIO     fileio.FileIO
	Env        env.Env
	Place      layout.Table // of the main branch
	Snapshots  *snapshot.Store
	Manifests  *manifest.Store
	Commits    *commitlog.Store
	Partitions *layout.Partitioner
	Retention  option.Retention
	Consumers  time.Duration // consumer.expiration-time, 0 = they stay
	Produces   bool          // the table has a changelog producer
	// IndexBesideData: index files lie in the directories of buckets.
	IndexBesideData bool
	Workers         int // calls side by side
}

// Request is one run.
type Request struct {
	By        string            // who asks, for the record
	Options   map[string]string // given for the run, for the record
	OlderThan time.Time         // zero = snapshot.time-retained ago
	DryRun    bool
	// Progress is told how many files are to be deleted, and how many that is done
	// with; nil = nobody.
	Progress func(files, done int64)
}

// Report is what a run did, or with DryRun would do.
type Report struct {
	Snapshots, Changelogs []int64
	Consumers             []string
	Counts
	Held    []Hold
	Resumed string // the last of the runs whose plans were carried out with this one: they had died, or are at work
	Record  string
}

// mostDataFiles is how many data files a plan names at most, but for those of one
// snapshot: more snapshots take several plans, one after the other.
const mostDataFiles = 50_000

// Expirer expires one table. Not safe for concurrent use; expirers of many processes
// on one table do each other no harm.
type Expirer struct {
	cfg       Config
	mostFiles int
	tell      func(files, done int64)
	files     int64
	filesDone int64
}

// NewExpirer returns the expirer of a table.
func NewExpirer(cfg Config) *Expirer { return &Expirer{cfg: cfg, mostFiles: mostDataFiles} }

// expect notes how many more files are to be deleted, progress that some are done with.
func (x *Expirer) expect(n int64) {
	x.files += n
	x.progress(0)
}

func (x *Expirer) progress(n int64) {
	x.filesDone += n
	if x.tell != nil {
		x.tell(x.files, x.filesDone)
	}
}

// runState is one run under way.
type runState struct {
	req    Request
	report *Report
	audit  Audit
	closed []string // records of runs that are there
	// seen are snapshots read so far, some of them: what is carried out is held against
	// those that are there then.
	seen map[int64]*snapshot.Snapshot
}

// mostSeen is how many snapshots a run keeps in memory.
const mostSeen = 1000

// Run expires what retention lets go. The report tells what was done, also with an
// error; another run goes on from there.
func (x *Expirer) Run(ctx context.Context, req Request) (*Report, error) {
	now := x.cfg.Env.Now()
	if req.OlderThan.IsZero() {
		req.OlderThan = now.Add(-x.cfg.Retention.Time)
	}
	x.tell, x.files, x.filesDone = req.Progress, 0, 0
	r := &runState{req: req, report: &Report{Snapshots: []int64{}}, seen: map[int64]*snapshot.Snapshot{}}
	r.audit = Audit{Version: recordVersion, Run: Header{
		ID: fmt.Sprintf("%013d-%s", now.UnixMilli(), x.cfg.Env.UUID()[:8]), By: req.By, Millis: now.UnixMilli(),
		Options: req.Options, Before: req.OlderThan.UnixMilli(),
	}, Snapshots: []int64{}}
	err := x.run(ctx, r)
	return r.report, err
}

func (x *Expirer) run(ctx context.Context, r *runState) error {
	if err := x.resume(ctx, r); err != nil {
		return err
	}
	latest, err := x.cfg.Snapshots.LatestID(ctx)
	if err != nil {
		return err
	}
	if err := x.consumers(ctx, r); err != nil {
		return err
	}
	if latest > 0 {
		stays, gone, err := x.snapshots(ctx, r, latest)
		if err != nil {
			return err
		}
		if x.cfg.Retention.Decoupled() {
			if err := x.changelogs(ctx, r, latest, stays, gone); err != nil {
				return err
			}
		}
	}
	if r.req.DryRun || r.audit.Rounds == 0 && len(r.audit.Consumers) == 0 {
		return nil
	}
	if r.audit.Rounds == 0 { // consumers alone
		if err := x.close(ctx, r); err != nil {
			return err
		}
	}
	return x.removeAudits(ctx, append(r.closed, r.audit.Run.ID))
}

// resume finishes what runs before have left.
func (x *Expirer) resume(ctx context.Context, r *runState) error {
	const op = "finishing an interrupted expiry"
	open, closed, err := x.records(ctx)
	if err != nil {
		return err
	}
	r.closed = closed
	for _, id := range open {
		r.report.Resumed = id
		if r.req.DryRun {
			continue
		}
		p, err := x.readPlan(ctx, id)
		if err != nil {
			return tarnerr.Trace(op, err)
		}
		if p == nil { // finished by another run a moment ago
			continue
		}
		p.Run.ID = id
		a, err := x.readAudit(ctx, p.Run)
		if err != nil {
			return tarnerr.Trace(op, err)
		}
		if a.Rounds < p.Round {
			a.FinishedBy = r.audit.Run.ID
			out, err := x.carry(ctx, p, nil)
			if err != nil {
				return tarnerr.Trace(op, err)
			}
			r.report.Deleted += out.Deleted
			r.report.Failed += out.Failed
			a.note(out, x.cfg.Env.Now())
			if err := x.writeRecord(ctx, x.auditFile(id), a); err != nil {
				return tarnerr.Trace(op, err)
			}
		}
		// Its own run may be at work, and have come to its next plan.
		now, err := x.readPlan(ctx, id)
		if err != nil {
			return tarnerr.Trace(op, err)
		}
		if now == nil || now.Round != p.Round {
			continue
		}
		if err := x.remove(ctx, x.planFile(id)); err != nil {
			return tarnerr.Trace(op, err)
		}
	}
	return nil
}

// note adds what became of a plan.
func (a *Audit) note(out *outcome, now time.Time) {
	a.Rounds, a.Ended = out.plan.Round, now.UnixMilli()
	a.Counts.add(out.Counts)
	if out.abandoned != "" {
		a.Abandoned = out.abandoned
	}
	for _, s := range out.going {
		if out.plan.Changelogs {
			a.Changelogs = append(a.Changelogs, s.ID)
		} else {
			a.Snapshots = append(a.Snapshots, s.ID)
		}
	}
	a.Undeleted = append(a.Undeleted, out.failed[:min(len(out.failed), max(0, mostUndeleted-len(a.Undeleted)))]...)
}

// snapshots expires snapshots. It returns the oldest one that stays and, of a dry run,
// the lists and manifests that would have gone.
func (x *Expirer) snapshots(ctx context.Context, r *runState, latest int64) (stays *snapshot.Snapshot, gone map[string]bool, err error) {
	first, err := x.cfg.Snapshots.EarliestID(ctx)
	if err != nil || first == 0 {
		return nil, nil, err
	}
	l := Limits{
		Earliest: first, Latest: latest, Min: x.cfg.Retention.Min, Max: x.cfg.Retention.Max,
		Most: x.cfg.Retention.Limit, Before: r.audit.Run.Before,
	}
	millis := func(id int64) (int64, bool, error) { return x.millis(ctx, r, id, latest) }
	end, held, err := Until(l, nil, millis)
	if err != nil {
		return nil, nil, err
	}
	if end > first || len(held) > 0 {
		holds, err := x.holds(ctx, false, x.cfg.Retention.ChangelogOnly, math.MaxInt64, r.wouldGo()...)
		if err != nil {
			return nil, nil, err
		}
		if end, held, err = Until(l, holds, millis); err != nil {
			return nil, nil, err
		}
	}
	r.report.Held = held
	gone = map[string]bool{}
	for first < end {
		p, seen, err := x.planSnapshots(ctx, x.known(r), first, end, latest)
		if err != nil || p == nil {
			return nil, nil, err
		}
		if stays, err = x.round(ctx, r, p, seen, gone); err != nil {
			return nil, nil, err
		}
		if stays == nil || stays.ID < p.Stays.ID { // held meanwhile
			break
		}
		first = stays.ID
	}
	if first >= end && stays == nil && !r.req.DryRun {
		if err := x.hintEarliest(ctx, first); err != nil {
			return nil, nil, err
		}
	}
	return stays, gone, nil
}

// millis tells when a snapshot was made. Who asks for one asks for the next, too.
func (x *Expirer) millis(ctx context.Context, r *runState, id, latest int64) (int64, bool, error) {
	s, read := r.seen[id]
	if !read {
		if len(r.seen) > mostSeen {
			clear(r.seen)
		}
		at := id
		for next, err := range ahead(ctx, x.cfg.Workers, int(min(int64(max(1, x.cfg.Workers)), latest-id+1)), func(ctx context.Context, i int) (*snapshot.Snapshot, error) {
			return x.cfg.Snapshots.Try(ctx, id+int64(i))
		}) {
			if err != nil {
				return 0, false, err
			}
			r.seen[at] = next
			at++
		}
		s = r.seen[id]
	}
	if s == nil {
		return 0, false, nil
	}
	return s.TimeMillis, true, nil
}

// known is a getter of snapshots that takes what was read before.
func (x *Expirer) known(r *runState) getter {
	return func(ctx context.Context, id int64) (*snapshot.Snapshot, error) {
		if s := r.seen[id]; s != nil {
			return s, nil
		}
		return x.cfg.Snapshots.Try(ctx, id)
	}
}

// hintEarliest writes the hint at the oldest snapshot when there is none.
func (x *Expirer) hintEarliest(ctx context.Context, id int64) error {
	there, err := x.cfg.Snapshots.HasEarliestHint(ctx)
	if err != nil || there {
		return err
	}
	return x.cfg.Snapshots.WriteEarliestHint(ctx, id)
}

// round records a plan, carries it out and closes it. It returns the first snapshot or
// changelog that stays, nil when the plan was given up.
func (x *Expirer) round(ctx context.Context, r *runState, p *Plan, seen, gone map[string]bool) (*snapshot.Snapshot, error) {
	p.Round, p.Run = r.audit.Rounds+1, r.audit.Run
	if r.req.DryRun {
		add(gone, p.Files.Manifests)
		add(gone, p.Files.Lists)
		out := &outcome{plan: p, going: p.Going, Counts: Counts{Files: p.Files.count(), Bytes: p.Files.bytes()}}
		r.add(out)
		return p.Stays, nil
	}
	id := r.audit.Run.ID
	if err := x.writeRecord(ctx, x.planFile(id), p); err != nil {
		return nil, err
	}
	r.report.Record = id
	out, err := x.carry(ctx, p, seen)
	if err != nil {
		return nil, err
	}
	r.audit.note(out, x.cfg.Env.Now())
	r.add(out)
	if err := x.close(ctx, r); err != nil {
		return nil, err
	}
	if err := x.remove(ctx, x.planFile(id)); err != nil {
		return nil, err
	}
	switch {
	case out.abandoned != "":
		return nil, tarnerr.New(tarnerr.Contention, "expiring snapshots", out.abandoned+" meanwhile").WithHint("Try again.")
	case len(out.going) < len(p.Going):
		return p.Going[len(out.going)], nil
	}
	return p.Stays, nil
}

func (r *runState) add(out *outcome) {
	r.report.Counts.add(out.Counts)
	for _, s := range out.going {
		if out.plan.Changelogs {
			r.report.Changelogs = append(r.report.Changelogs, s.ID)
		} else {
			r.report.Snapshots = append(r.report.Snapshots, s.ID)
		}
	}
}

// close puts on record what the run has done so far.
func (x *Expirer) close(ctx context.Context, r *runState) error {
	r.audit.Ended = x.cfg.Env.Now().UnixMilli()
	r.report.Record = r.audit.Run.ID
	return x.writeRecord(ctx, x.auditFile(r.audit.Run.ID), &r.audit)
}
