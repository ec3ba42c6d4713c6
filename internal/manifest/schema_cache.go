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
	mu       sync.Mutex
	nodes    map[string]*node
	compiled map[*node]any // *entryPlan or *recordReader of a schema
}

func newSchemaCache() *schemaCache {
	own := ownSchemas()
	return &schemaCache{
		nodes:    map[string]*node{entrySchema(): own.entry, listSchema(): own.list, indexSchema(): own.index},
		compiled: map[*node]any{own.entry: own.entryPlan, own.list: own.listReader, own.index: own.indexReader},
	}
}

// ownSchemas are the schemas that stores write, parsed and compiled once: most of
// what is read has been written by a store. They do not fail to parse.
var ownSchemas = sync.OnceValue(func() (own struct {
	entry, list, index *node
	entryPlan          *entryPlan
	listReader         *recordReader[listRow]
	indexReader        *recordReader[indexRow]
}) {
	own.entry, _ = parseSchema([]byte(entrySchema()))
	own.list, _ = parseSchema([]byte(listSchema()))
	own.index, _ = parseSchema([]byte(indexSchema()))
	own.entryPlan, _ = newEntryPlan(own.entry)
	own.listReader, _ = compileList(own.list)
	own.indexReader, _ = compileIndex(own.index)
	return own
})

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

// compiledBy is what compile makes of a schema that node gave.
func compiledBy[T any](c *schemaCache, n *node, compile func(*node) (*T, error)) (*T, error) {
	if c == nil {
		return compile(n)
	}
	c.mu.Lock()
	p, ok := c.compiled[n].(*T)
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := compile(n)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.compiled) < schemaCacheSize {
		c.compiled[n] = p
	}
	return p, nil
}

// entryPlan is a manifest's schema resolved against the columns known. Immutable.
type entryPlan struct {
	entry *recordReader[entryState]
	files *recordReader[datafile.Meta]
	// early: the columns before _FILE suffice to filter by.
	early bool
}

// plan is the plan of a schema that node gave.
func (c *schemaCache) plan(n *node) (*entryPlan, error) { return compiledBy(c, n, newEntryPlan) }
