package manifest

import (
	"sync"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/ocf"
)

// newSchemaCache makes the cache of a store, which knows what stores write: most
// of what is read has been written by one.
func newSchemaCache() *ocf.Cache {
	c, own := ocf.NewCache(), ownSchemas()
	c.Keep(entrySchema(), own.entry, own.entryPlan)
	c.Keep(listSchema(), own.list, own.listReader)
	c.Keep(indexSchema(), own.index, own.indexReader)
	return c
}

// ownSchemas are the schemas that stores write, parsed and compiled once. They do
// not fail to parse.
var ownSchemas = sync.OnceValue(func() (own struct {
	entry, list, index *ocf.Schema
	entryPlan          *entryPlan
	listReader         *recordReader[listRow]
	indexReader        *recordReader[indexRow]
}) {
	own.entry, _ = ocf.ParseSchema([]byte(entrySchema()))
	own.list, _ = ocf.ParseSchema([]byte(listSchema()))
	own.index, _ = ocf.ParseSchema([]byte(indexSchema()))
	own.entryPlan, _ = newEntryPlan(own.entry)
	own.listReader, _ = compileList(own.list)
	own.indexReader, _ = compileIndex(own.index)
	return own
})

// entryPlan is a manifest's schema resolved against the columns known. Immutable.
type entryPlan struct {
	entry *recordReader[entryState]
	files *recordReader[datafile.Meta]
	// early: the columns before _FILE suffice to filter by.
	early bool
}
