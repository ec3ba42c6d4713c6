//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/tarnsql"
)

// TestSystemTablesReadLess: what a statement asks of the partition, bucket and level
// of files leaves manifests out.
func TestSystemTablesReadLess(t *testing.T) {
	var opened atomic.Int64
	listener := &event.Listener{StorageCall: func(c event.StorageCall) {
		if c.Method == "open" && strings.Contains(c.Path, "/manifest/manifest-") && !strings.Contains(c.Path, "manifest-list-") {
			opened.Add(1)
		}
	}}
	w := newWorld(t, tarnsql.Options{})
	w.does("CREATE TABLE t (day STRING, id INT) PARTITIONED BY (day) WITH ('bucket' = '2', 'bucket-key' = 'id')")
	for day := range 4 {
		w.does(fmt.Sprintf("INSERT INTO t SELECT 'day-%d', range FROM range(20)", day))
	}
	for _, c := range []struct {
		sql, want string
		manifests int64
	}{
		{"SELECT count(*) FROM t$files", "8\n", 4},
		{"SELECT sum(record_count) FROM t$files WHERE partition = '{day-2}'", "20\n", 1},
		{"SELECT count(*) FROM t$files f WHERE f.partition IN ('{day-1}', '{day-3}') AND bucket = 1 AND level = 0", "2\n", 2},
		{"SELECT count(*) FROM t$files WHERE level > 0", "0\n", 0},
		{"SELECT count(*) FROM t$buckets WHERE bucket = 7", "0\n", 0},
		{"SELECT record_count FROM t$partitions WHERE partition = 'day=day-0'", "20\n", 1},
	} {
		// Another catalog has no manifest in memory yet.
		cat, err := tarn.Open(context.Background(), w.dir, tarn.Config{Components: tarn.Components{Listener: listener}})
		if err != nil {
			t.Fatal(err)
		}
		db, err := tarnsql.Open(context.Background(), cat, tarnsql.Options{Database: "shop", TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		opened.Store(0)
		if got, err := text(db, c.sql); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.sql, got, err, c.want)
		}
		if err := errors.Join(db.Close(), cat.Close()); err != nil {
			t.Error(err)
		}
		if n := opened.Load(); n != c.manifests {
			t.Errorf("%s: %d manifests opened, want %d", c.sql, n, c.manifests)
		}
	}
}
