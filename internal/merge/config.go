package merge

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// Config says how runs are merged. All runs have the same columns.
type Config struct {
	// Keys is the order of the runs; rows equal in it are rows of one key.
	Keys *Order
	// Sequence are the sequence fields, which decide among the rows of a key before
	// the sequence number does; Descending lets the smallest win. A null is older
	// than any value.
	Sequence   []Column
	Descending bool
	// SequenceNumber is the column of the sequence number (int64); it is not looked
	// at where runs are Ranked.
	SequenceNumber int
	// Ranked says that the runs come from the oldest to the youngest: all rows of a
	// run have larger sequence numbers than those of the runs before it.
	Ranked bool
	// Kind is the column of the row kind (int8).
	Kind int

	// Engine is the merge function, and IgnoreDelete leaves -U and -D out of the
	// merge of a key. Engines that make a row out of several must know what the
	// columns are: [Rules.Apply] sets all that.
	Engine       Engine
	IgnoreDelete bool
	// FoldLone folds a row that is alone with its key, too, as compactions do that look
	// up old rows; else it stays as it is. A [Folder] alone asks.
	FoldLone bool
	// KeepDeletes returns surviving -U and -D; a read drops them.
	KeepDeletes bool

	// Level says of which level the batch is that a run gave last, where compactions
	// look up old rows: what is on a level above 0 is then part of what is on the
	// lowest of them, which alone counts, beside level 0. nil = all rows count.
	Level func(run int) int32

	// Schema is the schema of the output, whose column i is column Output[i] of the runs.
	Schema *arrow.Schema
	Output []int
	// BatchRows is the most rows of a gathered batch, 0 for a default.
	BatchRows int
	Mem       memory.Allocator

	bound *bound // what Rules.Apply says of the columns of the runs
}

// Engine is a merge function: what becomes of several rows of one key.
type Engine uint8

// The merge engines. Of a key that has one row alone, that row stays as it is, but see
// [Config].
const (
	Deduplicate   Engine = iota // the last row
	PartialUpdate               // what the rows say of each column, the last one first
	Aggregation                 // what the function of each column makes of its values
	FirstRow                    // the first row
)

// ParseEngine reads the option merge-engine. One that does not exist is Invalid.
func ParseEngine(name string) (Engine, error) {
	switch name {
	case "", "deduplicate":
		return Deduplicate, nil
	case "partial-update":
		return PartialUpdate, nil
	case "aggregation":
		return Aggregation, nil
	case "first-row":
		return FirstRow, nil
	}
	return 0, tarnerr.New(tarnerr.Invalid, "choosing merge function", "no such merge engine", "merge-engine", name).
		WithHint("Merge engines are deduplicate, partial-update, aggregation and first-row.")
}

// folds says that the engine must see all rows of a key, not its last one only.
func (e Engine) folds() bool { return e != Deduplicate }

const (
	defaultBatchRows = 8192
	// maxSources bounds the batches of runs that wait for a gather.
	maxSources = 64
)

func (c *Config) withDefaults() *Config {
	out := *c
	if out.BatchRows <= 0 {
		out.BatchRows = defaultBatchRows
	}
	if out.Mem == nil {
		out.Mem = memory.DefaultAllocator
	}
	return &out
}
