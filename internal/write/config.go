package write

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/compact"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
)

// Config is what a writer needs. Everything but Changelog, Pool, Spill, Compact,
// Workers, Listener and Mem must be given.
type Config struct {
	Table   string // full name, for events and errors
	FileIO  fileio.FileIO
	Place   layout.Table
	Schema  *schema.Schema // pinned: files carry its id
	Options option.Options
	Format  fileformat.Format
	// Changelog is the format of files with all rows written to a key table, as they
	// came; nil: none are written.
	Changelog fileformat.Format
	Restore   Restorer // what the buckets hold already
	Env       env.Env
	Pool      *Pool        // of all writers under one budget; nil: the write buffer alone bounds the memory
	Spill     *spill.Store // nil: full buffers are flushed
	// Compact rewrites the files of key tables beside the writing, which Restore must
	// give; nil: nothing is compacted.
	Compact  *compact.Rewriter
	Mem      memory.Allocator
	Workers  int // goroutines of a flush; 0 and 1 flush on the caller's
	Listener *event.Listener
}

// settings are the table options a writer honours, resolved.
type settings struct {
	option.Options
	// ordered: buckets of append tables number their rows on from what they hold.
	ordered bool
}

func settingsOf(s *schema.Schema, o option.Options) (settings, error) {
	set := settings{Options: o}
	// Java numbers on unless a write-only table does not keep append order.
	ordered, err := boolOption(s.Options, "bucket-append-ordered", true)
	if err != nil {
		return set, err
	}
	set.ordered = ordered || !o.WriteOnly
	return set, nil
}

func boolOption(options map[string]string, key string, otherwise bool) (bool, error) {
	v, ok := options[key]
	if !ok {
		return otherwise, nil
	}
	b, err := strconv.ParseBool(strings.ToLower(v))
	if err != nil {
		return false, tarnerr.New(tarnerr.Invalid, "opening writer", "no such truth value", key, v).WithHint("Set %s to true or false.", key)
	}
	return b, nil
}

// Bucket names one bucket of one partition.
type Bucket struct {
	Partition binaryrow.Row
	Bucket    int32
}

// Held is what a bucket holds in the latest snapshot.
type Held struct {
	// MaxSequence is the highest sequence number among its live files, −1 without any.
	MaxSequence int64
	// TotalBuckets is the number of buckets of the partition's live files, one that
	// differs from the table's if any does; 0 when it has none.
	TotalBuckets int32
	// Files are the live files of the bucket, given by a Restorer that is asked for them.
	Files []*datafile.Meta
}

// Restorer looks up what buckets hold in a table of total buckets, all of them
// in one pass, results parallel to buckets.
type Restorer interface {
	Restore(ctx context.Context, total int32, buckets []Bucket) ([]Held, error)
}
