package split

import (
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
)

// Split is the unit of reading (Java: DataSplit).
type Split struct {
	SnapshotID   int64
	Partition    binaryrow.Row
	Bucket       int32
	BucketPath   string // directory of the bucket, as the writer of the split sees it
	TotalBuckets *int32
	Files        []*datafile.Meta
	Deletions    []*DeletionFile // parallel to Files, or nil
	Streaming    bool
	// RawConvertible: every row of every file is live and final, so the files can
	// be read one after another without a merge.
	RawConvertible bool
	// Part is nil, or the rows of the only file that belong to the split. It is no
	// part of the bytes: such a split stays in its process.
	Part *Part
	// Change is nil, or what makes the split one of a change between two states of
	// the bucket: Files hold it as it is afterwards. It is no part of the bytes either.
	// In streaming splits the rows of Before come as retractions, then those of Files;
	// in others only rows that differ come.
	Change *Change
}

// Change is what Files replace.
type Change struct{ Before []*datafile.Meta }

// Part is a run of rows of a file, To being the first behind them.
type Part struct{ From, To int64 }

// DeletionFile locates the deletion vector of one data file.
type DeletionFile struct {
	Path           string
	Offset, Length int64
	Cardinality    *int64
}

// Pieces cuts a split whose rows need no merge into pieces of about rows rows
// that can be read side by side; any other split is the only piece of itself.
func (s *Split) Pieces(rows int64) []*Split {
	whole := []*Split{s}
	if !s.RawConvertible || s.Deletions != nil || s.Part != nil || s.Streaming || rows <= 0 {
		return whole
	}
	var out []*Split
	for _, f := range s.Files {
		n := int64(1)
		if f.Format() == "parquet" {
			n = max(1, f.RowCount/rows)
		}
		per := max(1, (f.RowCount/n+pieceStep-1)/pieceStep) * pieceStep
		for from := int64(0); from == 0 || from < f.RowCount; from += per {
			p := *s
			p.Files = []*datafile.Meta{f}
			if to := min(from+per, f.RowCount); to-from < f.RowCount {
				p.Part = &Part{from, to}
			}
			out = append(out, &p)
		}
	}
	return out
}

// pieceStep is how many rows writers put into a page of Parquet unless told
// otherwise: pieces that begin with a page leave none to be read twice.
const pieceStep = 20_000

// LiveRows is how many rows the split has, where its metadata tell: no row is to be
// merged, no file is silent about its deletes, no deletion vector about its size.
func (s *Split) LiveRows() (n int64, known bool) {
	if !s.RawConvertible || s.Part != nil || s.Streaming || s.Change != nil {
		return 0, false
	}
	for i, f := range s.Files {
		if f.DeleteRowCount == nil && len(f.MinKey) > 0 && f.MinKey.Arity() > 0 {
			return 0, false
		}
		n += f.RowCount
		if i < len(s.Deletions) && s.Deletions[i] != nil {
			d := s.Deletions[i]
			if d.Cardinality == nil {
				return 0, false
			}
			n -= *d.Cardinality
		}
	}
	return n, true
}

// RowCount is the number of physical rows in the split's files.
func (s *Split) RowCount() int64 {
	if s.Part != nil {
		return s.Part.To - s.Part.From
	}
	var n int64
	for _, f := range s.Files {
		n += f.RowCount
	}
	return n
}
