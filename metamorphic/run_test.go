package metamorphic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/budget"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/oracle"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/table/paimon"
	"github.com/tarnlake/tarn/types"
)

const dir = "/w/db.db/t"

// run is a history that is played.
type run struct {
	ctx    context.Context
	h      history
	tbl    table.Table
	files  table.Table // its files
	alloc  memory.Allocator
	stream table.StreamWrite
	fs     *gated

	model *oracle.Table
	// echo is fed with what Follow tells of tables that tell rows as they were written.
	echo *oracle.Table
	// shown is how many rows of a key in model are compacted, at least.
	shown map[string]int
	came  map[string]int // when the first row of a key did
	// told is the fold of a changelog that is one of the table.
	told map[string]string
	// taken is the row of a -U, of which the next change is the +U.
	taken    *taken
	position int64
	effects
}

type taken struct{ key, text string }

// effects are what a history is for, whatever its rows.
type effects struct {
	spills    atomic.Int64
	compacted int // snapshots of compactions that commits made
	drawn
	held int64 // files that compactions wanted while a commit held them back
}

// counter knows how much memory is taken, at less cost than memory.CheckedAllocator.
type counter struct {
	memory.Allocator
	bytes atomic.Int64
}

func (c *counter) Allocate(size int) []byte {
	c.bytes.Add(int64(size))
	return c.Allocator.Allocate(size)
}

func (c *counter) Reallocate(size int, b []byte) []byte {
	c.bytes.Add(int64(size - len(b)))
	return c.Allocator.Reallocate(size, b)
}

func (c *counter) Free(b []byte) {
	c.bytes.Add(-int64(len(b)))
	c.Allocator.Free(b)
}

// create makes the table of a config in memory.
func create(ctx context.Context, fs fileio.FileIO, c config) (*schema.Schema, error) {
	return schema.NewStore(fs, dir, env.Real()).Create(ctx, c.spec())
}

// play runs a history and returns what it did, and the first thing that is wrong.
func play(ctx context.Context, h history, seed uint64) (done *effects, err error) {
	alloc := &counter{Allocator: memory.DefaultAllocator}
	b := budget.New(64 << 20)
	fs := newGated()
	s, err := create(ctx, fs, h.config)
	if err != nil {
		return nil, err
	}
	comp := paimon.Components{FileIO: fs, Env: env.Seeded(seed, time.UnixMilli(1_700_000_000_000)), Alloc: alloc,
		Budget: b, Workers: 1 + int(seed%2), Pool: write.NewPool(b, 1)}
	if h.config.ahead() {
		comp.Workers = 2 // else compactions are not beside the writing
	}
	if h.config[buffer] == "spilling" {
		comp.Spill = spill.NewStore(mem.New(mem.Posix), "/spill")
	}
	r := &run{ctx: ctx, h: h, fs: fs, alloc: alloc, model: oracle.NewTable(s), echo: oracle.NewTable(s),
		told: map[string]string{}, shown: map[string]int{}, came: map[string]int{}, position: 1}
	comp.Events = &event.Listener{SpillEnd: func(event.SpillEnd) { r.spills.Add(1) }}
	if r.tbl, err = paimon.Open(ctx, comp, table.Identifier{Database: "db", Table: "t"}, dir); err != nil {
		return nil, err
	}
	r.files, err = paimon.Open(ctx, comp, table.Identifier{Database: "db", Table: "t", System: "files"}, dir)
	if err != nil {
		return nil, err
	}
	if err := r.play(); err != nil {
		return nil, err
	}
	if n := alloc.bytes.Load(); n != 0 {
		return nil, fmt.Errorf("%d bytes of Arrow memory are left", n)
	}
	if n := b.Used(); n != 0 {
		return nil, fmt.Errorf("%d bytes of the budget are left", n)
	}
	r.held, r.drawn = fs.held.Load(), h.drawn
	return &r.effects, nil
}

func (r *run) play() (err error) {
	c := r.h.config
	if c[writer] != "batches" {
		if r.stream, err = r.tbl.NewStreamWrite(r.ctx, table.WriteOptions{User: "job"}); err != nil {
			return err
		}
		if c[writer] != "stream-as-told" {
			r.stream.WaitForCompaction(!c.ahead())
		}
		defer func() {
			if e := r.stream.Close(); err == nil {
				err = e
			}
		}()
	}
	for i, one := range r.h.commits {
		snapshots, err := r.commit(int64(i+1), one)
		if err == nil {
			err = r.check(snapshots, c.settles(i+1))
		}
		if err == nil {
			err = r.count(snapshots)
		}
		if err != nil {
			return fmt.Errorf("commit %d: %w", i+1, err)
		}
		if !one.full && !one.minor {
			continue
		}
		report, err := r.tbl.Compact(r.ctx, table.CompactOptions{Minor: one.minor})
		if err == nil && report.Lost > 0 {
			err = fmt.Errorf("%d buckets lost", report.Lost)
		}
		if err == nil {
			err = r.check(report.Snapshots, c.settledBy(one))
		}
		if err != nil {
			return fmt.Errorf("compaction after commit %d: %w", i+1, err)
		}
	}
	return r.finish()
}

// finish waits for what is being compacted.
func (r *run) finish() error {
	c := r.h.config
	if !c.ahead() || strings.HasPrefix(c[compaction], "write-only") {
		return nil
	}
	r.stream.WaitForCompaction(true)
	report, err := r.stream.Commit(r.ctx, int64(len(r.h.commits)+1))
	if err == nil {
		err = r.check(report.Snapshots, c.looksUp() && !c.gentle())
	}
	if err != nil {
		return fmt.Errorf("waiting for compactions: %w", err)
	}
	return nil
}

// ahead reports a stream whose commits do not wait for compactions.
func (c config) ahead() bool { return strings.HasSuffix(c[writer], "ahead") }

type rowWriter interface {
	Write(ctx context.Context, rows arrow.RecordBatch) error
}

func (r *run) commit(identifier int64, c commit) (snapshots []int64, err error) {
	var w rowWriter = r.stream
	publish := func() (*table.CommitReport, error) { return r.stream.Commit(r.ctx, identifier) }
	if r.stream == nil {
		b, err := r.tbl.NewBatchWrite(r.ctx, table.WriteOptions{})
		if err != nil {
			return nil, err
		}
		defer b.Close()
		w, publish = b, func() (*table.CommitReport, error) { return b.Commit(r.ctx) }
	}
	if r.h.config[writer] == "stream-far-ahead" {
		r.fs.shut()
		defer r.fs.unlock()
	}
	for _, rows := range c.batches {
		if len(rows) == 0 {
			continue
		}
		rec, err := r.record(rows)
		if err != nil {
			return nil, err
		}
		err = w.Write(r.ctx, rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
		r.model.Write(rows...)
		for _, row := range rows {
			if _, known := r.came[r.model.Key(row)]; !known && !r.model.Drops(row.Kind) {
				r.came[r.model.Key(row)] = len(r.came)
			}
		}
	}
	report, err := publish()
	if err != nil {
		return nil, err
	}
	return report.Snapshots, nil
}

// count takes the snapshots of a commit.
func (r *run) count(snapshots []int64) error {
	for _, id := range snapshots {
		s, err := r.tbl.Snapshot(r.ctx, id)
		if err != nil {
			return err
		}
		if s.CommitKind == "COMPACT" {
			r.compacted++
		}
	}
	return nil
}

// record makes a batch of rows, their kinds where the table has no column of them.
func (r *run) record(rows []oracle.Row) (arrow.RecordBatch, error) {
	s := r.tbl.ArrowSchema()
	fields := s.Fields()
	given := r.h.config[kinds] == "given"
	if given {
		fields = append(slices.Clone(fields), arrow.Field{Name: types.KindColumn, Type: arrow.PrimitiveTypes.Int8})
	}
	b := array.NewRecordBuilder(r.alloc, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, row := range rows {
		for i, f := range r.tbl.Schema().Fields {
			if err := types.AppendValue(b.Field(i), f.Type, row.Values[i]); err != nil {
				return nil, err
			}
		}
		if given {
			b.Field(len(fields) - 1).(*array.Int8Builder).Append(int8(row.Kind))
		}
	}
	return b.NewRecordBatch(), nil
}
