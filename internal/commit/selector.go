package commit

import (
	"maps"
	"slices"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// selector says which partitions an overwrite replaces or a drop removes.
// Immutable; safe for concurrent use.
type selector struct {
	fields []types.Field
	all    bool
	rows   map[string]binaryrow.Row // these
	specs  [][]columnValue          // and those with these values
}

// columnValue is what a partition must have in one column, nil for null.
type columnValue struct {
	column int
	value  types.Value
}

// selectRows selects exactly the partitions of files.
func selectRows(fields []types.Field, files []manifest.Entry) *selector {
	s := &selector{fields: fields, rows: map[string]binaryrow.Row{}}
	for _, e := range files {
		s.rows[string(e.Partition)] = e.Partition
	}
	return s
}

// selectSpecs selects the partitions that have, in the columns a spec names, the
// values it gives as paths and statements spell them. A spec without columns
// selects every partition. The default name of partitions stands for null.
func (b *builder) selectSpecs(specs []map[string]string) (*selector, error) {
	const op = "selecting partitions"
	o := b.cfg.Options
	fields := b.partitions.Fields()
	s := &selector{fields: fields}
	for _, spec := range specs {
		if len(spec) == 0 {
			s.all = true
			continue
		}
		var values []columnValue
		for _, name := range slices.Sorted(maps.Keys(spec)) {
			i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name })
			if i < 0 {
				names := make([]string, len(fields))
				for i, f := range fields {
					names[i] = f.Name
				}
				return nil, tarnerr.New(tarnerr.Invalid, op, "no such partition column", "column", name, "columns", names).
					WithHint("Name partition columns only.")
			}
			row, err := layout.NewPartitioner(fields[i:i+1], o.PartitionDefault, o.PartitionLegacyName).
				Row([]layout.PartitionField{{Name: name, Value: spec[name]}})
			if err != nil {
				return nil, tarnerr.Trace(op, err)
			}
			v, err := row.Value(0, fields[i].Type)
			if err != nil {
				return nil, tarnerr.Trace(op, err, "column", name)
			}
			values = append(values, columnValue{i, v})
		}
		s.specs = append(s.specs, values)
	}
	return s, nil
}

// has reports that the partition is selected.
func (s *selector) has(partition binaryrow.Row) bool {
	if s.all {
		return true
	}
	if s.rows != nil {
		_, ok := s.rows[string(partition)]
		return ok
	}
	return slices.ContainsFunc(s.specs, func(values []columnValue) bool {
		return !slices.ContainsFunc(values, func(c columnValue) bool { return !s.equal(partition, c) })
	})
}

func (s *selector) equal(partition binaryrow.Row, c columnValue) bool {
	t := s.fields[c.column].Type
	v, err := partition.Value(c.column, t)
	switch {
	case err != nil:
		return false
	case v == nil || c.value == nil:
		return v == nil && c.value == nil
	}
	return types.Compare(t, v, c.value) == 0
}

// mayHold reports that a manifest may have entries of a selected partition.
func (s *selector) mayHold(store *manifest.Store, m manifest.FileMeta) bool {
	if s.all {
		return true
	}
	for _, p := range s.rows {
		if store.MayHold(m, p) {
			return true
		}
	}
	return slices.ContainsFunc(s.specs, func(values []columnValue) bool {
		return !slices.ContainsFunc(values, func(c columnValue) bool { return !store.MayHoldValue(m, c.column, c.value) })
	})
}
