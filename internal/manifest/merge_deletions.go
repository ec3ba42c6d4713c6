package manifest

import (
	"strings"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
)

// deletions are the files that some manifests delete. Not safe for concurrent use.
type deletions struct {
	ids        Identities
	files      map[Identity]*deletion
	partitions []binaryrow.Row // of them
}

// deletion is a file that is deleted.
type deletion struct {
	left    int  // deletions of it still to come
	there   bool // it was added, and the deletion has not come yet
	stays   bool // a deletion of it stays, since it was added elsewhere
	matched bool // its addition was found
}

// holding are the manifests with deletions.
func holding(metas []FileMeta) (out []FileMeta) {
	for _, m := range metas {
		if m.Deleted > 0 {
			out = append(out, m)
		}
	}
	return out
}

// deletions collects what sources delete.
func (s *Store) deletions(sources []*source) (*deletions, error) {
	g := &deletions{files: map[Identity]*deletion{}}
	seen := map[string]bool{}
	filter := EntryFilter{Kind: func(k Kind) bool { return k == Delete }}
	for _, src := range sources {
		if src == nil || src.meta.Deleted == 0 {
			continue
		}
		err := s.scan(src, filter, func(e *Entry) error {
			id := g.ids.Of(e)
			d := g.files[id]
			if d == nil {
				d = &deletion{}
				id.file = strings.Clone(id.file) // it lies in a block
				g.files[id] = d
			}
			d.left++
			if !seen[id.partition] {
				seen[id.partition] = true
				g.partitions = append(g.partitions, e.Partition)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// of is the deletion of an entry's file, nil when nobody deletes it.
func (g *deletions) of(e *Entry) *deletion {
	if len(g.files) == 0 {
		return nil
	}
	return g.files[g.ids.Of(e)]
}

// mayTouch tells whether a manifest may have files that are deleted.
func (g *deletions) mayTouch(s *Store, m FileMeta) bool {
	for _, p := range g.partitions {
		if s.MayHold(m, p) {
			return true
		}
	}
	return false
}

// cancel tells whether an entry stays when the manifests whose deletions these
// are are merged, in their order: what is added and deleted after goes, and a
// deletion of what was added elsewhere stays, as with [Merger]. A deletion before
// its addition is an error.
func (g *deletions) cancel(e *Entry) (stays bool, err error) {
	d := g.of(e)
	switch {
	case d == nil:
		return true, nil
	case e.Kind == Add && (d.there || d.stays):
		return false, addedTwice(e)
	case e.Kind == Add:
		d.there = true
		return d.left == 0, nil // else its deletion comes
	}
	d.left--
	if d.there {
		d.there = false
		return false, nil
	}
	d.stays = true
	return true, nil
}

func addedTwice(e *Entry) error {
	return tarnerr.New(tarnerr.Corrupt, "merging manifest entries", "file is added twice",
		"file", strings.Clone(e.File.FileName), "bucket", e.Bucket, "level", e.File.Level)
}
