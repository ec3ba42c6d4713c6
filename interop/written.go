package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// WrittenLines gives what a scenario writes as canonical lines, made from its
// text alone: all rows of all writes, under the columns of its create_table. It
// is for scenarios of only these two operations in which no row replaces another,
// with values spelled as they are to be read: maps sorted, numbers in full.
func (s *Scenario) WrittenLines() ([]string, error) {
	var columns [][]string
	var lines []string
	for _, text := range s.Ops {
		var op struct {
			Op      string              `json:"op"`
			Columns [][]string          `json:"columns"`
			Rows    [][]json.RawMessage `json:"rows"`
		}
		if err := json.Unmarshal(text, &op); err != nil {
			return nil, fmt.Errorf("reading scenario: %w", err)
		}
		switch op.Op {
		case "create_table":
			columns = op.Columns
		case "write":
			for _, row := range op.Rows {
				line, err := writtenLine(columns, row)
				if err != nil {
					return nil, fmt.Errorf("reading scenario: %w", err)
				}
				lines = append(lines, line)
			}
		default:
			return nil, fmt.Errorf("reading scenario: operation %s does more than write rows", op.Op)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

func writtenLine(columns [][]string, row []json.RawMessage) (string, error) {
	if len(row) != len(columns)+1 {
		return "", fmt.Errorf("row of %d for a kind and %d columns", len(row), len(columns))
	}
	var fields []string
	for i, v := range row[1:] {
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			return "", err
		}
		fields = append(fields, `"`+columns[i][0]+`":`+b.String())
	}
	return "{" + strings.Join(fields, ",") + "}", nil
}
