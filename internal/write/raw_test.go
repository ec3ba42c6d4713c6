package write

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
)

// A changelog of the rows as they came is one sorted run, however often the buffer
// was full, and so are the rows themselves.
func TestInputChangelogSpills(t *testing.T) {
	f := newFixture(t, spillTable(true, map[string]string{"bucket": "1", "local-sort.max-num-file-handles": "2"}))
	defer f.alloc.AssertSize(t, 0)
	b, store, fs := f.spillTo(64 << 10)
	f.cfg.Changelog = parquet.New()
	spills := 0
	f.cfg.Listener = &event.Listener{SpillEnd: func(event.SpillEnd) { spills++ }}
	w := f.writer()
	defer w.Close()
	const batches, perBatch = 30, 60
	for i := range int64(batches) {
		var rows []spillRow
		for k := range int64(perBatch) {
			rows = append(rows, spillRow{p: 1, k: (k*7 + i) % perBatch, o: i, v: fmt.Sprint("v", i), kind: int8(i%2) * 2})
		}
		rec := f.spillBatch(true, rows)
		err := w.Write(context.Background(), rec)
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	messages, err := w.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if spills < 3 || len(messages) != 1 || len(messages[0].NewFiles) != 1 || len(messages[0].ChangelogFiles) != 1 {
		t.Fatalf("%d spills, messages %v", spills, messages)
	}
	m := messages[0]
	if n := m.NewFiles[0].RowCount; n != perBatch {
		t.Errorf("%d rows", n)
	}
	lines := f.lines(f.partition(m), m.ChangelogFiles[0])
	if len(lines) != batches*perBatch {
		t.Fatalf("%d changes", len(lines))
	}
	for i, line := range lines {
		if want := fmt.Sprintf("1 a long enough prefix %03d %d v%d seq=", i/batches, i%batches, i%batches); !strings.HasPrefix(line, want) {
			t.Fatalf("change %d is %q, not %q…", i, line, want)
		}
	}
	if b.Used() != 0 || len(fs.Paths()) != 0 || store.Bytes() != 0 {
		t.Errorf("%d bytes of memory and %d files are left", b.Used(), len(fs.Paths()))
	}
}

// A key with more rows than are merged at one time comes out as one row of them all.
func TestManyRowsOfAKey(t *testing.T) {
	for engine, want := range map[string]string{"aggregation": "1 a long enough prefix 007 72000 x seq=71999 +I", "partial-update": "1 a long enough prefix 007 8 x seq=71999 +I", "first-row": "1 a long enough prefix 007 0 x seq=0 +I"} {
		t.Run(engine, func(t *testing.T) {
			options := map[string]string{"bucket": "1", "merge-engine": engine}
			if engine == "aggregation" {
				options["fields.o.aggregate-function"], options["fields.v.aggregate-function"] = "sum", "last_non_null_value"
			}
			f := newFixture(t, spillTable(true, options))
			defer f.alloc.AssertSize(t, 0)
			f.spillTo(1 << 20)
			spills := 0
			f.cfg.Listener = &event.Listener{SpillEnd: func(event.SpillEnd) { spills++ }}
			w := f.writer()
			defer w.Close()
			for i := range int64(9) {
				rows := make([]spillRow, mostOfKey/8-192) // 8000
				for k := range rows {
					rows[k] = spillRow{p: 1, k: 7, o: i, v: "x"}
					if engine == "aggregation" {
						rows[k].o = 1
					}
				}
				rec := f.spillBatch(true, rows)
				err := w.Write(context.Background(), rec)
				rec.Release()
				if err != nil {
					t.Fatal(err)
				}
			}
			messages, err := w.Prepare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got := f.lines(f.partition(messages[0]), messages[0].NewFiles[0])
			if spills == 0 || len(messages[0].NewFiles) != 1 || len(got) != 1 || got[0] != want {
				t.Errorf("%d spills, %q, want %q", spills, got, want)
			}
		})
	}
}
