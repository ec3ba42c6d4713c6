//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"testing"

	"github.com/tarnlake/tarn/tarnsql"
)

// TestProgress: the rows in the files of all tables that a statement reads count,
// also those that a merge or a filter leaves out, and none when it is closed.
func TestProgress(t *testing.T) {
	w := newWorld(t, tarnsql.Options{Threads: 1})
	big(w) // 24000 rows in files, 8000 after the merge
	if p := w.db.Progress(); p != (tarnsql.Progress{}) {
		t.Errorf("before: %+v", p)
	}
	for sql, want := range map[string]int64{
		"SELECT * FROM big":                                 24000,
		"SELECT count(*) FROM big":                          24000,
		"SELECT s FROM big WHERE id % 2 = 7":                24000,
		"SELECT count(*) FROM big a JOIN big b USING (id)":  48000,
		"SELECT count(*) FROM big$snapshots":                0,
		"SELECT range FROM range(10000)":                    0,
		"SELECT id FROM big ORDER BY s || id DESC LIMIT 10": 24000,
	} {
		rows, err := w.db.Query(context.Background(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if p := w.db.Progress(); p.Rows != want || p.Done > p.Rows {
			t.Errorf("%s: begun: %+v, want %d rows", sql, p, want)
		}
		if _, err := drain(context.Background(), rows, rows.Fields()); err != nil {
			t.Fatal(err)
		}
		p := w.db.Progress()
		if p.Rows != want || p.Done != want {
			t.Errorf("%s: read: %+v, want %d rows", sql, p, want)
		}
		if f, ok := p.Fraction(); ok != (want > 0) || ok && f != 1 {
			t.Errorf("%s: fraction %v, %v", sql, f, ok)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if p := w.db.Progress(); p != (tarnsql.Progress{}) {
			t.Errorf("%s: closed: %+v", sql, p)
		}
	}
}
