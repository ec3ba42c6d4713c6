package snapshot

import (
	"context"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/tarnerr"
)

// A changelog is what a snapshot leaves behind when it expires before its changes do:
// its own fields, in a file of its own. Source: Java's Changelog, ChangelogManager.

// ChangelogIDs lists the ids of all changelogs, ascending. It lists their directory.
func (s *Store) ChangelogIDs(ctx context.Context) ([]int64, error) {
	ids, err := s.changelogs(ctx)
	return ids, tarnerr.Trace("listing changelogs", err)
}

// AsChangelog is a snapshot with the fields that Java's changelogs have.
func (s *Snapshot) AsChangelog() *Snapshot {
	c := *s
	c.UUID, c.WriterVersion, c.Operation = nil, nil, nil
	return &c
}

// WriteChangelog writes the changelog of a snapshot, in place of one that is there.
func (s *Store) WriteChangelog(ctx context.Context, snap *Snapshot) error {
	file := s.table.ChangelogFile(snap.ID)
	return tarnerr.Trace("writing changelog", s.fio.Replace(ctx, file, snap.AsChangelog().Marshal()), "path", file)
}

// WriteChangelogLatestHint notes id as the newest changelog.
func (s *Store) WriteChangelogLatestHint(ctx context.Context, id int64) error {
	return s.writeHint(ctx, s.table.ChangelogDir()+"/LATEST", id)
}

// WriteChangelogEarliestHint notes id as the oldest changelog.
func (s *Store) WriteChangelogEarliestHint(ctx context.Context, id int64) error {
	return s.writeHint(ctx, s.table.ChangelogDir()+"/EARLIEST", id)
}

// HasEarliestHint reports whether there is a hint at the oldest snapshot.
func (s *Store) HasEarliestHint(ctx context.Context) (bool, error) {
	return fileio.Exists(ctx, s.fio, s.table.EarliestHint())
}

// HasChangelogEarliestHint reports whether there is a hint at the oldest changelog.
func (s *Store) HasChangelogEarliestHint(ctx context.Context) (bool, error) {
	return fileio.Exists(ctx, s.fio, s.table.ChangelogDir()+"/EARLIEST")
}
