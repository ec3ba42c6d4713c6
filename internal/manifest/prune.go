package manifest

import (
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/types"
)

// MayHold tells whether a manifest may have entries of a partition, by its
// statistics. What they do not tell is taken for possible.
func (s *Store) MayHold(m FileMeta, partition binaryrow.Row) bool {
	for i, f := range s.cfg.Partition {
		v, err := partition.Value(i, f.Type)
		if err != nil {
			return true
		}
		if !s.MayHoldValue(m, i, v) {
			return false
		}
	}
	return true
}

// MayHoldValue tells whether a manifest may have entries whose partition has the
// value v, nil for null, in column i.
func (s *Store) MayHoldValue(m FileMeta, i int, v types.Value) bool {
	t := s.cfg.Partition[i].Type
	if v == nil {
		if i < len(m.PartitionStats.NullCounts) {
			if n := m.PartitionStats.NullCounts[i]; n != nil && *n == 0 {
				return false
			}
		}
		return true
	}
	lo, errLo := m.PartitionStats.Min.Value(i, t)
	hi, errHi := m.PartitionStats.Max.Value(i, t)
	if errLo != nil || errHi != nil {
		return true
	}
	if lo == nil || hi == nil {
		return !s.allNull(m, i)
	}
	return types.Compare(t, v, lo) >= 0 && types.Compare(t, v, hi) <= 0
}

// allNull tells whether a manifest has only nulls in a partition column.
func (s *Store) allNull(m FileMeta, i int) bool {
	if i >= len(m.PartitionStats.NullCounts) {
		return false
	}
	n := m.PartitionStats.NullCounts[i]
	return n != nil && *n == m.Added+m.Deleted
}
