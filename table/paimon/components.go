package paimon

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
)

// Components are what tables of one catalog share. All but Events must be set.
type Components struct {
	FileIO  fileio.FileIO
	Env     env.Env
	Alloc   memory.Allocator
	Budget  *budget.Budget
	Events  *event.Listener
	Workers int // work done side by side
}
