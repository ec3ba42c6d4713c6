package sim

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// identity is what stays with a row of a table that tracks its rows.
type identity struct{ id, number int64 }

// given checks that a snapshot gives the ids behind those of the snapshot before to
// its new rows, and goes on behind them (INV-COMMIT-4).
func (c *checker) given(at string, snap *snapshot.Snapshot, delta []manifest.Entry) bool {
	if !c.s.scenario.tracked {
		return true
	}
	var next int64
	if snap.ID > 1 {
		next = *c.snapshots[snap.ID-2].NextRowID
	}
	for _, e := range delta {
		f := e.File
		if e.Kind != manifest.Add || *f.FileSource != datafile.Append || f.WriteCols != nil {
			continue
		}
		if f.FirstRowID == nil {
			c.s.trace.violate("%s gives %s no row ids, want those from %d on", at, f.FileName, next)
			return false
		}
		if *f.FirstRowID != next {
			c.s.trace.violate("%s gives %s row ids from %d on, want %d", at, f.FileName, *f.FirstRowID, next)
			return false
		}
		next += f.RowCount
	}
	if *snap.NextRowID != next {
		c.s.trace.violate("%s goes on with row id %d, want %d", at, *snap.NextRowID, next)
		return false
	}
	return true
}

// identify checks that rows have the ids and numbers they always had, and nobody else's.
func (c *checker) identify(rec arrow.RecordBatch, rows []row) error {
	if !c.s.scenario.tracked {
		return nil
	}
	ids, numbers := rec.Column(4).(*array.Int64), rec.Column(5).(*array.Int64)
	for i, r := range rows {
		is := identity{ids.Value(i), numbers.Value(i)}
		if was, known := c.ids[r]; known && was != is {
			return fmt.Errorf("%v has row id %d and number %d, it had %d and %d", r, is.id, is.number, was.id, was.number)
		}
		if other, known := c.rowOf[is.id]; known && other != r {
			return fmt.Errorf("%v has the row id %d of %v", r, is.id, other)
		}
		c.ids[r], c.rowOf[is.id] = is, r
	}
	return nil
}
