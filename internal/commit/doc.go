// Package commit makes what writers prepared visible: it turns messages into
// snapshots and knows three answers to "did it land": yes, proven no, and
// nobody can tell yet.
//
// A commit walks through the files of this package: committer.go takes it,
// changes.go sorts messages into snapshots to make, overwrite.go (with
// selector.go) those that replace what is there, and group.go gives it its turn.
// attempt.go makes one try: incarnation.go sees that the table is still the one
// that was opened, displaced.go that what this process has made is still there,
// held.go reads what the change is held against, fit.go decides
// with present.go and conflict.go (vectors.go, index.go, strict.go and expired.go know special
// cases), rollback.go makes room, blame.go says why not, tracking.go gives out row
// ids, build.go writes the metadata, intent.go leaves word of it, publisher.go creates the snapshot file
// (publisher_lock.go under a lock, publisher_catalog.go through a catalog),
// and retry.go decides whether to try again. resolve.go, earlier.go and pending.go
// find out what became of tries in doubt, by identity.go; cleanup.go, the one file
// that deletes, removes what a resolved try left behind, and evidence.go keeps how
// it ended.
//
// Floor F4. The stage after prepare, see docs/commit.md.
package commit
