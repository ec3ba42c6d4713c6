package metamorphic

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
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
	alloc  memory.Allocator
	stream table.StreamWrite

	model *oracle.Table
	// echo is fed with what Follow tells of tables that tell rows as they were written.
	echo *oracle.Table
	// told is the fold of a changelog that is one of the table; seen what was read of
	// a table that shows rows when they are compacted.
	told, seen map[string]string
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
func create(ctx context.Context, fs *mem.FS, c config) (*schema.Schema, error) {
	return schema.NewStore(fs, dir, env.Real()).Create(ctx, c.spec())
}

// play runs a history and returns what it did, and the first thing that is wrong.
func play(ctx context.Context, h history, seed uint64) (done *effects, err error) {
	alloc := &counter{Allocator: memory.DefaultAllocator}
	b := budget.New(64 << 20)
	fs := mem.New(mem.Posix)
	s, err := create(ctx, fs, h.config)
	if err != nil {
		return nil, err
	}
	comp := paimon.Components{FileIO: fs, Env: env.Seeded(seed, time.UnixMilli(1_700_000_000_000)), Alloc: alloc,
		Budget: b, Workers: 1 + int(seed%2), Pool: write.NewPool(b, 1)}
	if h.config[buffer] == "spilling" {
		comp.Spill = spill.NewStore(mem.New(mem.Posix), "/spill")
	}
	r := &run{ctx: ctx, h: h, alloc: alloc, model: oracle.NewTable(s), echo: oracle.NewTable(s),
		told: map[string]string{}, seen: map[string]string{}, position: 1}
	comp.Events = &event.Listener{SpillEnd: func(event.SpillEnd) { r.spills.Add(1) }}
	if r.tbl, err = paimon.Open(ctx, comp, table.Identifier{Database: "db", Table: "t"}, dir); err != nil {
		return nil, err
	}
	if err := r.all(); err != nil {
		return nil, err
	}
	if n := alloc.bytes.Load(); n != 0 {
		return nil, fmt.Errorf("%d bytes of Arrow memory are left", n)
	}
	if n := b.Used(); n != 0 {
		return nil, fmt.Errorf("%d bytes of the budget are left", n)
	}
	return &r.effects, nil
}

func (r *run) all() (err error) {
	c := r.h.config
	if c[writer] == "stream" {
		if r.stream, err = r.tbl.NewStreamWrite(r.ctx, table.WriteOptions{User: "job"}); err != nil {
			return err
		}
		r.stream.WaitForCompaction(true)
		defer func() {
			if e := r.stream.Close(); err == nil {
				err = e
			}
		}()
	}
	for i, one := range r.h.commits {
		snapshots, err := r.commit(int64(i+1), one)
		if err == nil {
			err = r.check(snapshots, r.settles())
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
			err = r.check(report.Snapshots, one.full || r.lookup() && c[compaction] != "gentle")
		}
		if err != nil {
			return fmt.Errorf("compaction after commit %d: %w", i+1, err)
		}
	}
	return nil
}

// lookup reports a table whose compactions take all of level 0 along.
func (r *run) lookup() bool {
	return r.h.config[engine] == "first-row" || r.h.config[producer] == "lookup"
}

// settles reports a table that tells and shows with a commit what was written.
func (r *run) settles() bool {
	switch when := r.h.config[compaction]; {
	case strings.HasPrefix(when, "write-only"):
		return false
	case r.lookup():
		return when != "gentle"
	}
	return r.h.config[compaction] == "each-commit"
}

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

// check holds the table and its changes to the model at each of some snapshots, of
// which the last one is settled or not.
func (r *run) check(snapshots []int64, settled bool) error {
	want, err := r.model.Rows()
	if err != nil {
		return err
	}
	for i, id := range snapshots {
		last := i == len(snapshots)-1
		if last && settled {
			if want, err = r.settled(); err != nil {
				return err
			}
		}
		if err := r.view(id, want, settled && last); err != nil {
			return fmt.Errorf("snapshot %d: %w", id, err)
		}
	}
	if len(snapshots) == 0 {
		return nil
	}
	id := slices.Max(snapshots)
	if err := r.follow(id); err != nil {
		return fmt.Errorf("changes to snapshot %d: %w", id, err)
	}
	switch r.h.config[producer] {
	case "none", "input":
		got, err := r.echo.Rows()
		if err == nil {
			err = same("rows told and merged", got, want)
		}
		return err
	}
	if settled {
		return same("fold", r.told, want)
	}
	state, err := r.state(id)
	if err != nil {
		return err
	}
	return same(fmt.Sprintf("fold against the state of snapshot %d", id), r.told, state)
}

// settled takes in the model that compactions have taken in all rows.
func (r *run) settled() (map[string]string, error) {
	if r.h.config[producer] == "lookup" {
		var err error
		if r.model, err = r.model.LookedUp(); err != nil {
			return nil, err
		}
	}
	return r.model.Rows()
}

// view reads the table at a snapshot.
func (r *run) view(id int64, want map[string]string, settled bool) error {
	reader, err := r.tbl.Scan(r.ctx, table.Scan{SnapshotID: id})
	if err != nil {
		return err
	}
	got := map[string]string{}
	err = r.each(reader, false, func(row oracle.Row) error {
		key := r.model.Key(row)
		if _, twice := got[key]; twice {
			return fmt.Errorf("key %s comes twice", key)
		}
		got[key] = r.model.Text(row)
		return nil
	})
	if err != nil {
		return err
	}
	if r.h.config[engine] == "first-row" && !settled {
		// Rows show when they are compacted: no others, and none goes.
		for key, text := range r.seen {
			if got[key] != text {
				return fmt.Errorf("key %s was %q and is %q", key, text, got[key])
			}
		}
		r.seen = got
		want = maps.Clone(want)
		maps.DeleteFunc(want, func(key, _ string) bool { _, shows := got[key]; return !shows })
	}
	if r.h.config[producer] == "lookup" && !settled {
		// Nobody knows which rows were compacted: one alone may be merged or not.
		merged, err := r.model.LookedUp()
		if err != nil {
			return err
		}
		rows, err := merged.Rows()
		if err != nil {
			return err
		}
		want = maps.Clone(want)
		for key, text := range rows {
			if got[key] == text {
				want[key] = text
			}
		}
	}
	return same("table", got, want)
}

// follow takes the changes up to a snapshot.
func (r *run) follow(to int64) error {
	f, err := r.tbl.Follow(r.ctx, table.FollowOptions{From: table.Start{Mode: table.StartAt, Snapshot: r.position}, To: to})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		c, err := f.Next(r.ctx)
		if err == io.EOF {
			r.position = f.Position()
			return nil
		}
		if err != nil {
			return err
		}
		err = r.each(c.Rows, true, r.tell)
		if err == nil && r.taken != nil {
			err = fmt.Errorf("-U of %s comes last", r.taken.text)
		}
		if err != nil {
			return fmt.Errorf("of snapshot %d: %w", c.Snapshot.ID, err)
		}
	}
}

// tell takes one change. Of an update that the table makes itself both rows come, one
// right after the other, and where equal rows are left out they differ. The first row
// of a key is told as it was written: as +U, maybe.
func (r *run) tell(row oracle.Row) error {
	switch r.h.config[producer] {
	case "none", "input":
		r.echo.Write(row)
		return nil
	}
	key, text := r.model.Key(row), r.model.Text(row)
	before, there := r.told[key]
	was := r.taken
	r.taken = nil
	if row.Kind == types.UpdateAfter && r.h.config[engine] == "first-row" {
		row.Kind = types.Insert
	}
	if after := row.Kind == types.UpdateAfter; after != (was != nil) || after && was.key != key {
		return fmt.Errorf("%v of %s, behind a -U of %+v", row.Kind, text, was)
	}
	switch row.Kind {
	case types.Insert:
		if there {
			return fmt.Errorf("+I of %s, but there is %s", text, before)
		}
		r.told[key] = text
	case types.UpdateAfter:
		if was.text == text && r.h.config[equal] == "left-out" {
			return fmt.Errorf("+U of %s, which is what there was", text)
		}
		r.told[key] = text
	default:
		if !there || before != text {
			return fmt.Errorf("%v of %s, but there is %s", row.Kind, text, before)
		}
		delete(r.told, key)
		if row.Kind == types.UpdateBefore {
			r.taken = &taken{key, text}
		}
	}
	return nil
}

// state is what a follower begins with that comes at a snapshot.
func (r *run) state(id int64) (map[string]string, error) {
	f, err := r.tbl.Follow(r.ctx, table.FollowOptions{From: table.Start{Mode: table.StartFull, Snapshot: id}, To: id})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	for {
		c, err := f.Next(r.ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		err = r.each(c.Rows, true, func(row oracle.Row) error {
			out[r.model.Key(row)] = r.model.Text(row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
}

// each hands on the rows of a reader, and closes it unless they are changes, which
// their follower closes.
func (r *run) each(reader table.Reader, changes bool, f func(oracle.Row) error) (err error) {
	if !changes {
		defer func() {
			if e := reader.Close(); err == nil {
				err = e
			}
		}()
	}
	for {
		rec, err := reader.Next(r.ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			var row oracle.Row
			at := 0
			if changes {
				row.Kind = types.RowKind(rec.Column(0).(*array.Int8).Value(i))
				at = 1
			}
			for c, field := range r.tbl.Schema().Fields {
				row.Values = append(row.Values, types.ValueAt(field.Type, rec.Column(at+c), i))
			}
			if err := f(row); err != nil {
				return err
			}
		}
	}
}

func same(what string, got, want map[string]string) error {
	if maps.Equal(got, want) {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", what)
	keys := slices.Collect(maps.Keys(got))
	keys = slices.AppendSeq(keys, maps.Keys(want))
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		if got[k] != want[k] {
			fmt.Fprintf(&b, "\n  key %s: got %q, want %q", k, got[k], want[k])
		}
	}
	return fmt.Errorf("%s", b.String())
}
