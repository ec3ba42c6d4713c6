package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

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
		if !c.given(at, snap, delta) {
			return false
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

// content is what the live files hold, read one by one, in order: which one is broken
// is told, and a trace has to repeat it.
func (c *checker) content(live map[string]manifest.Entry) (state, error) {
	m := newModel(c.s.scenario.keyed)
	n := 0
	for _, id := range slices.Sorted(maps.Keys(live)) {
		rows, err := c.read(live[id])
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
	columns := c.s.schema.Fields
	if c.s.scenario.tracked {
		columns = append(slices.Clip(columns), types.RowTrackingFields()...)
	}
	r, err := c.source.Open(c.ctx, dir, e.File, run.Request{Columns: columns, Workers: 1})
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
		rows := rowsIn(rec)
		if err := c.identify(rec, rows); err != nil {
			return nil, err
		}
		out = append(out, rows...)
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
	for _, id := range slices.Sorted(maps.Keys(live)) {
		e := live[id]
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
	for _, where := range slices.Sorted(maps.Keys(spans)) {
		list := spans[where]
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
