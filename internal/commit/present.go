package commit

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
)

// present sees that the files which a change adds are there. A job that is restored
// from an old checkpoint commits again what it had prepared, and may have lost the
// files since: to a rollback, a clean-up of orphans, or a commit of them that has
// expired. As in Java such a commit is refused, else no reader could read the table.
// Files outside the table are not looked for.
func (c *Committer) present(ctx context.Context, ch *change) error {
	paths, err := c.pathsAdded(ch)
	if err != nil {
		return err
	}
	gone := make([]bool, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.cfg.Workers))
	for i, p := range paths {
		group.Go(func() error {
			_, err := c.cfg.FileIO.Stat(ctx, p)
			if gone[i] = tarnerr.KindOf(err) == tarnerr.NotFound; gone[i] {
				return nil
			}
			return err
		})
	}
	const op = "looking for the files of messages"
	if err := group.Wait(); err != nil {
		return tarnerr.Trace(op, err)
	}
	var first string
	n := 0
	for i, p := range paths {
		if gone[i] {
			if n++; n == 1 {
				first = p
			}
		}
	}
	if n == 0 {
		return nil
	}
	return tarnerr.New(tarnerr.NotFound, op, fmt.Sprintf("%d of %d are gone", n, len(paths)), "first", c.cfg.FileIO.URI(first)).
		WithHint("The job was restored from an old checkpoint, and its files were removed since (by a rollback or a clean-up). Restore it from its newest one, or write the rows again.")
}

// pathsAdded are the files of the table that a change adds, without those that it
// only moves to another level.
func (c *Committer) pathsAdded(ch *change) ([]string, error) {
	removed := map[string]bool{}
	for _, e := range ch.files {
		if e.Kind == manifest.Delete {
			removed[e.File.FileName] = true
		}
	}
	var out []string
	for _, entries := range [][]manifest.Entry{ch.files, ch.changelog} {
		for _, e := range entries {
			if e.Kind != manifest.Add || e.File.ExternalPath != nil || removed[e.File.FileName] {
				continue
			}
			partition, err := c.builder.partitions.Path(e.Partition)
			if err != nil {
				return nil, err
			}
			for _, name := range append([]string{e.File.FileName}, e.File.ExtraFiles...) {
				out = append(out, c.cfg.Place.DataFile(partition, e.Bucket, name))
			}
		}
	}
	for _, e := range ch.index {
		if e.Kind == manifest.Add && e.ExternalPath == nil {
			out = append(out, c.cfg.Place.IndexFile(e.FileName))
		}
	}
	return out, nil
}
