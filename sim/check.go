package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commit"
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
}

// commitOf is one of the snapshots of a unit.
type commitOf struct {
	unit  *unit
	empty bool
}

// check checks everything that must hold when all processes have ended.
func (s *simulation) check() {
	c := &checker{
		s: s, ctx: context.Background(), env: env.Seeded(2, time.Unix(1_700_000_000, 0).UTC()),
		lists: map[string][]manifest.FileMeta{}, entries: map[string][]manifest.Entry{}, rows: map[string][]row{},
		used: map[string]bool{}, model: newModel(s.scenario.keyed), landed: map[*commitName]int64{}, units: map[commitOf]int64{},
	}
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
		FileIO: c.s.storage, Table: c.s.schema, Mem: memory.DefaultAllocator, Format: formats.ByName,
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

// history walks over the snapshots: each must be the one before with the change
// of one unit, whole, and no unit may come twice.
func (c *checker) history() bool {
	tr := c.s.trace
	byName := map[string]*commitName{}
	for _, n := range c.s.names {
		byName[n.user+"/"+fmt.Sprint(n.identifier)] = n
	}
	live := map[string]manifest.Entry{}
	var total int64
	for i, snap := range c.snapshots {
		at := fmt.Sprintf("snapshot %d of %s/%d, %s", snap.ID, snap.CommitUser, snap.CommitIdentifier, snap.CommitKind)
		if snap.ID != int64(i+1) {
			tr.violate("%s stands where snapshot %d belongs", at, i+1)
			return false
		}
		n := byName[snap.CommitUser+"/"+fmt.Sprint(snap.CommitIdentifier)]
		if n == nil {
			tr.violate("%s was committed by nobody", at)
			return false
		}
		// The commit of a stream makes a snapshot even of nothing, before that of
		// its compaction.
		empty := snap.CommitKind == snapshot.Append && n.unit.what == "compact"
		if first, twice := c.units[commitOf{n.unit, empty}]; twice {
			tr.violate("%s has been committed by snapshot %d already", at, first)
			return false
		}
		c.units[commitOf{n.unit, empty}] = snap.ID
		if !empty {
			c.landed[n] = snap.ID
		}
		tr.note(at)

		base, err := c.files(snap.BaseManifestList, snap.BaseManifestListSize)
		if err != nil {
			tr.violate("%s: reading its base: %v", at, err)
			return false
		}
		before, err := manifest.MergeEntries(base)
		if err != nil {
			tr.violate("%s: its base: %v", at, err)
			return false
		}
		if c.undone(i - 1) {
			// Whoever had built on the compaction before it was undone has brought
			// it back, which changes no row.
			live = map[string]manifest.Entry{}
			for _, e := range before {
				live[c.path(e)] = e
			}
			total = 0
			for _, e := range live {
				total += e.File.RowCount
			}
		}
		if got := c.paths(before); !slices.Equal(got, slices.Sorted(maps.Keys(live))) {
			tr.violate("%s: its base holds %v, the snapshot before holds %v", at, got, slices.Sorted(maps.Keys(live)))
			return false
		}
		delta, err := c.files(snap.DeltaManifestList, snap.DeltaManifestListSize)
		if err != nil {
			tr.violate("%s: reading its delta: %v", at, err)
			return false
		}
		if empty && len(delta) > 0 {
			tr.violate("%s is no compaction", at)
			return false
		}
		var added int64
		for _, e := range delta {
			id := c.path(e)
			if _, there := live[id]; there == (e.Kind == manifest.Add) {
				tr.violate("%s: %v of %s, which is there: %v", at, e.Kind, id, there)
				return false
			}
			if e.Kind == manifest.Add {
				live[id] = e
				added += e.File.RowCount
			} else {
				delete(live, id)
				added -= e.File.RowCount
			}
		}
		if total += added; snap.DeltaRecordCount != added || snap.TotalRecordCount != total {
			tr.violate("%s counts %d records, %d in all; its files have %d, %d", at, snap.DeltaRecordCount, snap.TotalRecordCount, added, total)
		}
		c.model.apply(n.unit)
		got, err := c.content(live)
		if err != nil {
			tr.violate("%s: %v", at, err)
			return false
		}
		if want := c.model.state(); got != want {
			tr.violate("%s holds\n\t%s\nwant\n\t%s", at, got, want)
			return false
		}
		if !c.levels(at, live) {
			return false
		}
	}
	c.undone(len(c.snapshots) - 1)
	return true
}

// undone reports that a snapshot is a compaction that gave way to a removal, and
// holds nothing any more. What it had written stays.
func (c *checker) undone(i int) bool {
	if i < 0 || c.snapshots[i].CommitKind != snapshot.Compact {
		return false
	}
	delta, err := c.files(c.snapshots[i].DeltaManifestList, c.snapshots[i].DeltaManifestListSize)
	if err != nil || len(delta) > 0 {
		return false
	}
	for n, id := range c.landed {
		if id == c.snapshots[i].ID {
			n.op.open.Store(true)
		}
	}
	return true
}

// files reads the entries that a manifest list leads to.
func (c *checker) files(list string, size *int64) ([]manifest.Entry, error) {
	c.used[place.ManifestFile(list)] = true
	metas, ok := c.lists[list]
	if !ok {
		var err error
		if metas, err = c.manifests.ReadList(c.ctx, list, size); err != nil {
			return nil, err
		}
		c.lists[list] = metas
	}
	var out []manifest.Entry
	for _, m := range metas {
		c.used[place.ManifestFile(m.FileName)] = true
		entries, ok := c.entries[m.FileName]
		if !ok {
			var err error
			if entries, err = c.manifests.ReadManifest(c.ctx, m, manifest.EntryFilter{}); err != nil {
				return nil, err
			}
			c.entries[m.FileName] = entries
		}
		out = append(out, entries...)
	}
	return out, nil
}

func (c *checker) partition(r binaryrow.Row) string {
	text, err := c.names.Path(r)
	if err != nil {
		return err.Error()
	}
	return text
}

// path is where an entry's file lies, with its level when that is not 0.
func (c *checker) path(e manifest.Entry) string {
	p := place.DataFile(c.partition(e.Partition), e.Bucket, e.File.FileName)
	if e.File.Level != 0 {
		return fmt.Sprintf("%s^%d", p, e.File.Level)
	}
	return p
}

func (c *checker) paths(entries []manifest.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = c.path(e)
	}
	slices.Sort(out)
	return out
}

// content is what the live files hold, read one by one.
func (c *checker) content(live map[string]manifest.Entry) (state, error) {
	m := newModel(c.s.scenario.keyed)
	n := 0
	for _, e := range live {
		rows, err := c.read(e)
		if err != nil {
			return "", err
		}
		n += len(rows)
		for _, r := range rows {
			m.add(r)
		}
	}
	if !m.keyed && n != len(m.rows) {
		return "", fmt.Errorf("%d rows are there twice", n-len(m.rows))
	}
	return m.state(), nil
}

func (c *checker) read(e manifest.Entry) ([]row, error) {
	dir := place.BucketDir(c.partition(e.Partition), e.Bucket)
	path := dir + "/" + e.File.FileName
	c.used[path] = true
	if rows, ok := c.rows[path]; ok {
		return rows, nil
	}
	r, err := c.source.Open(c.ctx, dir, e.File, run.Request{Columns: c.s.schema.Fields, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []row
	for {
		rec, err := r.Next(c.ctx)
		if err == io.EOF {
			c.rows[path] = out
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rowsIn(rec)...)
	}
}

// levels checks that the files of a level above 0 do not overlap (INV-TREE-1).
func (c *checker) levels(at string, live map[string]manifest.Entry) bool {
	if !c.s.scenario.keyed {
		return true
	}
	type span struct {
		file     string
		low, top int64
	}
	spans := map[string][]span{}
	for id, e := range live {
		if e.File.Level == 0 {
			continue
		}
		rows, err := c.read(e)
		if err != nil || len(rows) == 0 {
			c.s.trace.violate("%s: %s has %d rows, %v", at, id, len(rows), err)
			return false
		}
		// Tables without partitions have p before k in their key.
		key := func(r row) int64 {
			if c.s.scenario.partitioned {
				return r.k
			}
			return int64(slices.Index(partitions, r.p))*1000 + r.k
		}
		where := fmt.Sprintf("%s %d %d", c.partition(e.Partition), e.Bucket, e.File.Level)
		x := span{id, math.MaxInt64, math.MinInt64}
		for _, r := range rows {
			x.low, x.top = min(x.low, key(r)), max(x.top, key(r))
		}
		spans[where] = append(spans[where], x)
	}
	for where, list := range spans {
		slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.low, b.low) })
		for i := 1; i < len(list); i++ {
			if list[i-1].top >= list[i].low {
				c.s.trace.violate("%s: files overlap in %s: %s and %s", at, where, list[i-1].file, list[i].file)
				return false
			}
		}
	}
	return true
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
// stream's commit.
func (c *checker) resolve() {
	opts, err := option.Parse(c.s.schema.Options)
	if err != nil {
		c.s.trace.violate("resolving: %v", err)
		return
	}
	committer, err := commit.New(commit.Config{
		Table: tableName.String(), FileIO: c.s.storage, Place: place, Schema: c.s.schema, Snapshots: snapshot.NewStore(c.s.storage, place).WithEnv(c.env),
		Schemas: schema.NewStore(c.s.storage, place.Dir, c.env), Options: opts, Env: c.env, Workers: 1,
	})
	if err != nil {
		c.s.trace.violate("resolving: %v", err)
		return
	}
	for _, n := range c.s.names {
		if n.identifier == math.MaxInt64 || n.nothing {
			continue
		}
		kind := map[string]snapshot.CommitKind{"append": snapshot.Append, "compact": snapshot.Compact, "remove": snapshot.Overwrite}[n.unit.what]
		found, err := committer.Resolve(c.ctx, n.user, n.identifier, kind)
		id, landed := c.landed[n]
		if err != nil || landed != (found != nil) || landed && found.ID != id {
			c.s.trace.violate("%v is resolved to %v, %v; its snapshot is %d", n, found, err, id)
		}
	}
}

// latest reads the table as its users do.
func (c *checker) latest() {
	t, err := paimon.Open(c.ctx, paimon.Components{
		FileIO: c.s.storage, Env: c.env, Alloc: memory.DefaultAllocator, Budget: budget.New(1 << 30), Workers: 1,
	}, tableName, place.Dir)
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
