package metamorphic

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
)

// gated is a storage whose data files cannot be opened while its gate is shut. A commit
// reads none of them, a compaction does: so the commit comes first.
type gated struct {
	*mem.FS
	held atomic.Int64 // calls that found the gate shut

	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func newGated() *gated {
	g := &gated{FS: mem.New(mem.Posix), open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gated) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gated) unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// Open implements fileio.FileIO.
func (g *gated) Open(ctx context.Context, path string) (fileio.File, error) {
	if strings.Contains(path, "/bucket-") {
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		select {
		case <-open:
			return g.FS.Open(ctx, path)
		default:
		}
		g.held.Add(1)
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
	return g.FS.Open(ctx, path)
}
