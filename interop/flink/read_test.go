//go:build interopall

package flink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/interop/player"
	"github.com/tarnlake/tarn/table"
)

// marked is the watermark of the snapshots behind those that are followed.
const marked = 1000

// mark ends what a stream of Flink's reads of tables of shapes.
func (l *lake) mark(shapes []shape) {
	l.Helper()
	for _, s := range shapes {
		row := []any{"+I", "z", 999, "behind the end", 0, 1 << 40}
		l.tarn(op{"op": "write", "table": "db." + s.name, "watermark": marked, "rows": [][]any{row}, "options": writeOnly})
	}
}

var writeOnly = map[string]string{"write-only": "true"}

// write fills a table with Tarn: commits of rows, compactions beside and between them.
func (l *lake) write(g *generator, s shape) {
	l.Helper()
	for i := range 5 {
		o := op{"op": "write", "table": "db." + s.name, "rows": g.rows(s)}
		switch {
		case s.engine == "":
		case i == 2:
			o["compact"] = "full"
		case i == 3 && s.options["changelog-producer"] != "lookup" && s.engine != "first-row":
			o["options"] = writeOnly
		}
		l.tarn(o)
		if s.engine == "" && i == 3 {
			l.compact(s, true)
		}
	}
	if s.options["changelog-producer"] == "full-compaction" {
		l.compact(s, true)
	}
}

func (l *lake) compact(s shape, full bool) {
	l.Helper()
	l.tarn(op{"op": "compact", "table": "db." + s.name, "full": full})
}

// Flink reads tables of Tarn's: every merge engine and changelog producer, with and
// without keys, buckets and partitions, in Parquet and in Avro; now and at an earlier
// snapshot, filtered, counted, and what changed from the first snapshot on.
func TestFlinkReads(t *testing.T) {
	l := newLake(t)
	shapes := everyShape()
	g := &generator{Rand: rand.New(rand.NewPCG(1, 1))}
	for _, s := range shapes {
		l.tarn(s.create())
		l.write(g, s)
	}

	plain := func(name string) string { return name }
	want, earlier, filtered, counts := map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}
	to, middle := map[string]int64{}, map[string]int64{}
	where := expr.And{expr.Compare{Column: "p", Op: expr.Eq, Value: "b"}, expr.Compare{Column: "k", Op: expr.Ge, Value: int64(1)},
		expr.Compare{Column: "n", Op: expr.Lt, Value: int64(90)}}
	for _, n := range names(shapes) {
		to[n] = l.latest(n)
		middle[n] = to[n]/2 + 1
		want[n] = l.lines(n, table.Scan{})
		earlier[n] = l.lines(n, table.Scan{SnapshotID: middle[n]})
		filtered[n] = l.lines(n, table.Scan{Where: where})
		counts[n] = []string{fmt.Sprint(len(want[n]))}
		if len(filtered[n]) == 0 || len(filtered[n]) == len(want[n]) || slices.Equal(earlier[n], want[n]) {
			t.Errorf("%s: %d rows, %d of them filtered, show nothing", n, len(want[n]), len(filtered[n]))
		}
	}
	same(l, "rows", want, l.read(names(shapes), plain, ""))
	same(l, "rows of an earlier snapshot", earlier, l.read(names(shapes), func(name string) string {
		return fmt.Sprintf("%s /*+ OPTIONS('scan.snapshot-id'='%d') */", name, middle[name])
	}, ""))
	same(l, "rows that match", filtered, l.read(names(shapes), plain, "WHERE p = 'b' AND k >= 1 AND n < 90"))
	counted := map[string][]string{}
	for name, rows := range l.union(l.batch, names(shapes), "COUNT(*)", plain, "") {
		counted[name] = (&Result{Rows: rows}).Texts()
	}
	same(l, "counts", counts, counted)

	states := map[string][]string{}
	for name, rows := range l.union(l.batch, names(shapes), columnList, func(name string) string { return "`" + name + "$audit_log`" }, "WHERE rowkind IN ('+I', '+U')") {
		states[name] = l.canonical(name, rows)
		slices.Sort(states[name])
	}
	same(l, "rows of $audit_log", want, states)

	streamed := following(shapes)
	l.mark(streamed)
	byTarn := l.changesByTarn(streamed, to)
	same(l, "changes", byTarn, l.changesByFlink(streamed, marked-1))
	for _, s := range streamed {
		if p := s.options["changelog-producer"]; p == "lookup" || p == "full-compaction" {
			if got := folded(byTarn[s.name]); !slices.Equal(got, want[s.name]) {
				t.Errorf("%s: the changes make %q of nothing, the table has %q", s.name, got, want[s.name])
			}
		}
	}
}

// A stream of Flink's tells of each row what Tarn's changelog has, in its own kinds;
// of a table without changelog it makes one itself.
func TestFlinkStreams(t *testing.T) {
	l := newLake(t)
	g := &generator{Rand: rand.New(rand.NewPCG(2, 1))}
	for _, s := range changelogs("dedup", "deduplicate", "deletes", "none", "lookup") {
		l.tarn(s.create())
		l.write(g, s)
		to := l.latest(s.name)
		want := l.lines(s.name, table.Scan{})
		l.mark([]shape{s})
		r := l.run(l.streaming, fmt.Sprintf("SELECT %s FROM %s /*+ OPTIONS('scan.mode'='from-snapshot', 'scan.snapshot-id'='1', 'scan.bounded.watermark'='%d', 'continuous.discovery-interval'='20 ms') */",
			columnList, s.name, marked-1))
		got := changes{}
		lines := l.canonical(s.name, r.Rows)
		for i, row := range r.Rows {
			got.tell(keyOf(t, lines[i]), kindOf[row.Kind], lines[i])
		}
		if rows := folded(got); !slices.Equal(rows, want) {
			t.Errorf("%s: Flink's changes make %q of nothing, Tarn reads %q", s.name, rows, want)
		}
		if s.options["changelog-producer"] != "" {
			same(l, s.name, map[string]changes{"": l.changesByTarn([]shape{s}, map[string]int64{s.name: to})[s.name]}, map[string]changes{"": got})
		}
	}
}

// A stream of Flink's that does not end goes on with what Tarn commits meanwhile.
func TestFlinkFollows(t *testing.T) {
	l := newLake(t)
	s := changelogs("dedup", "deduplicate", "deletes", "lookup")[0]
	l.tarn(s.create())
	write := func(kind, v string, keys ...int) {
		t.Helper()
		var rows [][]any
		for _, k := range keys {
			rows = append(rows, []any{kind, "a", k, v, 1, 1})
		}
		l.tarn(op{"op": "write", "table": "db." + s.name, "rows": rows})
	}
	write("+I", "first", 1, 2, 3)
	var got *Result
	streams := make(chan error, 1)
	go func() {
		var err error
		got, err = l.streaming.Take(t.Context(), fmt.Sprintf("SELECT %s FROM %s /*+ OPTIONS('scan.mode'='from-snapshot', 'scan.snapshot-id'='1', 'continuous.discovery-interval'='20 ms') */",
			columnList, s.name), 3+2*2+1)
		streams <- err
	}()
	write("+I", "second", 2, 3)
	write("-D", "second", 1)
	if err := <-streams; err != nil {
		t.Fatal(err)
	}
	lines := l.canonical(s.name, got.Rows)
	told := changes{}
	for i, row := range got.Rows {
		told.tell(keyOf(t, lines[i]), kindOf[row.Kind], lines[i])
	}
	same(l, "changes", l.changesByTarn([]shape{s}, map[string]int64{s.name: l.latest(s.name)})[s.name], told)
}

// kindOf are the row kinds as the gateway names them.
var kindOf = map[string]string{"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}

// System tables of Flink's tell of Tarn's snapshots and files what Tarn's tell.
func TestFlinkReadsSystemTables(t *testing.T) {
	l := newLake(t)
	s := shape{name: "t", engine: "deduplicate", parted: true, kinds: "deletes", options: map[string]string{"changelog-producer": "lookup"}}
	l.tarn(s.create())
	l.write(&generator{Rand: rand.New(rand.NewPCG(3, 1))}, s)
	for system, columns := range map[string]string{
		"snapshots":  "snapshot_id, schema_id, commit_user, commit_identifier, commit_kind, total_record_count, delta_record_count, changelog_record_count",
		"files":      "`partition`, bucket, file_path, file_format, schema_id, level, record_count, file_size_in_bytes, min_key, max_key, min_sequence_number, max_sequence_number",
		"schemas":    "schema_id, fields, partition_keys, primary_keys",
		"partitions": "`partition`, record_count, file_size_in_bytes, file_count",
		"buckets":    "`partition`, bucket, record_count, file_size_in_bytes, file_count",
		"manifests":  "file_name, file_size, num_added_files, num_deleted_files, schema_id",
	} {
		r := l.sql("SELECT %s FROM `t$%s`", columns, system)
		tbl, err := l.cat.LoadTable(t.Context(), table.Identifier{Database: "db", Table: "t", System: system})
		if err != nil {
			t.Fatal(err)
		}
		selected := strings.Split(strings.ReplaceAll(columns, "`", ""), ", ")
		got, err := r.Lines(tbl.Schema().Select(selected))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		want, err := player.Lines(t.Context(), tbl, table.Scan{Columns: selected})
		if err != nil {
			t.Fatal(err)
		}
		same(l, "$"+system, map[string][]string{"t": want}, map[string][]string{"t": got})
	}
}
