package paimon

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lookup"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/table"
)

// Components are what tables of one catalog share. All but Pool, Spill, Lookups,
// Events, Formats, Groups, Commits and Keep must be set.
type Components struct {
	FileIO fileio.FileIO
	Env    env.Env
	Alloc  memory.Allocator
	Budget *budget.Budget
	// Pool is the writers under Budget; nil = each knows itself alone.
	Pool *write.Pool
	// Spill is where write buffers go when memory is short; nil = to data files.
	Spill *spill.Store
	// Lookups keeps local files for look-ups; nil = data files are read each time.
	Lookups *lookup.Store
	Events  *event.Listener
	Workers int // work done side by side
	// Formats keep what data files have in common; nil = those of one Table alone.
	Formats *formats.Set
	// Groups let commits of all tables of a process to one and the same table queue
	// up; nil = those through one Table.
	Groups *commit.Groups
	// Commits says, when a table or branch is opened, what its catalog does for its
	// commits; nil = nothing. It does no I/O: what it must know it has loaded before.
	Commits func(name table.Identifier, place layout.Table) Commits
	// Keep says how many records of ended commits stay; zero = commit's defaults.
	Keep commitlog.Keep
}

// Commits is what a catalog does for the commits of one table. All may be left
// out, and all must be safe for concurrent use.
type Commits struct {
	// Publisher makes the atomic step; nil = the file system's, where the storage
	// can create a file only when it is absent.
	Publisher commit.Publisher
	// Rollbacker undoes a compaction that is in the way of a removal of rows; nil =
	// the file system's, or none under commit.NewCatalogPublisher. One that gives the
	// id of the compaction out again belongs to a catalog that compares the uuids of
	// snapshots: by ids alone, a commit that was built on the compaction would land on
	// top of whatever has its id then.
	Rollbacker commit.Rollbacker
	// Callbacks run after each snapshot that has landed, in this order. Their
	// outcomes are in the commit's report and change nothing else.
	Callbacks []commit.Callback
	// TableUUID is the catalog's id of the table that was opened, "" where it has
	// none. Publisher gets it with each snapshot, and can refuse one for a table that
	// was dropped and created again under the same name.
	TableUUID string
}
