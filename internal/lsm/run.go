package lsm

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Run is a sorted run: files whose key ranges ascend and do not overlap.
type Run []*datafile.Meta

// Size is the bytes of all files.
func (r Run) Size() int64 {
	var n int64
	for _, f := range r {
		n += f.FileSize
	}
	return n
}

// ranged is a file with its decoded key range.
type ranged struct {
	file     *datafile.Meta
	min, max key
}

// key is a decoded key.
type key []types.Value

// decode reads the key ranges of files, whose keys have the types given.
func decode(files []*datafile.Meta, keys []types.Type) ([]ranged, error) {
	out := make([]ranged, len(files))
	for i, f := range files {
		lo, err := binaryrow.Decode(f.MinKey, keys)
		if err != nil {
			return nil, tarnerr.Trace("reading key range of data file", err, "file", f.FileName, "key", "min")
		}
		hi, err := binaryrow.Decode(f.MaxKey, keys)
		if err != nil {
			return nil, tarnerr.Trace("reading key range of data file", err, "file", f.FileName, "key", "max")
		}
		out[i] = ranged{f, lo, hi}
	}
	return out, nil
}

// order compares keys column by column as merges do, nulls first.
type order []types.Type

func (o order) compare(a, b key) int {
	for i, t := range o {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return -1
		case b[i] == nil:
			return 1
		}
		if c := types.CompareInMerge(t, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// overlapError names the two files of a level that overlap.
func overlapError(level int32, a, b *datafile.Meta) error {
	return tarnerr.New(tarnerr.Corrupt, "reading levels", fmt.Sprintf("files of level %d overlap in key range", level), "first", a.FileName, "second", b.FileName)
}
