package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/fileio"
)

func TestEveryTableIsWhole(t *testing.T) {
	set := Open(t)
	names := set.Names()
	if len(names) != 181 {
		t.Fatalf("%d golden tables, want 181", len(names))
	}
	files := 0
	for _, name := range names {
		tb := set.Table(t, name)
		var scenario struct {
			Name   string            `json:"name"`
			What   string            `json:"what"`
			Paimon string            `json:"paimon"`
			Ops    []json.RawMessage `json:"ops"`
		}
		if err := json.Unmarshal(tb.Scenario, &scenario); err != nil {
			t.Fatal(err)
		}
		if scenario.Name != name || scenario.What == "" || scenario.Paimon == "" || len(scenario.Ops) == 0 {
			t.Errorf("%s: scenario names %q, has %d operations", name, scenario.Name, len(scenario.Ops))
		}
		if _, err := fileio.ReadFile(context.Background(), tb.FileIO, path.Join(tb.Path(), "schema", "schema-0")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		for e, err := range fileio.All(context.Background(), tb.FileIO, tb.Warehouse, fileio.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.IsDir {
				t.Errorf("%s: listing shows the directory %s", name, e.Path)
			}
			n++
		}
		if want := len(set.tables[name].warehouse); n != want {
			t.Errorf("%s: warehouse lists %d files, want %d", name, n, want)
		}
		files += n + len(tb.Expected) + 1
		for _, want := range []string{"expected.jsonl", "expected-snapshots.jsonl"} {
			if _, ok := tb.Expected[want]; !ok {
				t.Errorf("%s: no %s", name, want)
			}
		}
		for file, data := range tb.Expected {
			checkExpected(t, name, file, data)
		}
	}
	if files != 5679 {
		t.Errorf("%d files in all, want 5679", files)
	}
}

func checkExpected(t *testing.T, name, file string, data []byte) {
	t.Helper()
	if !strings.HasSuffix(file, ".jsonl") {
		return
	}
	if bytes.Contains(data, []byte("$WAREHOUSE")) {
		t.Errorf("%s/%s: $WAREHOUSE was not replaced", name, file)
	}
	ls := lines(data)
	stream := false
	for _, l := range ls {
		if !json.Valid([]byte(l)) {
			t.Errorf("%s/%s: not JSON: %s", name, file, l)
		}
		stream = stream || strings.HasPrefix(l, `{"_snapshot":`)
	}
	if !stream && !slices.IsSorted(ls) {
		t.Errorf("%s/%s is not sorted", name, file)
	}
}

func TestTablesAreIndependent(t *testing.T) {
	ctx := context.Background()
	set := Open(t)
	one := set.Table(t, "pk-seq-two")
	hint := path.Join(one.Path(), "snapshot", "LATEST")
	before, err := fileio.ReadFile(ctx, one.FileIO, hint)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.FileIO.Replace(ctx, hint, []byte("77")); err != nil {
		t.Fatal(err)
	}
	after, err := fileio.ReadFile(ctx, set.Table(t, "pk-seq-two").FileIO, hint)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a change in one warehouse shows in another: %q, then %q (%v)", before, after, err)
	}
}

func TestMatch(t *testing.T) {
	got := Open(t).Match(t, "py-types", "py-append*", "manifest-[mn]*")
	want := []string{"manifest-merge", "manifest-none", "py-append", "py-append-bucketed", "py-append-partitioned", "py-types"}
	if !slices.Equal(got, want) {
		t.Errorf("matched %q, want %q", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	if _, err := decode(strings.NewReader("not zstd")); err == nil {
		t.Error("rubbish was decoded")
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(bytes.NewReader(z.EncodeAll(bytes.Repeat([]byte("x"), 600), nil))); err == nil {
		t.Error("a stream that is no tar was decoded")
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		set := &Set{}
		tables, err := archive()
		if err != nil {
			b.Fatal(err)
		}
		set.tables = tables
		for _, name := range set.Names() {
			set.Table(b, name)
		}
	}
}
