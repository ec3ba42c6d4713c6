// Package commit makes what writers prepared visible: it turns messages into
// snapshots and knows three answers to "did it land": yes, proven no, and
// nobody can tell yet.
//
// A commit walks through the files of this package: changes.go sorts messages
// into snapshots to make, overwrite.go those that replace what is there,
// attempt.go makes one try, fit.go holds it against the table, held.go reads what the try is held against,
// conflict.go decides whether it fits (vectors.go, index.go and strict.go know
// special cases), rollback.go makes room, blame.go says why not, build.go writes
// the metadata, intent.go leaves word of it, publisher.go creates the snapshot
// file, resolve.go finds out what became of a try in doubt, retry.go decides
// whether to try again, and cleanup.go, the one file that deletes, removes what
// a resolved try left behind.
//
// Floor F4. The stage after prepare, see docs/commit.md.
package commit
