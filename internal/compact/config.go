package compact

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
)

// Config is the table whose files are rewritten. Everything but Budget, Spill,
// Lookups, Mem, Workers, Pace, Listener and Progress must be given.
type Config struct {
	Table   string // full name, for events and errors
	FileIO  fileio.FileIO
	Place   layout.Table
	Schema  *schema.Schema // pinned: files carry its id
	Options option.Options
	// Format finds a file format by its name, which is the ending of its files.
	Format func(name string) (fileformat.Format, error)
	// SchemaByID reads a schema of the table.
	SchemaByID func(ctx context.Context, id int64) (*schema.Schema, error)
	Env        env.Env
	Budget     *budget.Budget // nil = unlimited
	// Spill takes sorted runs that do not fit what a merge has of Budget; nil = they are
	// read all at once.
	Spill *spill.Store
	// Lookups keeps local files of data files that rows are looked up in; nil = these
	// are read each time.
	Lookups *lookup.Store
	Mem     memory.Allocator
	// Workers is how much one rewrite does side by side; 0 and 1 = one thing at a time.
	Workers int
	// Pace slows all rewrites down; nil = full speed.
	Pace     *Pace
	Listener *event.Listener
	// Progress is told how many bytes were written since it was told last, about;
	// side by side. nil = nobody.
	Progress func(bytes int64)
}

// Bucket names one bucket of one partition.
type Bucket struct {
	Partition string // path, k=v/k=v, "" without partition keys
	Bucket    int32
}

// Result is what a compaction did to the files of a bucket. A file that only
// moved to another level is in Before and, under the same name, in After.
type Result struct {
	Before, After, Changelog []*datafile.Meta
}

// Empty reports that nothing changed.
func (r *Result) Empty() bool { return len(r.Before)+len(r.After)+len(r.Changelog) == 0 }

func (r *Result) add(o Result) {
	r.Before = append(r.Before, o.Before...)
	r.After = append(r.After, o.After...)
	r.Changelog = append(r.Changelog, o.Changelog...)
}

func size(files []*datafile.Meta) (n int64) {
	for _, f := range files {
		n += f.FileSize
	}
	return n
}
