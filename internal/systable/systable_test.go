package systable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// configOf opens a golden table; that the rows are Java's is tested there.
func configOf(t *testing.T, name string) Config {
	tb := golden.Open(t).Table(t, name)
	l := layout.Table{Dir: tb.Path()}
	schemas := schema.NewStore(tb.FileIO, tb.Path(), env.Real())
	s, err := schemas.Latest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := manifest.NewStore(manifest.Config{FileIO: tb.FileIO, Table: l, Partition: s.Select(s.PartitionKeys)})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Config: plan.Config{
			FileIO: tb.FileIO, Layout: l, Schema: s, Options: o, Schemas: schemas, Snapshots: snapshot.NewStore(tb.FileIO, l), Manifests: manifests,
		},
		Zone: time.UTC,
	}
}

func rowsOf(t *testing.T, cfg Config, name, where string, req Request) []string {
	t.Helper()
	s, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	req.Where = bound(t, name, where)
	return rowsFrom(t, cfg, s, req)
}

// bound is a predicate over a system table, nil for no text.
func bound(t *testing.T, name, where string) *expr.Bound {
	t.Helper()
	if where == "" {
		return nil
	}
	fields, err := Fields(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := sqltext.ParseWhere(where)
	if err != nil {
		t.Fatal(err)
	}
	b, err := expr.Bind(e, fields)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func rowsFrom(t *testing.T, cfg Config, s source, req Request) []string {
	t.Helper()
	m := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer m.AssertSize(t, 0)
	cfg.Mem = m
	r, err := newReader(context.Background(), &cfg, s, req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			var cells []string
			for _, c := range rec.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			out = append(out, strings.Join(cells, " | "))
		}
	}
}

func TestFilterProjectLimit(t *testing.T) {
	cfg := configOf(t, "pk-orders-late-1.4.2")
	for _, c := range []struct {
		name, where string
		req         Request
		want        []string
	}{
		{"snapshots", "", Request{Columns: []string{"total_record_count", "snapshot_id"}}, []string{"2 | 1", "4 | 2", "5 | 3"}},
		{"snapshots", "snapshot_id > 1", Request{Columns: []string{"snapshot_id"}, Limit: 1}, []string{"2"}},
		{"snapshots", "commit_kind = 'COMPACT'", Request{}, nil},
		{"files", "bucket = 1 and max_sequence_number = 3", Request{Columns: []string{"min_key", "level"}}, []string{"[1001] | 0"}},
		{"files", "", Request{Columns: []string{"record_count"}, SnapshotID: 1}, []string{"1", "1"}},
		{"buckets", "", Request{Columns: []string{"partition", "bucket", "file_count"}}, []string{"{} | 0 | 1", "{} | 1 | 3"}},
		{"options", "key = 'sequence.field'", Request{}, []string{"sequence.field | version"}},
	} {
		if got := rowsOf(t, cfg, c.name, c.where, c.req); !slices.Equal(got, c.want) {
			t.Errorf("$%s where %s: %q, want %q", c.name, c.where, got, c.want)
		}
	}
}

// TestPartitionsAddUp compares $partitions with $files.
func TestPartitionsAddUp(t *testing.T) {
	cfg := configOf(t, "part-special-chars")
	got := rowsOf(t, cfg, "partitions", "", Request{Columns: []string{"file_count"}})
	if files := rowsOf(t, cfg, "files", "", Request{Columns: []string{"bucket"}}); len(got) == 0 || len(files) != len(got) {
		t.Errorf("%d partitions of one file each, %d files", len(got), len(files))
	}
}

func TestEmptyTable(t *testing.T) {
	cfg := configOf(t, "empty-table")
	for _, name := range slices.DeleteFunc(Names(), func(n string) bool { return n == RowTracking }) {
		rows := rowsOf(t, cfg, name, "", Request{})
		switch name {
		case "schemas":
			if len(rows) != 1 {
				t.Errorf("$schemas: %q", rows)
			}
		case "options":
		default:
			if len(rows) != 0 {
				t.Errorf("$%s: %q", name, rows)
			}
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for name, want := range map[string]tarnerr.Kind{"nope": tarnerr.NotFound, "audit_log": tarnerr.Unsupported} {
		_, err := Open(context.Background(), Config{}, name, Request{})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("$%s: %v", name, err)
		}
	}
	_, err := Open(context.Background(), Config{}, "options", Request{Columns: []string{"value", "nope"}})
	if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("unknown column: %v", err)
	}
}

func TestTimesAreOfTheZone(t *testing.T) {
	cfg := configOf(t, "pk-orders-late-1.4.2")
	cfg.Zone = time.FixedZone("east", 5*3600+1800)
	utc := configOf(t, "pk-orders-late-1.4.2")
	req := Request{Columns: []string{"commit_time"}, Limit: 1}
	parse := func(cfg Config) time.Time {
		at, err := time.Parse("2006-01-02T15:04:05.999", strings.TrimSuffix(rowsOf(t, cfg, "snapshots", "", req)[0], "Z"))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if d := parse(cfg).Sub(parse(utc)); d != 5*time.Hour+30*time.Minute {
		t.Errorf("shifted by %v", d)
	}
}

func TestPrettyPrintingLikeJackson(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                         "{ }",
		`{"a":{"b":1,"c":"x\"\n"}}`:  "{\n  \"a\" : {\n    \"b\" : 1,\n    \"c\" : \"x\\\"\\n\"\n  }\n}",
		`{"z":null,"y":true,"x":{}}`: "{\n  \"z\" : null,\n  \"y\" : true,\n  \"x\" : { }\n}",
		`12.50`:                      "12.50",
	} {
		got, err := javaPretty([]byte(in))
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `{`, `{"a":`, `[1]`, `{"a":[1]}`} {
		if got, err := javaPretty([]byte(in)); err == nil {
			t.Errorf("%s gives %q", in, got)
		}
	}
}

// TestHashOrder: the order of a HashMap printed by a JVM.
func TestHashOrder(t *testing.T) {
	m := map[string]string{}
	for _, k := range []string{"bucket", "file.format", "sequence.field", "merge-engine", "changelog-producer", "snapshot.num-retained.max"} {
		m[k] = ""
	}
	want := javaHashMapOfSix
	if got := hashOrder(m); !slices.Equal(got, want) {
		t.Errorf("order is %q", got)
	}
	for i := range 20 {
		m[fmt.Sprint("k", i)] = ""
	}
	if got := hashOrder(m); !slices.Equal(got, javaHashMapOfTwentySix) {
		t.Errorf("order is %q", got)
	}
}

func FuzzPretty(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1.5e3,"c":[]},"d":"é"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = javaPretty(data)
		_, _ = statisticRow(data)
	})
}

var (
	javaHashMapOfSix       = []string{"bucket", "merge-engine", "sequence.field", "changelog-producer", "snapshot.num-retained.max", "file.format"}
	javaHashMapOfTwentySix = []string{"k11", "k10", "k13", "k12", "k15", "k14", "k17", "k16", "k19", "k18", "sequence.field", "file.format", "k0", "k1", "k2", "k3", "changelog-producer", "k4", "k5", "k6", "k7", "k8", "k9", "bucket", "merge-engine", "snapshot.num-retained.max"}
)
