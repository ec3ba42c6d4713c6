package commit

import (
	"cmp"
	"slices"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// In a table with row tracking the commit tells new rows their ids, which follow on
// from those the base has given out, and the number of the snapshot they come with. A
// try on another base tells others (INV-COMMIT-4). Source: paimon-core
// operation/commit/RowTrackingCommitUtils.

// tracked is ch as it is committed upon base. Files of the messages stay as they are.
func (b *builder) tracked(base *snapshot.Snapshot, ch change) (change, error) {
	if !b.cfg.Options.RowTracking {
		return ch, nil
	}
	id, start := idOf(base)+1, nextRowID(base)
	files := slices.Clone(ch.files)
	if b.cfg.Options.RowTrackingGrouped {
		files = byPartition(files)
	}
	ch.rowIDs = 0
	for i, e := range files {
		if e.Kind != manifest.Add {
			continue
		}
		if e.File.FileSource == nil {
			return ch, tarnerr.New(tarnerr.Invalid, "giving out row ids", "a file that does not say whether its rows are new", "file", e.File.FileName).
				WithHint("Write it again, with Paimon 0.9 or later.")
		}
		carried := slices.Contains(e.File.WriteCols, types.RowIDName)
		if *e.File.FileSource == datafile.Compact && e.File.FirstRowID == nil && !carried {
			return ch, tarnerr.New(tarnerr.Invalid, "giving out row ids", "rows that were compacted would lose their ids", "file", e.File.FileName).
				WithHint("Compact with a job that knows of row tracking; Java's API does so with withWriteType(rowTypeWithRowTracking(…)).")
		}
		f := *e.File
		// 0 is no snapshot: it stands for the one that comes.
		switch {
		case f.MinSequence == 0:
			f.MinSequence, f.MaxSequence = id, id
		case f.MaxSequence == 0: // some rows were changed, the others carry their numbers
			f.MaxSequence = id
		}
		if f.FirstRowID == nil && !carried {
			first := start + ch.rowIDs
			f.FirstRowID = &first
			ch.rowIDs += f.RowCount
		}
		if !sameTracking(&f, e.File) {
			files[i].File = &f
		}
	}
	ch.files = files
	return ch, nil
}

// nextRowID is the first row id that has not been given out up to s.
func nextRowID(s *snapshot.Snapshot) int64 {
	if s == nil || s.NextRowID == nil {
		return 0
	}
	return *s.NextRowID
}

// sameTracking reports that two descriptions of a file tell its rows the same.
func sameTracking(x, y *datafile.Meta) bool {
	return x.MinSequence == y.MinSequence && x.MaxSequence == y.MaxSequence &&
		(x.FirstRowID == nil) == (y.FirstRowID == nil) && (x.FirstRowID == nil || *x.FirstRowID == *y.FirstRowID)
}

// byPartition brings entries of one partition together, in the order of first mention.
func byPartition(files []manifest.Entry) []manifest.Entry {
	at := map[string]int{}
	var groups [][]manifest.Entry
	for _, e := range files {
		i, known := at[string(e.Partition)]
		if !known {
			i = len(groups)
			at[string(e.Partition)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return slices.Concat(groups...)
}

// checkRowIDs refuses files that bring the ids of their rows along and are not made of
// files that the change removes: somebody else's rows have these ids.
func (c *change) checkRowIDs() error {
	var held, brought []manifest.Entry
	for _, e := range c.files {
		switch {
		case e.File.FirstRowID == nil:
		case e.Kind == manifest.Delete:
			held = append(held, e)
		default:
			brought = append(brought, e)
		}
	}
	byID := func(x, y manifest.Entry) int { return cmp.Compare(*x.File.FirstRowID, *y.File.FirstRowID) }
	slices.SortFunc(held, byID)
	slices.SortFunc(brought, byID)
	var end int64 // up to which ids were taken
	for _, e := range brought {
		first, next := *e.File.FirstRowID, *e.File.FirstRowID+e.File.RowCount
		if first < end || !covered(held, first, next) {
			return tarnerr.New(tarnerr.Invalid, "committing messages", "a file has row ids that none of the files it replaces has",
				"file", e.File.FileName, "first row id", first, "rows", e.File.RowCount).
				WithHint("Leave the row ids of new rows to the commit.")
		}
		end = next
	}
	return nil
}

// covered reports that files, in the order of their row ids, have all of [first, next).
func covered(files []manifest.Entry, first, next int64) bool {
	for _, e := range files {
		if from := *e.File.FirstRowID; from <= first && first < from+e.File.RowCount {
			first = from + e.File.RowCount
		}
	}
	return first >= next
}
