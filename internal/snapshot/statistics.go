package snapshot

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/tarnerr"
)

// Statistics are what an ANALYZE found out about a table, as its statistics file
// has it. Optional fields are nil when absent.
type Statistics struct {
	SnapshotID  int64                       `json:"snapshotId"` // they were collected from
	SchemaID    int64                       `json:"schemaId"`   // they hold for; snapshots of another do not take them over
	MergedRows  *int64                      `json:"mergedRecordCount"`
	MergedBytes *int64                      `json:"mergedRecordSize"`
	Columns     map[string]ColumnStatistics `json:"colStats"`
}

// ColumnStatistics are those of one column. Minimum and maximum are written as
// Java's serializers write values of the column's type.
type ColumnStatistics struct {
	ColumnID int     `json:"colId"`
	Distinct *int64  `json:"distinctCount"`
	Min      *string `json:"min"`
	Max      *string `json:"max"`
	Nulls    *int64  `json:"nullCount"`
	AvgLen   *int64  `json:"avgLen"`
	MaxLen   *int64  `json:"maxLen"`
}

// Marshal gives the bytes Java writes for s; columns, whose order in Java is
// chance, in that of their names.
func (s *Statistics) Marshal() []byte {
	w := objectWriter{buf: append(make([]byte, 0, 1024), '{')}
	w.int("snapshotId", s.SnapshotID)
	w.int("schemaId", s.SchemaID)
	w.optInt("mergedRecordCount", s.MergedRows)
	w.optInt("mergedRecordSize", s.MergedBytes)
	w.key("colStats")
	columns := objectWriter{buf: append(w.buf, '{'), indent: 1}
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		c := s.Columns[name]
		columns.key(name)
		o := objectWriter{buf: append(columns.buf, '{'), indent: 2}
		o.int("colId", int64(c.ColumnID))
		o.optInt("distinctCount", c.Distinct)
		o.optString("min", c.Min)
		o.optString("max", c.Max)
		o.optInt("nullCount", c.Nulls)
		o.optInt("avgLen", c.AvgLen)
		o.optInt("maxLen", c.MaxLen)
		columns.buf = o.end()
	}
	w.buf = columns.end()
	return w.end()
}

// ParseStatistics reads a statistics file. Unknown fields are ignored; anything
// that holds no statistics is Corrupt.
func ParseStatistics(data []byte) (*Statistics, error) {
	const op = "reading table statistics"
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	s := &Statistics{}
	r := objectReader{members: members, op: op}
	r.need("snapshotId", &s.SnapshotID)
	r.need("schemaId", &s.SchemaID)
	r.read("mergedRecordCount", &s.MergedRows)
	r.read("mergedRecordSize", &s.MergedBytes)
	r.read("colStats", &s.Columns)
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}
