package tarn

import (
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
)

// RecycledMemory is an allocator for [Components]: Go memory that later batches use again
// when a batch is released, instead of leaving it to the garbage collector. It is for
// programs that keep nothing of a batch beyond its Next without a Retain: neither arrays
// nor the texts and bytes they gave. Value and ValueStr of an array.String, Value of an
// array.Binary are views of that memory: strings.Clone and bytes.Clone keep one. Safe for
// concurrent use; what nobody uses for a while the garbage collector takes.
func RecycledMemory() memory.Allocator { return batch.Reused() }
