package sim

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
)

// checker looks at what a run left, on the storage itself.
type checker struct {
	s         *simulation
	ctx       context.Context
	env       env.Env
	manifests *manifest.Store
	source    run.Source
	names     *layout.Partitioner
	snapshots []*snapshot.Snapshot

	lists   map[string][]manifest.FileMeta
	entries map[string][]manifest.Entry
	rows    map[string][]row // of data files, by path
	used    map[string]bool  // paths that snapshots reach
	model   *model
	landed  map[*commitName]int64 // snapshot
	units   map[commitOf]int64
	ids     map[row]identity // of tables whose rows have ids
	rowOf   map[int64]row    // by id
}

// commitOf is one of the snapshots of a unit.
type commitOf struct {
	unit  *unit
	empty bool
}

// check checks everything that must hold when all processes have ended.
func (s *simulation) check() {
	if s.expires() {
		s.kept()
		return
	}
	c := s.checker()
	slices.SortFunc(s.names, func(a, b *commitName) int {
		return cmp.Or(cmp.Compare(a.unit.called, b.unit.called), strings.Compare(a.String(), b.String()))
	})
	if err := c.open(); err != nil {
		s.trace.violate("looking at the table: %v", err)
		return
	}
	if !c.history() {
		return
	}
	c.outcomes()
	c.resolve()
	c.latest()
	c.leftovers()
	s.linear()
}

func (s *simulation) checker() *checker {
	return &checker{
		s: s, ctx: context.Background(), env: env.Seeded(2, time.Unix(1_700_000_000, 0).UTC()),
		lists: map[string][]manifest.FileMeta{}, entries: map[string][]manifest.Entry{}, rows: map[string][]row{},
		used: map[string]bool{}, model: newModel(s.scenario.keyed), landed: map[*commitName]int64{}, units: map[commitOf]int64{},
		ids: map[row]identity{}, rowOf: map[int64]row{},
	}
}

func (c *checker) open() (err error) {
	fields := c.s.schema.Select(c.s.schema.PartitionKeys)
	if c.manifests, err = manifest.NewStore(manifest.Config{FileIO: c.s.storage, Table: place, Env: c.env, Partition: fields, Lists: manifest.NewListCache()}); err != nil {
		return err
	}
	opts, err := option.Parse(c.s.schema.Options)
	if err != nil {
		return err
	}
	c.names = layout.NewPartitioner(fields, opts.PartitionDefault, opts.PartitionLegacyName)
	c.source = run.Source{
		FileIO: c.s.storage, Table: c.s.schema, Tracks: opts.RowTracking, Mem: memory.DefaultAllocator, Format: formats.ByName,
		Schema: func(context.Context, int64) (*schema.Schema, error) { return c.s.schema, nil },
	}
	for n, err := range snapshot.NewStore(c.s.storage, place).WithEnv(c.env).All(c.ctx) {
		if err != nil {
			return err
		}
		c.snapshots = append(c.snapshots, n)
	}
	c.s.snapshots = len(c.snapshots)
	return nil
}

// outcomes checks that every outcome told is true.
func (c *checker) outcomes() {
	for _, n := range c.s.names {
		id, landed := c.landed[n]
		switch {
		case n.nothing:
			if landed || n.unit.what != "overwrite" || len(n.unit.rows) > 0 {
				c.s.trace.violate("%v was told that there was nothing to commit", n)
			}
		case n.status == table.Succeeded && !landed:
			c.s.trace.violate("%v was told SUCCEEDED and is not there", n)
		case n.status == table.Failed && landed:
			c.s.trace.violate("%v was told FAILED and is snapshot %d", n, id)
		case landed:
			delta := place.ManifestFile(c.snapshots[id-1].DeltaManifestList)
			if made := c.s.makers[delta].step; made < n.failed {
				c.s.trace.violate("%v was told FAILED at step %d and is snapshot %d, which was begun at step %d", n, n.failed, id, made)
			}
		}
	}
}

// resolve asks a process that was never there before what became of each
// stream's commit: as it is; when the older snapshots have expired; and when the
// records of commits have, too. Then it may not know, but never says what is not so.
func (c *checker) resolve() {
	expired := c.s.storage.Clone()
	for _, s := range c.snapshots[:len(c.snapshots)/2] {
		expired.Remove(place.SnapshotFile(s.ID))
	}
	bare := expired.Clone()
	for _, path := range bare.Paths() {
		if strings.HasPrefix(path, commitlog.Dir(place)+"/") {
			bare.Remove(path)
		}
	}
	c.resolveIn(c.s.storage, true, "")
	c.resolveIn(expired, false, "after its snapshot may have expired ")
	c.resolveIn(bare, false, "after its snapshot and record may have expired ")
}

// resolveIn does so in a storage; certain means that there is nothing left that
// nobody could know.
func (c *checker) resolveIn(storage *mem.FS, certain bool, when string) {
	committer, err := c.resolver(storage)
	if err != nil {
		c.s.trace.violate("resolving: %v", err)
		return
	}
	for _, n := range c.s.names {
		if n.identifier == math.MaxInt64 || n.nothing {
			continue
		}
		found, err := committer.ResolveNamed(c.ctx, n.user, n.identifier, 0)
		if err != nil {
			c.s.trace.violate("resolving %v %s: %v", n, when, err)
			continue
		}
		kind := map[string]snapshot.CommitKind{"append": snapshot.Append, "compact": snapshot.Compact, "remove": snapshot.Overwrite}[n.unit.what]
		id := c.landed[n] // 0 = it has not landed
		var told int64
		unknown := false
		for _, r := range found {
			switch {
			case r.Status == commitlog.Unknown:
				unknown = true
			case r.Status == commitlog.Succeeded && r.Kind == kind:
				told = r.Snapshot
			}
		}
		if told != id && !(told == 0 && unknown) || unknown && certain {
			c.s.trace.violate("%v is resolved %sto snapshot %d (unknown: %v); its snapshot is %d", n, when, told, unknown, id)
		}
	}
}

// resolver is a process that resolves the commits of others.
func (c *checker) resolver(storage *mem.FS) (*commit.Committer, error) {
	opts, err := option.Parse(c.s.schema.Options)
	if err != nil {
		return nil, err
	}
	return commit.NewResolver(commit.Config{
		Table: tableName.String(), FileIO: storage, Place: place, Schema: c.s.schema, Snapshots: snapshot.NewStore(storage, place).WithEnv(c.env),
		Schemas: schema.NewStore(storage, place.Dir, c.env), Options: opts, Env: c.env, Workers: 1,
	})
}

func (c *checker) table() (table.Table, error) {
	return paimon.Open(c.ctx, paimon.Components{
		FileIO: c.s.storage, Env: c.env, Alloc: memory.DefaultAllocator, Budget: budget.New(1 << 30), Workers: 1,
	}, tableName, place.Dir)
}

// latest reads the table as its users do.
func (c *checker) latest() {
	t, err := c.table()
	if err != nil {
		c.s.trace.violate("opening the table at the end: %v", err)
		return
	}
	rows, err := scan(c.ctx, t, table.Scan{Workers: 1})
	if got, want := stateOf(rows), c.model.state(); err != nil || got != want {
		c.s.trace.violate("the table holds\n\t%s\nwant\n\t%s\n%v", got, want, err)
	}
}

// leftovers checks that files nobody refers to come from work that was cut off,
// met a fault, or ended in doubt.
func (c *checker) leftovers() {
	for _, path := range c.s.storage.Paths() {
		rest := strings.TrimPrefix(path, place.Dir+"/")
		dir, _, _ := strings.Cut(rest, "/")
		if c.used[path] || dir == "schema" || dir == "snapshot" || dir == ".tarn" { // where records of commits stay
			continue
		}
		o := c.s.makers[path].op
		if o == nil {
			c.s.trace.violate("%s was made by nobody", rest)
		} else if !o.open.Load() && o.faults.Load() == 0 {
			c.s.trace.violate("%s is left by %s", rest, o.name)
		}
	}
}
