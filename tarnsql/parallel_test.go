//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/tarnsql"
)

// rendezvous holds who opens a data file of a bucket back until someone else opens
// one of another bucket.
type rendezvous struct {
	fileio.FileIO
	mu      sync.Mutex
	armed   bool
	waiting string        // bucket of the one who waits, "" when nobody does
	met     chan struct{} // closed when the other comes
	both    bool
}

func (r *rendezvous) Open(ctx context.Context, name string) (fileio.File, error) {
	bucket, file := path.Split(name)
	if strings.HasPrefix(file, "data-") {
		if err := r.meet(ctx, path.Base(bucket)); err != nil {
			return nil, err
		}
	}
	return r.FileIO.Open(ctx, name)
}

func (r *rendezvous) meet(ctx context.Context, bucket string) error {
	r.mu.Lock()
	switch {
	case !r.armed || r.both:
		r.mu.Unlock()
		return nil
	case r.waiting == "":
		r.waiting = bucket
	case r.waiting != bucket:
		r.both = true
		close(r.met)
	}
	r.mu.Unlock()
	select {
	case <-r.met:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nobody reads another bucket than %s: %w", bucket, ctx.Err())
	}
}

// Of a table that must be merged several threads of DuckDB read splits at a time: no
// thread comes further than its first file before another one reads another bucket.
func TestThreadsReadSplitsSideBySide(t *testing.T) {
	together := &rendezvous{FileIO: local.New(local.Options{Durability: fileio.OS}), met: make(chan struct{})}
	w := newWorldOf(t, tarn.Config{Components: tarn.Components{FileIO: together}}, tarnsql.Options{Threads: 2})
	big(w)
	together.mu.Lock()
	together.armed = true
	together.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rows, err := w.db.Query(ctx, "SELECT count(s), sum(id) FROM big")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if got, err := drain(ctx, rows, rows.Fields()); err != nil || got != fmt.Sprintf("8000,%d\n", 3*7999*8000/2) {
		t.Errorf("%q, %v", got, err)
	}
}
