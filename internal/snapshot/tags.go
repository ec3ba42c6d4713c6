package snapshot

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/tarnerr"
)

// Tags are the named snapshots of a table or branch: copies of snapshot files, with
// two fields more when they have a life time. Safe for concurrent use.
type Tags struct{ of *Store }

// Tag is a snapshot with a name. It outlives the snapshot's file.
type Tag struct {
	Name string
	*Snapshot
}

// Tags gives the tags of the table or branch whose snapshots s has.
func (s *Store) Tags() Tags { return Tags{s} }

// All lists the tags by snapshot and name. It lists their directory and reads each;
// what goes meanwhile is passed over.
func (t Tags) All(ctx context.Context) ([]Tag, error) {
	const op = "listing tags"
	var names []string
	for e, err := range fileio.All(ctx, t.of.fio, t.of.table.TagDir(), fileio.ListOptions{Dirs: true}) {
		if err != nil {
			return nil, tarnerr.Trace(op, err)
		}
		if name, ok := strings.CutPrefix(path.Base(e.Path), layout.TagPrefix); ok && name != "" && !e.IsDir {
			names = append(names, name)
		}
	}
	var out []Tag
	for _, name := range names {
		snap, err := t.Get(ctx, name)
		if err != nil {
			return nil, tarnerr.Trace(op, err)
		}
		if snap != nil {
			out = append(out, Tag{name, snap})
		}
	}
	slices.SortStableFunc(out, func(a, b Tag) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Get is the snapshot of a tag, nil when there is none of that name. One that does
// not parse is read again, as Java writes tags in place.
func (t Tags) Get(ctx context.Context, name string) (*Snapshot, error) {
	const op = "reading tag"
	file := t.of.table.TagFile(name)
	for attempt := 1; ; attempt++ {
		data, err := fileio.ReadFile(ctx, t.of.fio, file)
		if err != nil {
			if tarnerr.KindOf(err) == tarnerr.NotFound {
				return nil, nil
			}
			return nil, tarnerr.Trace(op, err, "tag", name)
		}
		snap, err := Parse(data)
		if err == nil {
			return snap, nil
		}
		err = tarnerr.Trace(op, err, "tag", name, "path", file)
		if tarnerr.KindOf(err) != tarnerr.Corrupt || attempt == consumerAttempts || t.of.env.Sleep(ctx, consumerWait) != nil {
			return nil, err
		}
	}
}
