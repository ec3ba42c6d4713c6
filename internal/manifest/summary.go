package manifest

import (
	"math"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/types"
)

// summary collects what a manifest list says of a manifest.
type summary struct {
	types                []types.Type
	min, max             []types.Value
	nulls                []int64
	last                 binaryrow.Row // partition seen last; its values are in min and max
	lastNull             []bool
	added, deleted       int64
	schemaID             int64
	minBucket, maxBucket int32
	minLevel, maxLevel   int32
	rowIDs               bool // every entry so far has a first row id
	minRowID, maxRowID   int64
}

func newSummary(partition []types.Field) summary {
	n := len(partition)
	s := summary{
		types: make([]types.Type, n),
		min:   make([]types.Value, n), max: make([]types.Value, n), nulls: make([]int64, n), lastNull: make([]bool, n),
		schemaID:  math.MinInt64,
		minBucket: math.MaxInt32, maxBucket: math.MinInt32, minLevel: math.MaxInt32, maxLevel: math.MinInt32,
		rowIDs: true, minRowID: math.MaxInt64, maxRowID: math.MinInt64,
	}
	for i, f := range partition {
		// Statistics rows make every column nullable, which does not change their bytes.
		s.types[i] = f.Type
	}
	return s
}

func (s *summary) entries() int64 { return s.added + s.deleted }

func (s *summary) add(e *Entry) error {
	if e.Kind == Delete {
		s.deleted++
	} else {
		s.added++
	}
	m := e.File
	s.schemaID = max(s.schemaID, m.SchemaID)
	s.minBucket, s.maxBucket = min(s.minBucket, e.Bucket), max(s.maxBucket, e.Bucket)
	s.minLevel, s.maxLevel = min(s.minLevel, m.Level), max(s.maxLevel, m.Level)
	if m.FirstRowID == nil {
		s.rowIDs = false
	} else {
		s.minRowID = min(s.minRowID, *m.FirstRowID)
		s.maxRowID = max(s.maxRowID, *m.FirstRowID+m.RowCount-1)
	}
	return s.addPartition(e.Partition)
}

func (s *summary) addPartition(row binaryrow.Row) error {
	if s.last == nil || string(row) != string(s.last) {
		if err := row.Check(len(s.types)); err != nil {
			return err
		}
		for i, t := range s.types {
			v, err := row.Value(i, t)
			if err != nil {
				return err
			}
			s.lastNull[i] = v == nil
			// Java compares what is Comparable, which byte arrays are not.
			if v == nil || t.IsBytes() || t.IsNested() {
				continue
			}
			if s.min[i] == nil || types.Compare(t, v, s.min[i]) < 0 {
				s.min[i] = v
			}
			if s.max[i] == nil || types.Compare(t, v, s.max[i]) > 0 {
				s.max[i] = v
			}
		}
		s.last = row
	}
	for i, null := range s.lastNull {
		if null {
			s.nulls[i]++
		}
	}
	return nil
}

// summaryOf takes over what a list says of a manifest; false when it does not say all.
func (s *Store) summaryOf(m *FileMeta) (summary, bool) {
	out := newSummary(s.cfg.Partition)
	if m.MinBucket == nil || m.MaxBucket == nil || m.MinLevel == nil || m.MaxLevel == nil || len(m.PartitionStats.NullCounts) != len(out.types) {
		return out, false
	}
	out.added, out.deleted, out.schemaID = m.Added, m.Deleted, m.SchemaID
	out.minBucket, out.maxBucket, out.minLevel, out.maxLevel = *m.MinBucket, *m.MaxBucket, *m.MinLevel, *m.MaxLevel
	if out.rowIDs = m.MinRowID != nil && m.MaxRowID != nil; out.rowIDs {
		out.minRowID, out.maxRowID = *m.MinRowID, *m.MaxRowID
	}
	for i, t := range out.types {
		n := m.PartitionStats.NullCounts[i]
		if n == nil {
			return out, false
		}
		out.nulls[i] = *n
		var errMin, errMax error
		out.min[i], errMin = m.PartitionStats.Min.Value(i, t)
		out.max[i], errMax = m.PartitionStats.Max.Value(i, t)
		if errMin != nil || errMax != nil {
			return out, false
		}
	}
	return out, true
}

// join adds what another summary has.
func (s *summary) join(o *summary) {
	s.added, s.deleted, s.schemaID = s.added+o.added, s.deleted+o.deleted, max(s.schemaID, o.schemaID)
	s.minBucket, s.maxBucket = min(s.minBucket, o.minBucket), max(s.maxBucket, o.maxBucket)
	s.minLevel, s.maxLevel = min(s.minLevel, o.minLevel), max(s.maxLevel, o.maxLevel)
	s.rowIDs = s.rowIDs && o.rowIDs
	s.minRowID, s.maxRowID = min(s.minRowID, o.minRowID), max(s.maxRowID, o.maxRowID)
	for i, t := range s.types {
		s.nulls[i] += o.nulls[i]
		if v := o.min[i]; v != nil && (s.min[i] == nil || types.Compare(t, v, s.min[i]) < 0) {
			s.min[i] = v
		}
		if v := o.max[i]; v != nil && (s.max[i] == nil || types.Compare(t, v, s.max[i]) > 0) {
			s.max[i] = v
		}
	}
}

// meta describes the finished manifest.
func (s *summary) meta(name string, size int64) (FileMeta, error) {
	m := FileMeta{
		FileName: name, FileSize: size, Added: s.added, Deleted: s.deleted, SchemaID: s.schemaID,
		// The writer's next manifest has a summary of its own; these must not see it.
		MinBucket: ptr(s.minBucket), MaxBucket: ptr(s.maxBucket), MinLevel: ptr(s.minLevel), MaxLevel: ptr(s.maxLevel),
	}
	if s.rowIDs {
		m.MinRowID, m.MaxRowID = ptr(s.minRowID), ptr(s.maxRowID)
	}
	var err error
	if m.PartitionStats.Min, err = binaryrow.Encode(s.types, s.min); err != nil {
		return FileMeta{}, err
	}
	if m.PartitionStats.Max, err = binaryrow.Encode(s.types, s.max); err != nil {
		return FileMeta{}, err
	}
	m.PartitionStats.NullCounts = make([]*int64, len(s.nulls))
	for i := range s.nulls {
		m.PartitionStats.NullCounts[i] = ptr(s.nulls[i])
	}
	return m, nil
}

func ptr[T any](v T) *T { return &v }
