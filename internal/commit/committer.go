package commit

import (
	"context"
	"time"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// Config is what a committer of one table or branch needs. Everything but
// Publisher, Listener, Callbacks and PublishTimeout must be given.
type Config struct {
	Table string // full name, for events and errors
	// TableUUID is the catalog's id of the table, "" where it has none.
	TableUUID string
	FileIO    fileio.FileIO
	Place     layout.Table
	Schema    *schema.Schema // pinned
	Schemas   *schema.Store  // for the latest id
	// Snapshots is the table's store, shared with its writers and readers.
	Snapshots *snapshot.Store
	Options   option.Options
	Env       env.Env
	// Publisher is the atomic step; nil publishes through the file system.
	Publisher Publisher
	Callbacks []Callback
	Listener  *event.Listener
	Workers   int // manifests read side by side when they are merged
	// Lists is what this process knows of the table's manifest lists; nil begins anew.
	Lists *manifest.ListCache
	// Rollback undoes a compaction that is in the way of a removal of rows; nil
	// does so on the file system.
	Rollback Rollbacker
	// MergeBudget is how many bytes of manifests one commit rewrites at most; 0 =
	// what manifest.Budget gives for the table's options.
	MergeBudget int64
	// PublishTimeout bounds a publish, which runs detached from the caller's
	// context: once begun it is followed to its end. 0 = a minute.
	PublishTimeout time.Duration
	// Groups are shared by all committers of a process; nil = no other one has the
	// same table.
	Groups *Groups
	// Keep says which records of ended commits stay; zero = the newest 1000, those of
	// the last seven days.
	Keep commitlog.Keep
}

const defaultPublishTimeout = time.Minute

// Committer publishes snapshots of one table. Safe for concurrent use: commits
// of one committer queue up and never race each other.
type Committer struct {
	cfg       Config
	retry     Retry
	snapshots *snapshot.Store
	publisher Publisher
	rollback  Rollbacker
	intents   intents
	builder   *builder
	strict    strict // of the commit at work
	groups    *Groups
	key       string // names the table in groups
	doubtful  doubtful
}

// New opens a committer. It does no I/O. It refuses a storage on which two
// writers could overwrite each other's snapshot (Unsupported, with the remedy).
func New(cfg Config) (*Committer, error) {
	if cfg.PublishTimeout <= 0 {
		cfg.PublishTimeout = defaultPublishTimeout
	}
	cfg.Keep = keepOr(cfg.Keep)
	if cfg.Groups == nil {
		cfg.Groups = &Groups{}
	}
	if cfg.Lists == nil {
		cfg.Lists = manifest.NewListCache()
	}
	o := cfg.Options
	if cfg.MergeBudget <= 0 {
		cfg.MergeBudget = manifest.Budget(o.ManifestTargetSize, o.ManifestFullThreshold)
	}
	c := &Committer{
		cfg:       cfg,
		retry:     Retry{o.CommitMaxRetries, o.CommitTimeout, o.CommitMinRetryWait, o.CommitMaxRetryWait},
		snapshots: cfg.Snapshots,
		publisher: cfg.Publisher,
		rollback:  cfg.Rollback,
		groups:    cfg.Groups,
		key:       cfg.FileIO.URI(cfg.Place.BranchDir()),
	}
	c.intents = newIntents(cfg.FileIO, cfg.Place, cfg.Snapshots, cfg.Workers)
	if _, catalog := c.publisher.(catalogPublisher); catalog && c.rollback == nil {
		c.rollback = leftToCatalog{}
	} else if c.rollback == nil {
		c.rollback = emptier{c}
	}
	if o.LastSafeSnapshot != nil {
		c.strict = strict{on: true, safe: *o.LastSafeSnapshot}
	}
	if c.publisher == nil {
		var err error
		if c.publisher, err = newFilePublisher(cfg.FileIO, cfg.Place, c.groups.proof(c.key)); err != nil {
			return nil, err
		}
	}
	var err error
	c.builder, err = newBuilder(cfg)
	return c, err
}

// Request is one commit.
type Request struct {
	User       string
	Identifier int64 // grows from commit to commit of a user; snapshot.BatchIdentifier in batch
	Messages   []*commitmsg.Message
	Watermark  *int64 // milliseconds, nil = none
	Properties map[string]string
	// Empty makes a snapshot even when nothing was written.
	Empty bool
	// Check holds files that are only added against the table, too, and sees that
	// they are there, as after a restart: they may have been committed before, and
	// may have been removed.
	Check bool
	// Overwrite makes the commit replace what partitions hold; nil adds to it.
	Overwrite *Overwrite
	// Statistics makes the commit an ANALYZE: a snapshot without changes that has
	// them. It takes no messages.
	Statistics *snapshot.Statistics
	// First says that nobody has tried this commit before. Without it a commit that
	// fails has to find out what became of earlier tries before it may say so.
	First bool
}

// Commit makes the messages visible. It returns when they are, or with the
// error; the report says in either case how it went. When what was written has
// landed and the compaction that came with it certainly has not, the report alone
// tells (Report.Compaction): its files can be aborted with [Compactions]. Files of
// the messages are never deleted here.
func (c *Committer) Commit(ctx context.Context, req Request) (*Report, error) {
	start := c.cfg.Env.Now()
	report := &Report{User: req.User, Identifier: req.Identifier, Status: Succeeded}
	c.cfg.Listener.Emit(event.CommitBegin{Table: c.cfg.Table, User: req.User, Identifier: req.Identifier, Messages: len(req.Messages)})
	err := c.commit(ctx, req, report)
	if err != nil {
		err = tarnerr.Trace("committing", err, "table", c.cfg.Table, "user", req.User, "identifier", req.Identifier)
		report.Status, report.Reason = Failed, tarnerr.KindOf(err).String()
		if tarnerr.KindOf(err) == tarnerr.CommitStateUnknown {
			report.Status = Undecided
		}
	}
	report.Elapsed = c.cfg.Env.Now().Sub(start)
	c.cfg.Listener.Emit(event.CommitEnd{
		Table: c.cfg.Table, User: req.User, Identifier: req.Identifier,
		Status: string(report.Status), Reason: report.Reason, Base: report.Base, Snapshots: report.IDs(),
		Attempts: len(report.Attempts), FilesAdded: report.FilesAdded, FilesDeleted: report.FilesGone,
		Rows: report.Rows, Bytes: report.Bytes, BytesDeleted: report.BytesGone, Rewritten: report.Rewritten,
		RolledBack: report.RolledBack, Already: report.Already, Ahead: report.Ahead, Phases: report.Phases, Err: err, Elapsed: report.Elapsed,
	})
	return report, err
}

func (c *Committer) commit(ctx context.Context, req Request, report *Report) error {
	if req.User == "" {
		return tarnerr.New(tarnerr.Invalid, "checking commit", "no commit user")
	}
	todo, err := c.plan(req)
	if err != nil {
		return err
	}
	made, left, err := c.inTurn(ctx, req, todo, report)
	// Tidying up is in nobody's way.
	for _, m := range made {
		c.settle(ctx, m.tries, m.landed, m.err)
	}
	left()
	return err
}

// beside does something while the caller goes on, or, with one worker, at once;
// wait waits for it.
func (c *Committer) beside(do func()) (wait func()) {
	if c.cfg.Workers <= 1 {
		do()
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	return func() { <-done }
}

// made is how the making of one snapshot ended.
type made struct {
	tries  *tries
	landed *snapshot.Snapshot
	err    error
}

// inTurn makes the snapshots of a commit when its turn has come; left waits until
// the turn is over.
func (c *Committer) inTurn(ctx context.Context, req Request, todo []*work, report *Report) (out []made, left func(), err error) {
	waiting := c.cfg.Env.Now()
	turn, err := c.groups.enter(ctx, c.key)
	report.Phases.Queue = c.cfg.Env.Now().Sub(waiting)
	if err != nil {
		return nil, func() {}, err
	}
	report.Ahead = turn.ahead
	defer func() { left = c.beside(func() { c.leave(ctx, turn) }) }()
	for i, w := range todo {
		m := c.publish(ctx, req, w, turn, report)
		out = append(out, m)
		err := m.err
		if i > 0 && err != nil && tarnerr.KindOf(err) != tarnerr.CommitStateUnknown {
			// What was written is there, so the commit has not failed: a compaction
			// changes no row and can be made again.
			report.Compaction = err
			c.warn("committing compaction", err)
			return out, nil, nil
		}
		if err != nil {
			return out, nil, err
		}
	}
	return out, nil, nil
}

// leave ends a turn: the next commit of the group may go, after the LATEST hint
// was written where that is due.
func (c *Committer) leave(ctx context.Context, turn *turn) {
	for s := turn.leave(); s != nil; s = turn.leave() {
		c.hint(ctx, s)
	}
}

// plan sorts a request into the snapshots to be made, at most two (P2), and
// refuses what contradicts itself.
func (c *Committer) plan(req Request) ([]*work, error) {
	written, compacted := changesOf(req.Messages, int32(c.cfg.Options.Bucket))
	written.checked = written.checked || req.Check
	for _, ch := range []change{written, compacted} {
		if err := ch.check(); err != nil {
			return nil, err
		}
		if c.cfg.Options.RowTracking {
			if err := ch.checkRowIDs(); err != nil {
				return nil, err
			}
		}
	}
	var todo []*work
	switch {
	case req.Statistics != nil && (req.Overwrite != nil || !written.empty() || !compacted.empty()):
		return nil, tarnerr.New(tarnerr.Invalid, "checking commit", "statistics come alone, without messages").
			WithHint("Commit the messages first.")
	case req.Statistics != nil:
		todo = append(todo, &work{change: change{kind: snapshot.Analyze, statistics: req.Statistics}})
	case req.Overwrite != nil:
		w, err := c.overwrite(req.Overwrite, written, !compacted.empty())
		if err != nil {
			return nil, err
		}
		if w != nil {
			todo = append(todo, w)
		}
		compacted.changelog = nil
	case req.Empty || !written.empty():
		todo = append(todo, &work{change: written})
	}
	if !compacted.empty() {
		todo = append(todo, &work{change: compacted})
	}
	return todo, nil
}

// publish makes one snapshot.
func (c *Committer) publish(ctx context.Context, req Request, w *work, turn *turn, report *Report) made {
	t := &tries{c: c, req: req, work: w, report: report, start: c.cfg.Env.Now(), handed: turn.base, trail: trailOf(report)}
	t.lapped, turn.base = t.start, nil
	decoded := c.builder.manifests.Decoded()
	landed, already, err := t.run(ctx)
	report.Decoded += c.builder.manifests.Decoded() - decoded
	report.Phases.Add(t.phases)
	m := made{t, landed, err}
	if err != nil {
		return m
	}
	report.Already = report.Already || already
	if already {
		return m
	}
	c.strict.seen(landed.ID)
	c.remember(landed)
	if n := len(t.built); t.built[n-1].next == landed {
		turn.published(landed)
		turn.base = landed
	} else { // found later: others may have followed
		c.hint(ctx, landed)
	}
	ch := &w.change
	if d := t.draftIn(landed); d != nil {
		ch = &d.change
	}
	report.Snapshots = append(report.Snapshots, landed)
	report.add(ch)
	c.tell(ctx, t, landed, ch)
	return m
}

// tell runs the callbacks, whose outcomes go into the report.
func (c *Committer) tell(ctx context.Context, t *tries, landed *snapshot.Snapshot, ch *change) {
	for _, cb := range c.cfg.Callbacks {
		err := cb.Landed(ctx, Landed{Table: c.cfg.Table, Base: t.base, Snapshot: landed, Files: ch.files})
		t.report.Callbacks = append(t.report.Callbacks, CallbackOutcome{cb.Name(), landed.ID, err})
		c.warn("running commit callback "+cb.Name(), err)
	}
}

func (c *Committer) warn(doing string, err error) {
	if err != nil {
		c.cfg.Listener.Emit(event.Warning{Table: c.cfg.Table, Doing: doing, Err: err})
	}
}
