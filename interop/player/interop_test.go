//go:build interop

package player

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
)

type implementation interface {
	Read(context.Context, interop.Query) (*interop.Rows, error)
	Scenario(context.Context, string, any) error
	Check(ctx context.Context, warehouse, table string) (*interop.Check, error)
}

// itself is Tarn as one implementation among the others.
type itself struct{}

func (itself) Scenario(ctx context.Context, warehouse string, scenario any) error {
	return replay(ctx, warehouse, scenario.(*interop.Scenario))
}

func (itself) Check(ctx context.Context, warehouse, name string) (*interop.Check, error) {
	check := new(interop.Check)
	err := open(ctx, warehouse, name, func(t table.Table) error {
		for s, err := range t.Snapshots(ctx) {
			if err != nil {
				return err
			}
			one := interop.CheckedSnapshot{ID: s.ID, Kind: string(s.CommitKind)}
			if lines, err := Lines(ctx, t, table.Scan{SnapshotID: s.ID}); err != nil {
				one.Error = err.Error()
			} else {
				one.Rows, one.Digest = int64(len(lines)), interop.Digest(lines)
			}
			check.Snapshots = append(check.Snapshots, one)
		}
		lines, err := Lines(ctx, t, table.Scan{})
		check.Rows = int64(len(lines))
		return err
	})
	return check, err
}

func (itself) Read(ctx context.Context, q interop.Query) (*interop.Rows, error) {
	rows := new(interop.Rows)
	name := q.Table
	if q.System != "" {
		name += "$" + q.System
	}
	err := open(ctx, q.Warehouse, name, func(t table.Table) (err error) {
		s := table.Scan{Columns: q.Project, SnapshotID: q.Snapshot}
		if q.Filter != "" {
			if s.Where, err = parseFilter(q.Filter, t.Schema().Fields); err != nil {
				return err
			}
		}
		rows.Lines, err = Lines(ctx, t, s)
		rows.Count = int64(len(rows.Lines))
		return err
	})
	return rows, err
}

func open(ctx context.Context, warehouse, name string, use func(table.Table) error) error {
	cat, err := tarn.Open(ctx, warehouse, tarn.Config{Memory: 64 << 20})
	if err != nil {
		return err
	}
	defer cat.Close()
	id, err := table.ParseIdentifier(name)
	if err != nil {
		return err
	}
	t, err := cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	return use(t)
}

func read(t *testing.T, i implementation, q interop.Query) []string {
	t.Helper()
	rows, err := i.Read(t.Context(), q)
	if err != nil {
		t.Fatalf("%T reading %s: %v", i, q.Table, err)
	}
	return rows.Lines
}

// shaped is a scenario of testdata with its table made in another shape.
func shaped(t *testing.T, file string, shape map[string]any) *interop.Scenario {
	t.Helper()
	s, err := interop.LoadScenario(filepath.Join("..", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return reshaped(t, s, shape)
}

// reshaped is a scenario with its table made in another shape.
func reshaped(t *testing.T, s *interop.Scenario, shape map[string]any) *interop.Scenario {
	t.Helper()
	var create map[string]any
	if err := json.Unmarshal(s.Ops[0], &create); err != nil {
		t.Fatal(err)
	}
	for k, v := range shape {
		if options, ok := v.(map[string]string); ok { // besides those of the scenario
			for k, v := range options {
				create["options"].(map[string]any)[k] = v
			}
			continue
		}
		create[k] = v
	}
	first, err := json.Marshal(create)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"name": s.Name, "table": s.Table, "ops": append([]json.RawMessage{first}, s.Ops[1:]...),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = interop.ParseScenario(text); err != nil {
		t.Fatal(err)
	}
	return s
}

var shapes = map[string]map[string]any{
	"append":     {},
	"bucketed":   {"options": map[string]string{"bucket": "3", "bucket-key": "id"}},
	"parted":     {"partition_keys": []string{"pt"}},
	"key":        {"primary_keys": []string{"id"}, "options": map[string]string{"bucket": "2"}},
	"key-parted": {"primary_keys": []string{"pt", "id"}, "partition_keys": []string{"pt"}, "options": map[string]string{"bucket": "1"}},
}

// Every type in every shape of table, from each writer to each reader; those that
// differ from others in their files alone in two shapes.
func TestTypesGoRound(t *testing.T) {
	t.Parallel()
	j, p := implementations(t)
	java := map[string]implementation{"tarn": itself{}, "judge": j}
	everyone := map[string]implementation{"tarn": itself{}, "judge": j, "pypaimon": p}
	for shape, with := range shapes {
		files := map[string]map[string]implementation{"types.json": everyone, "types-java.json": java}
		if shape == "append" || shape == "key-parted" {
			files["types-variant.json"], files["types-variant-java.json"], files["types-vector.json"] = everyone, java, everyone
		}
		for file, all := range files {
			s := shaped(t, file, with)
			want, err := s.WrittenLines()
			if err != nil {
				t.Fatal(err)
			}
			for writer, w := range all {
				t.Run(file+"/"+shape+"/"+writer, func(t *testing.T) {
					q := interop.Query{Warehouse: t.TempDir(), Table: s.Table}
					if err := w.Scenario(t.Context(), q.Warehouse, s); err != nil {
						t.Fatal(err)
					}
					for reader, r := range all {
						if diff := cmp.Diff(want, read(t, r, q), cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("read by %s (-want +got):\n%s", reader, diff)
						}
					}
				})
			}
		}
	}
}
