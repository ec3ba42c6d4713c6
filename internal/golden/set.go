package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
)

// Set is all golden tables. Safe for concurrent use.
type Set struct {
	tables map[string]*raw
}

// Table is one golden table in a warehouse of its own, which a test may change.
type Table struct {
	Name      string  // of the golden table, "pk-seq-two"
	FileIO    *mem.FS // holds nothing but the warehouse
	Warehouse string  // path of the warehouse within FileIO
	Database  string
	Table     string            // name of the table within Database
	Scenario  []byte            // scenario.json
	Expected  map[string][]byte // expected files by name, "expected.jsonl" among them
}

// Open reads the archive.
func Open(t testing.TB) *Set {
	t.Helper()
	tables, err := archive()
	if err != nil {
		t.Fatalf("reading the golden tables: %v", err)
	}
	return &Set{tables: tables}
}

// Names lists the tables, sorted.
func (s *Set) Names() []string { return sortedKeys(s.tables) }

// Match lists the tables whose name one of the patterns (of path.Match) fits,
// sorted. A pattern that fits none fails the test.
func (s *Set) Match(t testing.TB, patterns ...string) []string {
	t.Helper()
	hit := map[string]bool{}
	for _, p := range patterns {
		fits := false
		for name := range s.tables {
			ok, err := path.Match(p, name)
			if err != nil {
				t.Fatalf("pattern %q: %v", p, err)
			}
			if ok {
				fits = true
				hit[name] = true
			}
		}
		if !fits {
			t.Fatalf("no golden table is named like %q", p)
		}
	}
	return sortedKeys(hit)
}

// Table puts a table into a new in-memory warehouse.
func (s *Set) Table(t testing.TB, name string) *Table {
	t.Helper()
	r := s.tables[name]
	if r == nil {
		t.Fatalf("there is no golden table %q", name)
	}
	var scenario struct {
		Table string `json:"table"`
	}
	if err := json.Unmarshal(r.scenario, &scenario); err != nil {
		t.Fatalf("scenario of golden table %s: %v", name, err)
	}
	db, tbl, ok := strings.Cut(scenario.Table, ".")
	if !ok {
		t.Fatalf("scenario of golden table %s names no db.table but %q", name, scenario.Table)
	}
	out := &Table{
		Name:   name,
		FileIO: mem.New(mem.Posix),
		// Where it was written: Iceberg metadata holds absolute paths.
		Warehouse: "/tmp/paimon-golden/" + name + "/warehouse",
		Database:  db,
		Table:     tbl,
		Scenario:  bytes.Clone(r.scenario),
		Expected:  map[string][]byte{},
	}
	for p, data := range r.warehouse {
		if err := fileio.WriteFile(context.Background(), out.FileIO, path.Join(out.Warehouse, p), data); err != nil {
			t.Fatalf("filling the warehouse of golden table %s: %v", name, err)
		}
	}
	uri := []byte(out.FileIO.URI(out.Warehouse))
	for file, data := range r.expected {
		out.Expected[file] = bytes.ReplaceAll(data, []byte("$WAREHOUSE"), uri)
	}
	return out
}

// Path is the table's directory within FileIO.
func (tb *Table) Path() string {
	return path.Join(tb.Warehouse, tb.Database+".db", tb.Table)
}

// Lines splits an expected file into its lines; a file that is not there fails the test.
func (tb *Table) Lines(t testing.TB, file string) []string {
	t.Helper()
	data, ok := tb.Expected[file]
	if !ok {
		t.Fatalf("golden table %s has no %s, only %s", tb.Name, file, strings.Join(sortedKeys(tb.Expected), " "))
	}
	return lines(data)
}
