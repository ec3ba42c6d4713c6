package commit

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
)

// Types of index files that are no global indexes.
const (
	deletionVectors = "DELETION_VECTORS"
	hashIndex       = "HASH"
)

// combineIndex applies what a change does to the index files of a table, which
// an index manifest lists in full. Hash indexes, and deletion vectors of tables
// with buckets, are one file per bucket: a new one takes the place of the old
// one. Deletion vectors of tables without buckets (unaware), and global indexes,
// are told apart by file name. What the change removes goes before what it adds.
func combineIndex(previous, changes []manifest.IndexEntry, unaware bool) ([]manifest.IndexEntry, *conflict) {
	type slot struct{ kind, name string }
	slotOf := func(e *manifest.IndexEntry) slot {
		switch {
		case e.IndexType == hashIndex, e.IndexType == deletionVectors && !unaware:
			return slot{e.IndexType, fmt.Sprintf("%s\x00%d", e.Partition, e.Bucket)}
		}
		return slot{e.IndexType, e.FileName}
	}
	at := map[slot]int{}
	out := make([]manifest.IndexEntry, 0, len(previous)+len(changes))
	kept := make([]bool, 0, cap(out))
	put := func(e manifest.IndexEntry) {
		s := slotOf(&e)
		if i, there := at[s]; there {
			out[i] = e
			return
		}
		at[s] = len(out)
		out, kept = append(out, e), append(kept, true)
	}
	for _, e := range previous {
		put(e)
	}
	for _, e := range changes {
		if e.Kind != manifest.Delete {
			continue
		}
		s := slotOf(&e)
		i, there := at[s]
		switch {
		case there:
			kept[i] = false
			delete(at, s)
		case e.IndexType == deletionVectors && unaware:
			return nil, vectorConflict(e, "the deletion vectors in "+e.FileName+" were replaced by another commit", dataFiles(e)...)
		}
	}
	for _, e := range changes {
		if e.Kind != manifest.Add {
			continue
		}
		if c := fits(e, out, kept, unaware); c != nil {
			return nil, c
		}
		put(e)
	}
	left := out[:0]
	for i, e := range out {
		if kept[i] {
			left = append(left, e)
		}
	}
	return left, nil
}

// fits refuses an index file that says about a file or range of rows what another
// one that stays says already.
func fits(e manifest.IndexEntry, others []manifest.IndexEntry, kept []bool, unaware bool) *conflict {
	if e.IndexType == deletionVectors {
		if !unaware {
			return nil
		}
		has := map[string]bool{}
		for _, v := range e.Vectors {
			has[v.DataFile] = true
		}
		for i, o := range others {
			if !kept[i] || o.IndexType != deletionVectors {
				continue
			}
			if o.FileName == e.FileName {
				return vectorConflict(e, "the index file is there already", e.FileName)
			}
			for _, v := range o.Vectors {
				if has[v.DataFile] {
					return vectorConflict(e, "the file has a deletion vector already", v.DataFile, o.FileName)
				}
			}
		}
		return nil
	}
	if e.Global == nil {
		return nil
	}
	for i, o := range others {
		if !kept[i] || o.IndexType != e.IndexType || o.Global == nil || o.Global.FieldID != e.Global.FieldID || o.FileName == e.FileName {
			continue
		}
		if o.Global.RowRangeStart <= e.Global.RowRangeEnd && e.Global.RowRangeStart <= o.Global.RowRangeEnd {
			return &conflict{
				check: GlobalIndex, partition: e.Partition, bucket: e.Bucket, level: -1, files: []string{e.FileName, o.FileName},
				what: fmt.Sprintf("a global index of the same column covers rows %d to %d already", o.Global.RowRangeStart, o.Global.RowRangeEnd),
			}
		}
	}
	return nil
}

// checkIndexManifest refuses an index manifest that is no full state.
func checkIndexManifest(name string, entries []manifest.IndexEntry) error {
	for _, e := range entries {
		if e.Kind != manifest.Add {
			return tarnerr.New(tarnerr.Corrupt, "reading index manifest", "an entry that adds nothing", "file", name, "index", e.FileName)
		}
	}
	return nil
}
