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
// Events, Formats, Groups, Publisher and Keep must be set.
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
	// Publisher makes the atomic step of a table's commits; nil = the file system's.
	Publisher func(name table.Identifier, place layout.Table) (commit.Publisher, error)
	// Keep says how many records of ended commits stay; zero = commit's defaults.
	Keep commitlog.Keep
}
