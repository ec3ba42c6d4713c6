package commit

import (
	"slices"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// identity is what tells one commit from all others. A stream's commit is
// (user, identifier, kind); batch commits of one user all have the same
// identifier, so there the list of the commit's own changes decides, which keeps
// its name over all tries, or has as many names as changes were tried.
type identity struct {
	user       string
	identifier int64
	kind       snapshot.CommitKind
	deltas     []string // names of the delta manifest list
}

// matches reports that s is a snapshot of this commit.
func (id identity) matches(s *snapshot.Snapshot) bool {
	if s.CommitUser != id.user || s.CommitIdentifier != id.identifier || s.CommitKind != id.kind {
		return false
	}
	return id.identifier != snapshot.BatchIdentifier || slices.Contains(id.deltas, deltaOf(s))
}

// undoneProperty is the property of a snapshot in which the name of its delta
// manifest list stays when its compaction was undone: its commit knows itself by it.
const undoneProperty = "tarn.undone-delta-manifest-list"

// undone reports a compaction that was undone and holds nothing any more.
func undone(s *snapshot.Snapshot) bool { return s.Properties[undoneProperty] != "" }

// deltaOf is the delta manifest list that a snapshot was published with.
func deltaOf(s *snapshot.Snapshot) string {
	if undone(s) {
		return s.Properties[undoneProperty]
	}
	return s.DeltaManifestList
}

// sameCommit reports that the snapshot file there comes from the commit that
// next comes from. What does not parse is taken as ours: no proof of a lost race.
func sameCommit(there []byte, next *snapshot.Snapshot) bool {
	s, err := snapshot.Parse(there)
	if err != nil {
		return true
	}
	return identity{next.CommitUser, next.CommitIdentifier, next.CommitKind, []string{next.DeltaManifestList}}.matches(s)
}
