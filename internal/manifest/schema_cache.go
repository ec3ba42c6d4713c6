package manifest

import (
	"sync"

	"github.com/tarnlake/tarn/internal/datafile"
)

// schemaCacheSize bounds how many writers' schemas a store remembers: a table
// has as many as releases that wrote to it.
const schemaCacheSize = 32

// schemaCache keeps the schemas of containers parsed and compiled, which takes
// longer than to decode a small manifest. Safe for concurrent use; a nil cache
// holds nothing.
type schemaCache struct {
	mu      sync.Mutex
	nodes   map[string]*node
	entries map[*node]*entryPlan
}

func newSchemaCache() *schemaCache {
	return &schemaCache{nodes: map[string]*node{}, entries: map[*node]*entryPlan{}}
}

// node is the parsed form of a schema text.
func (c *schemaCache) node(text []byte) (*node, error) {
	if c == nil {
		return parseSchema(text)
	}
	c.mu.Lock()
	n := c.nodes[string(text)]
	c.mu.Unlock()
	if n != nil {
		return n, nil
	}
	n, err := parseSchema(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) < schemaCacheSize {
		c.nodes[string(text)] = n
	}
	return n, nil
}

// entryPlan is a manifest's schema resolved against the columns known. Immutable.
type entryPlan struct {
	entry *recordReader[entryState]
	files *recordReader[datafile.Meta]
	// early: the columns before _FILE suffice to filter by.
	early bool
}

// plan is the plan of a schema that node gave.
func (c *schemaCache) plan(n *node) (*entryPlan, error) {
	if c == nil {
		return newEntryPlan(n)
	}
	c.mu.Lock()
	p := c.entries[n]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := newEntryPlan(n)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) < schemaCacheSize {
		c.entries[n] = p
	}
	return p, nil
}
