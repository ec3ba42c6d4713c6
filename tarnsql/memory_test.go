//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/tarnsql"
)

// Tables of ten times the memory that DuckDB and the tables' readers have
// together: what streams finishes, merges too; what sorts or joins that many rows
// finishes on disk, or says what to raise. Nothing is left of any of them.
func TestTablesLargerThanMemory(t *testing.T) {
	const (
		forTables, forDuckDB = 8 << 20, 16 << 20
		rows                 = 10 * (forTables + forDuckDB) / 800
	)
	w := newWorldOf(t, tarn.Config{Memory: forTables, Workers: 1}, tarnsql.Options{Memory: forDuckDB, Threads: 1})
	const line = "repeat(md5(n::VARCHAR), 25)" // 800 bytes, which files hold in few
	w.does("CREATE TABLE heap (id BIGINT, g INT, s STRING) WITH ('bucket' = '-1');" +
		"CREATE TABLE keyed (id BIGINT, g INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')")
	for part := range 4 { // each key comes twice
		generate := fmt.Sprintf("SELECT n, (n %% 10)::INT, %s FROM (SELECT range AS n FROM range(%d, %d))", line, part*rows/4, (part+1)*rows/4)
		w.does("INSERT INTO heap " + generate + "; INSERT INTO keyed " + strings.Replace(generate, "SELECT n,", fmt.Sprintf("SELECT n %% %d,", rows/2), 1))
	}
	before := w.mem.CurrentAlloc()
	finished := map[string]bool{}
	for _, q := range []struct{ name, sql, want string }{
		{"scan and aggregate", "SELECT count(*), sum(length(s)), min(s) < max(s) FROM heap", fmt.Sprintf("%d,%d,true\n", rows, rows*800)},
		{"group", "SELECT count(*), sum(c) FROM (SELECT g, count(s) AS c FROM heap GROUP BY g)", fmt.Sprintf("10,%d\n", rows)},
		{"sort", "SELECT count(*), sum(length(s)) FROM (SELECT s FROM heap ORDER BY s OFFSET 1)", fmt.Sprintf("%d,%d\n", rows-1, (rows-1)*800)},
		{"hash join", "SELECT count(*), sum(length(a.s) + length(b.s)) FROM heap a JOIN heap b ON a.s = b.s AND a.id = b.id", fmt.Sprintf("%d,%d\n", rows, rows*1600)},
		{"merge on read", "SELECT count(*), sum(length(s)), min(id), max(id) FROM keyed", fmt.Sprintf("%d,%d,0,%d\n", rows/2, rows/2*800, rows/2-1)},
		{"merge on read and sort", "SELECT count(*) FROM (SELECT * FROM keyed ORDER BY s, id OFFSET 10)", fmt.Sprintf("%d\n", rows/2-10)},
		{"insert", "INSERT INTO keyed SELECT id, g, s FROM heap WHERE id < 20000", ""},
		{"what cannot go to disk", "SELECT length(string_agg(s, '')) FROM heap", fmt.Sprintf("%d\n", rows*800)},
	} {
		got, err := answer(w, q.sql)
		switch {
		case err == nil && got == q.want:
			finished[q.name] = true
		case err == nil:
			t.Errorf("%s: %swant %s", q.name, got, q.want)
		case !strings.Contains(err.Error(), "Raise "):
			t.Errorf("%s: %v", q.name, err)
		default:
			t.Logf("%s: %v", q.name, err)
		}
		if now := w.mem.CurrentAlloc(); now != before {
			t.Errorf("%s: %d bytes are left, %d before", q.name, now, before)
		}
		if files := below(t, w.temp); len(files) > 0 {
			t.Errorf("%s: temporary files are left: %v", q.name, files)
		}
	}
	for _, name := range []string{"scan and aggregate", "group", "merge on read", "insert"} {
		if !finished[name] {
			t.Errorf("%s did not finish", name)
		}
	}
	if finished["what cannot go to disk"] {
		t.Error("a text of ten times the memory fits")
	}
}

// What is some times larger than DuckDB's memory is sorted and joined on disk.
func TestSortsAndJoinsSpill(t *testing.T) {
	const rows = 600_000 // of 160 bytes
	w := newWorldOf(t, tarn.Config{Memory: 32 << 20}, tarnsql.Options{Memory: 48 << 20, Threads: 1})
	w.does(fmt.Sprintf("CREATE TABLE keyed (id BIGINT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');"+
		"INSERT INTO keyed SELECT range, repeat(md5(range::VARCHAR), 5) FROM range(%d)", rows))
	w.wants("SELECT count(*), sum(length(s)), count(*) FILTER (WHERE s < before) FROM (SELECT s, lag(s) OVER () AS before FROM (SELECT s FROM keyed ORDER BY s OFFSET 1))",
		fmt.Sprintf("%d,%d,0\n", rows-1, (rows-1)*160))
	w.wants("SELECT count(*), sum(length(a.s) + length(b.s)) FROM keyed a JOIN keyed b ON a.id = b.id AND a.s = b.s", fmt.Sprintf("%d,%d\n", rows, rows*320))
}

// INSERT … SELECT from a table whose files need all memory to be merged, into one that
// is compacted as it is written: the reader does not wait for the writer, nor the
// writer for the reader.
func TestInsertFromWhatNeedsAllMemory(t *testing.T) {
	const rows = 3000
	for threads := 1; threads <= 2; threads++ {
		w := newWorldOf(t, tarn.Config{Memory: 8 << 20, Workers: threads}, tarnsql.Options{Memory: 64 << 20, Threads: threads})
		w.does("CREATE TABLE a (id BIGINT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true');" +
			"CREATE TABLE b (id BIGINT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '3', 'num-sorted-run.compaction-trigger' = '2')")
		for part := range 7 {
			w.does(fmt.Sprintf("INSERT INTO a SELECT range, md5((range * 10 + %d)::VARCHAR) || repeat(md5(range::VARCHAR), 10) FROM range(%d)", part, rows))
		}
		for range 2 {
			w.does("INSERT INTO b SELECT * FROM a")
		}
		w.wants("SELECT count(*), count(*) FILTER (WHERE a.s = b.s) FROM a JOIN b ON a.id = b.id", fmt.Sprintf("%d,%d\n", rows, rows))
	}
}

// A statement that reads several tables at a time on few threads, each of which needs
// all of the readers' memory, does not wait for itself.
func TestSeveralReadersInLittleMemory(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		w := newWorldOf(t, tarn.Config{Memory: 8 << 20, Workers: threads}, tarnsql.Options{Memory: 128 << 20, Threads: threads})
		for _, n := range []string{"a", "b", "c"} {
			w.does(fmt.Sprintf("CREATE TABLE %s (id BIGINT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true')", n))
			for part := range 6 {
				w.does(fmt.Sprintf("INSERT INTO %s SELECT range, md5((range * 10 + %d)::VARCHAR) || repeat(md5(range::VARCHAR), 8) FROM range(3000)", n, part))
			}
		}
		w.wants("SELECT count(*) FROM a JOIN b ON a.id = b.id JOIN c ON a.id = c.id WHERE a.s = b.s AND b.s = c.s", "3000\n")
		w.wants("SELECT count(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b UNION ALL SELECT * FROM c)", "9000\n")
		w.wants("SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b)", "0\n")
		w.wants("SELECT count(*) FROM a POSITIONAL JOIN b", "3000\n")
	}
}

// answer is text for statements of all kinds.
func answer(w *world, sql string) (string, error) {
	ctx := context.Background()
	r, err := w.db.Exec(ctx, sql)
	if err != nil || r.Rows == nil {
		return "", err
	}
	out, err := drain(ctx, r.Rows, r.Rows.Fields())
	return out, errors.Join(err, r.Close())
}
