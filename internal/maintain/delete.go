package maintain

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// This is the one file that deletes. What it takes is in a plan on disk, and was held
// against all that may need it after the snapshots of the plan had gone (INV-KEEP-1).

// batch is how many files one call deletes.
const batch = 100

// deleting deletes the files of a plan side by side.
type deleting struct {
	*Expirer
	done   int64
	failed []string
	mu     sync.Mutex
}

// files deletes data files first, then what names them, then what names that: who
// comes after a crash still finds the way down. Files that cannot be deleted for good
// are counted; when the storage is out of reach, it is an error.
func (d *deleting) files(ctx context.Context, f *Files) error {
	var data, sides, lists []string
	for _, file := range f.Data {
		data = append(append(data, file.Path), file.Extra...)
	}
	for _, i := range f.Index {
		sides = append(sides, i.Path)
	}
	for _, name := range f.Statistics {
		sides = append(sides, d.cfg.Place.StatisticsFile(name))
	}
	manifests := make([]string, len(f.Manifests))
	for i, name := range f.Manifests {
		manifests[i] = d.cfg.Place.ManifestFile(name)
	}
	for _, name := range f.Lists {
		lists = append(lists, d.cfg.Place.ManifestFile(name))
	}
	for _, stage := range [][]string{data, sides, manifests, lists} {
		var g errgroup.Group
		g.SetLimit(max(1, d.cfg.Workers))
		var broken atomic.Bool
		for some := range slices.Chunk(stage, batch) {
			g.Go(func() error {
				if broken.Load() {
					return nil // another call has the error
				}
				err := d.some(ctx, some)
				if err != nil {
					broken.Store(true)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return tarnerr.Trace("deleting files of expired snapshots", err)
		}
	}
	return nil
}

func (d *deleting) some(ctx context.Context, paths []string) error {
	paths = slices.Clone(paths)
	here := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.HasPrefix(p, "/") })
	var failed []string
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			failed = append(failed, p) // on another storage
		}
	}
	if len(here) > 0 && d.cfg.FileIO.Delete(ctx, here...) != nil {
		// One by one, to know which.
		for _, p := range here {
			err := d.cfg.FileIO.Delete(ctx, p)
			if passing(err) {
				err = d.cfg.FileIO.Delete(ctx, p)
			}
			if passing(err) || err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil {
				failed = append(failed, p)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done += int64(len(paths) - len(failed))
	d.failed = append(d.failed, failed...)
	d.progress(int64(len(paths)))
	return nil
}

// passing tells failures of a storage that will be well again.
func passing(err error) bool {
	k := tarnerr.KindOf(err)
	return err != nil && (k == tarnerr.Unavailable || k == tarnerr.Ambiguous)
}

// directories removes those that are empty now.
func (d *deleting) directories(ctx context.Context, f *Files) {
	for _, dir := range directories(d.cfg.Place, f.Data) {
		// One that stays does no harm.
		if _, err := fileio.RemoveEmptyDir(ctx, d.cfg.FileIO, dir); err != nil && ctx.Err() != nil {
			return
		}
	}
}

// remove deletes one file, once more when the storage failed.
func (x *Expirer) remove(ctx context.Context, file string) error {
	err := x.cfg.FileIO.Delete(ctx, file)
	if passing(err) {
		err = x.cfg.FileIO.Delete(ctx, file)
	}
	return tarnerr.Trace("deleting file", err, "path", file)
}

// removeGoing deletes the files of snapshots or changelogs, the oldest first, so that
// those left follow each other without a gap.
func (x *Expirer) removeGoing(ctx context.Context, p *Plan, going []*snapshot.Snapshot) error {
	for _, s := range going {
		file := x.cfg.Place.SnapshotFile(s.ID)
		if p.Changelogs {
			file = x.cfg.Place.ChangelogFile(s.ID)
		}
		if err := x.remove(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// removeAudits deletes the oldest records of runs when there are too many.
func (x *Expirer) removeAudits(ctx context.Context, closed []string) error {
	var old []string
	for _, id := range closed[:max(0, len(closed)-mostAudits)] {
		old = append(old, x.auditFile(id))
	}
	if len(old) == 0 {
		return nil
	}
	return tarnerr.Trace("deleting old records of expiry", x.cfg.FileIO.Delete(ctx, old...))
}

// removeConsumer deletes a consumer that was not written since a time, unless it has
// been written meanwhile.
func (x *Expirer) removeConsumer(ctx context.Context, id string, before int64) (gone bool, err error) {
	file := x.cfg.Place.ConsumerFile(id)
	info, err := x.cfg.FileIO.Stat(ctx, file)
	if err != nil {
		if tarnerr.KindOf(err) == tarnerr.NotFound {
			return false, nil
		}
		return false, err
	}
	if info.ModMilli >= before {
		return false, nil
	}
	return true, x.remove(ctx, file)
}
