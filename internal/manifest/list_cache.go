package manifest

import (
	"slices"
	"sync"
)

// listCacheSize is how many lists a cache holds: a commit reads two, writes two,
// and writes one of them before it reads.
const listCacheSize = 8

// ListCache keeps the manifest lists read or written last, so that the stages
// of one process do not read those of the latest snapshot one after the other.
// Lists never change. Safe for concurrent use; a nil cache holds nothing.
type ListCache struct {
	mu    sync.Mutex
	names []string // oldest first
	lists map[string][]FileMeta
}

// NewListCache returns an empty cache for the lists of one table.
func NewListCache() *ListCache { return &ListCache{lists: map[string][]FileMeta{}} }

// get returns the list, which must not be changed.
func (c *ListCache) get(name string) ([]FileMeta, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	metas, ok := c.lists[name]
	return metas, ok
}

func (c *ListCache) put(name string, metas []FileMeta) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.lists[name]; ok {
		return
	}
	if len(c.names) == listCacheSize {
		delete(c.lists, c.names[0])
		c.names = slices.Delete(c.names, 0, 1)
	}
	c.names = append(c.names, name)
	c.lists[name] = slices.Clip(slices.Clone(metas))
}
