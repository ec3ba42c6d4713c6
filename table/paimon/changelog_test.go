package paimon_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// changeSpec is a key table with a column of numbers and one that orders rows.
func changeSpec(options map[string]string) schema.Spec {
	s := schema.Spec{
		Fields: []types.Field{
			{Name: "k", Type: types.MustParse("INT NOT NULL")},
			{Name: "n", Type: types.MustParse("BIGINT")},
			{Name: "s", Type: types.MustParse("INT")},
		},
		PrimaryKeys: []string{"k"},
		Options:     map[string]string{"bucket": "2", "num-sorted-run.compaction-trigger": "3"},
	}
	maps.Copy(s.Options, options)
	return s
}

// The changelog folded up to a snapshot is the table at that snapshot, whoever
// produces it, with any merge engine and order of rows (INV-READ-1). Rows on level 0
// are told when they leave it: with lookup and full-compaction, after the compaction.
func TestChangelogFoldsToTheTable(t *testing.T) {
	engines := map[string]map[string]string{
		"deduplicate":    {},
		"sequence":       {"sequence.field": "s"},
		"ignore-delete":  {"ignore-delete": "true"},
		"partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
		"aggregation":    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "ignore-delete": "true"},
		"first-row":      {"merge-engine": "first-row", "ignore-delete": "true"},
	}
	producers := map[string]map[string]string{
		"lookup":              {"changelog-producer": "lookup"},
		"lookup-deduplicated": {"changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"},
		"full":                {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
		"full-deduplicated":   {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2", "changelog-producer.row-deduplicate": "true"},
		"lookup-avro":         {"changelog-producer": "lookup", "changelog-file.format": "avro", "changelog-file.stats-mode": "none"},
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for _, engine := range slices.Sorted(maps.Keys(engines)) {
		for _, producer := range slices.Sorted(maps.Keys(producers)) {
			if engine == "first-row" && strings.HasPrefix(producer, "full") {
				continue // refused, as in Java
			}
			t.Run(engine+"/"+producer, func(t *testing.T) {
				for round := range rounds {
					options := maps.Clone(engines[engine])
					maps.Copy(options, producers[producer])
					changeHistory(t, options, int64(round))
				}
			})
		}
	}
}

func changeHistory(t *testing.T, options map[string]string, seed int64) {
	f := newFixture(t)
	tbl := f.open(f.create(changeSpec(options)))
	rnd := rand.New(rand.NewSource(seed))
	w, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "job"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.WaitForCompaction(true)
	position := int64(1)
	state := map[int32]string{}
	every := int64(1)
	if n := options["full-compaction.delta-commits"]; n == "2" {
		every = 2
	}
	for n := int64(1); n <= 8; n++ {
		var rows []string
		var kinds []types.RowKind
		for range 1 + rnd.Intn(20) {
			kind := []types.RowKind{0, 0, 2, 3}[rnd.Intn(4)]
			if options["ignore-delete"] != "" && rnd.Intn(2) == 0 {
				kind = types.Insert
			}
			kinds = append(kinds, kind)
			rows = append(rows, fmt.Sprintf(`{"k":%d,"n":%d,"s":%d}`, rnd.Intn(12), rnd.Intn(3), rnd.Intn(4)))
		}
		f.putKinds(w, tbl, "["+strings.Join(rows, ",")+"]", kinds)
		r, err := w.Commit(f.ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		position = f.fold(tbl, state, position, slices.Max(r.Snapshots))
		if n%every > 0 {
			continue
		}
		var got []string
		for _, row := range state {
			got = append(got, row)
		}
		slices.Sort(got)
		f.want(got, f.rows(tbl, table.Scan{})...)
		if t.Failed() {
			t.Fatalf("after commit %d of seed %d with %v", n, seed, options)
		}
	}
}

// putKinds writes rows with their kinds.
func (f *fixture) putKinds(w table.StreamWrite, t table.Table, rows string, kinds []types.RowKind) {
	f.Helper()
	rec := f.kindedBatch(t, rows, kinds)
	defer rec.Release()
	if err := w.Write(f.ctx, rec); err != nil {
		f.Fatal(err)
	}
}

// kindedBatch makes a batch of rows with their kinds.
func (f *fixture) kindedBatch(t table.Table, rows string, kinds []types.RowKind) arrow.RecordBatch {
	f.Helper()
	rec := f.batch(t, rows)
	defer rec.Release()
	b := array.NewInt8Builder(f.alloc)
	defer b.Release()
	for _, k := range kinds {
		b.Append(int8(k))
	}
	col := b.NewInt8Array()
	defer col.Release()
	s := arrow.NewSchema(append([]arrow.Field{{Name: types.KindColumn, Type: arrow.PrimitiveTypes.Int8}}, rec.Schema().Fields()...), nil)
	return array.NewRecordBatch(s, append([]arrow.Array{col}, rec.Columns()...), rec.NumRows())
}

// fold applies the changes of some snapshots, which the table has made itself, to a
// state. Each row must fit what is there: a new one comes where there is none, one that
// is taken back is there, and of an update both rows come, one right after the other,
// which differ where equal rows are left out. The first row of a key is told as it was
// written: as +U, maybe. It returns where to go on.
func (f *fixture) fold(t table.Table, state map[int32]string, from, to int64) int64 {
	f.Helper()
	options := t.Schema().Options
	deduplicated, firstRow := options["changelog-producer.row-deduplicate"] == "true", options["merge-engine"] == "first-row"
	fl := f.follow(t, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: from}, To: to})
	for {
		c, err := fl.Next(f.ctx)
		if err == io.EOF {
			return fl.Position()
		}
		if err != nil {
			f.Fatal(err)
		}
		taken := "" // by the -U right before
		for {
			rec, err := c.Rows.Next(f.ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				f.Fatal(err)
			}
			for i := range int(rec.NumRows()) {
				key := rec.Column(1).(*array.Int32).Value(i)
				row := fmt.Sprintf("%d|%s|%s", key, rec.Column(2).ValueStr(i), rec.Column(3).ValueStr(i))
				kind := types.RowKind(rec.Column(0).(*array.Int8).Value(i))
				if firstRow && kind == types.UpdateAfter {
					kind = types.Insert
				}
				wrong := func() {
					f.Errorf("snapshot %d: %v of %s behind -U of %q, and there is %q", c.Snapshot.ID, kind, row, taken, state[key])
				}
				if after := kind == types.UpdateAfter; after != (taken != "") || after && !strings.HasPrefix(taken, fmt.Sprint(key, "|")) {
					wrong()
				}
				switch kind {
				case types.Insert:
					if state[key] != "" {
						wrong()
					}
					state[key] = row
				case types.UpdateAfter:
					if deduplicated && taken == row {
						wrong()
					}
					state[key] = row
				default:
					if state[key] != row {
						wrong()
					}
					delete(state, key)
				}
				if taken = ""; kind == types.UpdateBefore {
					taken = row
				}
			}
		}
		if taken != "" {
			f.Errorf("snapshot %d: -U of %s comes last", c.Snapshot.ID, taken)
		}
	}
}

// With the producer input the changelog is what was written: every row with its
// kind, by key and then in order; an overwrite writes none.
func TestInputChangelog(t *testing.T) {
	f := newFixture(t)
	fs := f.create(changeSpec(map[string]string{"changelog-producer": "input", "bucket": "1", "changelog-file.prefix": "cl-"}))
	tbl := f.open(fs)
	w, err := tbl.NewStreamWrite(f.ctx, table.WriteOptions{User: "job"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f.putKinds(w, tbl, `[{"k":2,"n":1,"s":0},{"k":1,"n":1,"s":0},{"k":2,"n":1,"s":0},{"k":2,"n":2,"s":0}]`, []types.RowKind{0, 0, 1, 2})
	if _, err := w.Commit(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	f.putKinds(w, tbl, `[{"k":9,"n":1,"s":0}]`, []types.RowKind{3})
	if err := w.Abort(f.ctx); err != nil {
		t.Fatal(err)
	}
	o, err := tbl.NewBatchWrite(f.ctx, table.WriteOptions{Overwrite: &table.Overwrite{}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	rec := f.batch(tbl, `[{"k":5,"n":5,"s":5}]`)
	defer rec.Release()
	if err := o.Write(f.ctx, rec); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	latest, err := tbl.Snapshot(f.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if latest.ChangelogManifestList != nil {
		t.Error("the overwrite has a changelog")
	}
	fl := f.follow(tbl, table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: latest.ID})
	f.want(f.all(fl), "1: 0|1|1|0", "1: 0|2|1|0", "1: 1|2|1|0", "1: 2|2|2|0")
	files := 0
	for _, p := range fs.Paths() {
		if strings.HasPrefix(p, (layout.Table{Dir: dir}).BucketDir("", 0)+"/cl-") {
			files++
		}
	}
	if files != 1 {
		t.Errorf("%d changelog files in %v", files, fs.Paths())
	}
}
