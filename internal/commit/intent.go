package commit

import (
	"context"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// intent is durable before a snapshot is published, and becomes the record of how
// that ended: whoever comes back after a crash finds out by it what may have landed.
type intent struct {
	commitlog.Record
	// landed is the snapshot, when the record says that there is one.
	landed *snapshot.Snapshot
}

func (i intent) identity() identity { return identityOf(&i.Record) }

func (i intent) path(place layout.Table) string { return i.Path(place) }

// failed reports that the commit was found not to have landed, long after its
// writer was last heard of.
func (i intent) failed() bool {
	return i.End != nil && i.End.Resolved && i.End.Status == commitlog.Failed
}

// intents keeps the intents of one table or branch.
type intents struct {
	log       *commitlog.Store
	snapshots *snapshot.Store
}

func newIntents(fio fileio.FileIO, place layout.Table, snapshots *snapshot.Store, workers int) intents {
	return intents{commitlog.NewStore(fio, place, workers), snapshots}
}

// record makes the intent durable. When an earlier one of the same commit is
// there, and it did not fail for certain, record returns that and does nothing.
func (s intents) record(ctx context.Context, i intent) (earlier *intent, err error) {
	r, err := s.log.Begin(ctx, i.Record)
	if r == nil || err != nil {
		return nil, err
	}
	if earlier, err = s.open(ctx, i, r); earlier != nil || err != nil {
		return earlier, err
	}
	return nil, s.replace(ctx, i)
}

// replace records i in place of an intent whose commit is known not to have landed.
func (s intents) replace(ctx context.Context, i intent) error { return s.log.Put(ctx, i.Record) }

// read returns an earlier intent of the commit of i, nil when there is none or it
// failed for certain.
func (s intents) read(ctx context.Context, i intent) (*intent, error) {
	r, err := s.log.Read(ctx, s.log.Path(i.Record))
	if r == nil || err != nil {
		return nil, err
	}
	return s.open(ctx, i, r)
}

// open is what an earlier record says of the commit of i: that it may have landed,
// or where it has; nil when it certainly has not, or was rolled back since.
func (s intents) open(ctx context.Context, i intent, r *commitlog.Record) (*intent, error) {
	switch {
	case r.Pending(), r.End.Status == commitlog.Failed && r.End.Resolved:
		return &intent{Record: *r}, nil
	case r.End.Status == commitlog.Failed:
		return nil, nil
	case i.Identifier == snapshot.BatchIdentifier && len(i.Files) == 0:
		return nil, nil // a batch commit without files is named by nothing
	}
	landed, err := s.snapshots.Get(ctx, r.End.Snapshot)
	switch {
	case err == nil && identityOf(r).matches(landed):
		return &intent{*r, landed}, nil
	case err == nil || tarnerr.KindOf(err) == tarnerr.NotFound:
		return nil, nil // the table was rolled back
	case tarnerr.KindOf(err) == tarnerr.Expired:
		return &intent{*r, &snapshot.Snapshot{
			ID: r.End.Snapshot, CommitUser: r.User, CommitIdentifier: r.Identifier, CommitKind: r.Kind, DeltaManifestList: r.Delta,
		}}, nil
	}
	return nil, err
}

// close notes in an intent that is still open that its commit has landed.
func (s intents) close(ctx context.Context, file string, landed, millis int64) error {
	r, err := s.log.Read(ctx, file)
	if r == nil || err != nil || !r.Pending() {
		return err
	}
	end := commitlog.End{}
	if r.End != nil {
		end = *r.End
	}
	end.Millis, end.Status, end.Reason, end.Error, end.Snapshot, end.Resolved = millis, commitlog.Succeeded, "", "", landed, true
	return s.log.PutAt(ctx, file, r.Ended(end))
}

func identityOf(r *commitlog.Record) identity {
	return identity{r.User, r.Identifier, r.Kind, r.Deltas()}
}

// became finds out what became of an intent, among the snapshots up to latest.
func (c *Committer) became(ctx context.Context, i *intent, latest *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if i.landed != nil {
		return i.landed, nil
	}
	return search(ctx, c.snapshots, i.identity(), i.SearchFrom(idOf(latest)), latest)
}
