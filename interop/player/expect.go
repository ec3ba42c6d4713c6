package player

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// expect compares the table with the rows it must have now. What only the judge
// has to find, in the end, is left to it.
func (p *player) expect(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[struct {
		Rows     [][]json.RawMessage `json:"rows"`
		Filter   string              `json:"filter"`
		Project  []string            `json:"project"`
		Snapshot int64               `json:"snapshot"`
		Judge    bool                `json:"judge"`
	}](text)
	if err != nil || op.Judge {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	s, err := t.SchemaAt(ctx, op.Snapshot)
	if err != nil {
		return err
	}
	fields := s.Fields
	scan := table.Scan{Columns: op.Project, SnapshotID: op.Snapshot}
	if op.Filter != "" {
		if scan.Where, err = parseFilter(op.Filter, fields); err != nil {
			return err
		}
	}
	if op.Project != nil {
		fields = s.Select(op.Project)
	}
	rows, err := readRows(fields, op.Rows, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	want, err := canonicalLines(ctx, fields, rows)
	if err != nil {
		return err
	}
	read, err := t.Scan(ctx, scan)
	if err != nil {
		return err
	}
	defer read.Close()
	got, err := canonicalLines(ctx, fields, read)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return tarnerr.New(tarnerr.Corrupt, "reading table", "its rows are not those expected",
			"table", id, "want", len(want), "got", len(got), "missing", without(want, got), "extra", without(got, want))
	}
	return nil
}

// without gives the first few lines of a that b lacks.
func without(a, b []string) string {
	counts := map[string]int{}
	for _, line := range b {
		counts[line]++
	}
	var rest []string
	for _, line := range a {
		if counts[line]--; counts[line] < 0 && len(rest) < 4 {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, " ")
}
