package ocf

import "sync"

// Bounds of a Cache: a table has as many schemas as it had itself, times the
// releases that wrote to it.
const (
	cachedSchemas = 256
	cachedBytes   = 4 << 20
)

// Cache keeps schemas parsed, and what its user made of them, by their text:
// both take longer than to read a small file. The oldest go when there are too
// many. Safe for concurrent use; a nil Cache keeps nothing.
type Cache struct {
	mu     sync.Mutex
	byText map[string]cached
	order  []string // of the texts that may go
	bytes  int
	missed int
}

type cached struct {
	schema   *Schema
	compiled any
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{byText: map[string]cached{}} }

// Missed is how many schemas were not there when they were asked for.
func (c *Cache) Missed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missed
}

// Keep puts a schema and what was made of it in for good.
func (c *Cache) Keep(text string, s *Schema, compiled any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byText[text] = cached{s, compiled}
}

// Compiled is what compile makes of the schema of a text. All users of one
// cache compile a text to the same type.
func Compiled[T any](c *Cache, text []byte, compile func(*Schema) (*T, error)) (*T, error) {
	e := c.get(text)
	if t, ok := e.compiled.(*T); ok {
		return t, nil
	}
	if e.schema == nil {
		var err error
		if e.schema, err = ParseSchema(text); err != nil {
			return nil, err
		}
	}
	t, err := compile(e.schema)
	if err == nil {
		c.put(string(text), cached{e.schema, t})
	}
	return t, err
}

func (c *Cache) get(text []byte) cached {
	if c == nil {
		return cached{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byText[string(text)]
	if e.schema == nil {
		c.missed++
	}
	return e
}

func (c *Cache) put(text string, e cached) {
	if c == nil || len(text) > cachedBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[text]; ok {
		return
	}
	c.byText[text] = e
	c.order = append(c.order, text)
	c.bytes += len(text)
	for len(c.order) > cachedSchemas || c.bytes > cachedBytes {
		oldest := c.order[0]
		c.order = c.order[1:]
		c.bytes -= len(oldest)
		delete(c.byText, oldest)
	}
}
