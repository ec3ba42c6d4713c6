//go:build interopall

package flink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/table"
)

// literal is a value of shapes in SQL.
func literal(column int, v any) string {
	switch v := v.(type) {
	case nil:
		return "CAST(NULL AS " + columnTypes[column][1] + ")"
	case string:
		return "'" + v + "'"
	default:
		return fmt.Sprint(v)
	}
}

// insert is a statement that writes rows of shapes, whose kinds are all +I.
func insert(name string, rows [][]any) string {
	var all []string
	for _, r := range rows {
		values := make([]string, len(r)-1)
		for i, v := range r[1:] {
			values[i] = literal(i, v)
		}
		all = append(all, "("+strings.Join(values, ", ")+")")
	}
	return fmt.Sprintf("INSERT INTO %s VALUES %s;", name, strings.Join(all, ", "))
}

// statements runs several statements that write as one job.
func (l *lake) statements(inserts []string) {
	l.Helper()
	l.sql("EXECUTE STATEMENT SET BEGIN %s END", strings.Join(inserts, "\n"))
}

// writtenByFlink are shapes that Flink makes and fills.
func writtenByFlink() []shape {
	return []shape{
		{name: "append_plain"},
		{name: "append_parted", parted: true, options: map[string]string{"bucket": "2", "bucket-key": "k", "file.format": "avro"}},
		{name: "dedup_none", engine: "deduplicate"},
		{name: "dedup_sequence", engine: "deduplicate", options: map[string]string{"sequence.field": "s"}},
		{name: "dedup_lookup", engine: "deduplicate", parted: true, options: map[string]string{"changelog-producer": "lookup", "file.format": "avro"}},
		{name: "dedup_full", engine: "deduplicate", options: map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}},
		{name: "partial_lookup", engine: "partial-update", options: map[string]string{"changelog-producer": "lookup"}},
		{name: "partial_removing", engine: "partial-update", kinds: "deletes",
			options: map[string]string{"partial-update.remove-record-on-delete": "true", "changelog-producer": "lookup"}},
		{name: "sums_full", engine: "aggregation", parted: true, options: map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}},
		{name: "first_lookup", engine: "first-row", options: map[string]string{"changelog-producer": "lookup"}},
	}
}

// Flink makes tables and fills them: INSERT, UPDATE, DELETE, INSERT OVERWRITE,
// compactions and new columns. Tarn reads what Flink reads, at each snapshot that
// Flink has left, and follows what Flink streams. Then Tarn writes on.
func TestFlinkWrites(t *testing.T) {
	l := newLake(t)
	shapes := writtenByFlink()
	g := &generator{Rand: rand.New(rand.NewPCG(4, 1))}
	for _, s := range shapes {
		l.sql("%s", s.ddl())
	}
	for round := range 3 {
		var inserts []string
		for _, s := range shapes {
			s.kinds = ""
			inserts = append(inserts, insert(s.name, g.rows(s)))
		}
		l.statements(inserts)
		switch round {
		case 0:
			l.sql("UPDATE dedup_lookup SET v = CONCAT('u', v), s = s + 1000 WHERE k < 3")
			l.sql("DELETE FROM dedup_lookup WHERE k = 4")
			l.sql("DELETE FROM dedup_none WHERE p = 'a'")
			l.sql("DELETE FROM partial_removing WHERE k > 3")
		case 1:
			l.sql("UPDATE dedup_none SET n = n * 2 WHERE k > 1")
			l.sql("CALL sys.compact(`table` => 'db.dedup_none', compact_strategy => 'full')")
			l.sql("CALL sys.compact(`table` => 'db.append_plain')")
			l.sql("INSERT OVERWRITE append_parted PARTITION (p = 'b') VALUES (1, 'over', CAST(NULL AS BIGINT), 2), (2, 'written', 5, 3)")
		}
	}
	plain := func(name string) string { return name }
	want := map[string][]string{}
	for _, n := range names(shapes) {
		want[n] = l.lines(n, table.Scan{})
	}
	same(l, "rows", want, l.read(names(shapes), plain, ""))

	// Each snapshot of some tables, which Tarn counts and Flink lists.
	for _, name := range []string{"dedup_none", "append_parted"} {
		var ids []string
		byTarn := map[string][]string{}
		for id := int64(1); id <= l.latest(name); id++ {
			ids = append(ids, fmt.Sprint(id))
			if rows := l.lines(name, table.Scan{SnapshotID: id}); len(rows) > 0 {
				byTarn[fmt.Sprint(id)] = rows
			}
		}
		byFlink := map[string][]string{}
		for id, rows := range l.union(l.batch, ids, columnList, func(id string) string {
			return fmt.Sprintf("%s /*+ OPTIONS('scan.snapshot-id'='%s') */", name, id)
		}, "") {
			byFlink[id] = l.canonical(name, rows)
			slices.Sort(byFlink[id])
		}
		same(l, name+", each snapshot", byTarn, byFlink)
	}

	streamed := following(shapes)
	to := map[string]int64{}
	for _, s := range streamed {
		to[s.name] = l.latest(s.name)
	}
	l.mark(streamed)
	byTarn := l.changesByTarn(streamed, to)
	same(l, "changes", byTarn, l.changesByFlink(streamed, marked-1))
	for _, s := range streamed {
		if s.options["changelog-producer"] != "" {
			if got := folded(byTarn[s.name]); !slices.Equal(got, want[s.name]) {
				t.Errorf("%s: the changes make %q of nothing, the table has %q", s.name, got, want[s.name])
			}
		}
	}

	for _, s := range shapes {
		l.write(g, s)
		want[s.name] = l.lines(s.name, table.Scan{})
	}
	same(l, "rows after Tarn has written", want, l.read(names(shapes), plain, ""))
}

// Tables change beside the data: columns that Flink adds, renames, widens and drops
// are there for Tarn, and the other way round; dropped partitions and truncated
// tables are empty for both.
func TestTablesChange(t *testing.T) {
	l := newLake(t)
	g := &generator{Rand: rand.New(rand.NewPCG(5, 1))}
	s := shape{name: "t", engine: "deduplicate", parted: true}
	l.sql("%s", s.ddl())
	l.tarn(op{"op": "write", "table": "db.t", "rows": g.rows(s)})
	l.sql("ALTER TABLE t ADD (x DOUBLE COMMENT 'new', y ARRAY<INT>)")
	l.sql("ALTER TABLE t RENAME v TO w")
	l.sql("ALTER TABLE t DROP s")
	l.sql("INSERT INTO t VALUES ('a', 1, 'new', 7, 0.5, ARRAY[1, 2]), ('c', 1, 'other', CAST(NULL AS BIGINT), -1e10, ARRAY[3])")
	compare := func(what string) {
		t.Helper()
		fields := l.table("t").Schema().Fields
		got, err := l.sql("SELECT * FROM t").Lines(fields)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		same(l, what, map[string][]string{"t": l.lines("t", table.Scan{})}, map[string][]string{"t": got})
	}
	compare("columns changed by Flink")
	l.tarn(op{"op": "alter", "table": "db.t", "changes": []any{
		map[string]any{"add_column": map[string]any{"name": "z", "type": "STRING"}}, map[string]any{"drop_column": "n"}}})
	l.tarn(op{"op": "write", "table": "db.t", "rows": [][]any{{"+I", "b", 2, "from Tarn", 2.5, []int{}, "last"}}, "compact": "full"})
	compare("columns changed by Tarn")
	l.sql("ALTER TABLE t DROP PARTITION (p = 'a')")
	compare("a partition dropped by Flink")
	l.tarn(op{"op": "drop_partition", "table": "db.t", "partitions": []any{map[string]string{"p": "c"}}})
	compare("a partition dropped by Tarn")
	l.sql("TRUNCATE TABLE t")
	if rows := l.lines("t", table.Scan{}); len(rows) > 0 {
		t.Errorf("truncated by Flink: %q", rows)
	}
	l.tarn(op{"op": "write", "table": "db.t", "rows": [][]any{{"+I", "b", 2, "again", 2.5, nil, nil}}})
	compare("filled again")
	l.tarn(op{"op": "truncate", "table": "db.t"})
	if r := l.sql("SELECT * FROM t"); len(r.Rows) > 0 {
		t.Errorf("truncated by Tarn: %q", r.Texts())
	}
}
