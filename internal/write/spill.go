package write

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// spilled is a buffer on disk: the rows of one bucket after the other, in key
// tables a sorted run of each.
type spilled struct {
	file  *spill.File
	parts []part // by group; later groups have none
}

// part is where the rows of one group lie.
type part struct{ first, rows int64 }

func (s *spilled) part(g int) part {
	if g < len(s.parts) {
		return s.parts[g]
	}
	return part{}
}

// raw says that rows of key tables are spilled as they came, by key and age. Who
// makes a row out of all rows of a key, and changelogs, want them all at the flush,
// as if they had stayed in memory. Of others the newest row of a key will do.
func (w *Writer) raw() bool { return w.keyed && (w.changes != nil || w.order.folds()) }

// spills reports that a full buffer goes to disk rather than to data files.
func (w *Writer) spills() bool {
	o := &w.set.Spill
	if w.cfg.Spill == nil || !o.Enabled || w.spilledBytes() >= o.MaxDisk {
		return false
	}
	if w.keyed || o.ForAppend || len(w.runs) > 0 {
		return true
	}
	// Files of so few buckets stay open and grow from flush to flush.
	return len(w.router.groups) > o.MaxWriters
}

func (w *Writer) spilledBytes() int64 {
	var n int64
	for _, r := range w.runs {
		n += r.file.Size()
	}
	return n
}

const (
	// maxSpillBlock is how many bytes of rows make a block of a spill file, where the
	// memory allows as much.
	maxSpillBlock = 512 << 10
	minSpillBlock = 8 << 10
)

// sizeBlocks says how many rows of the buffer make a block.
func (w *Writer) sizeBlocks() {
	size := min(maxSpillBlock, max(minSpillBlock, w.capacity()/32))
	perRow := max(1, w.buffer.bytes/int64(max(1, w.buffer.rows())))
	n := int(min(8192, max(16, size/perRow)))
	if len(w.runs) > 0 { // blocks are as large when runs are merged
		n = min(n, w.blockRows)
	}
	w.blockRows = n
}

// spill writes the buffer to a temporary file and empties it. When it fails the
// buffer is as it was.
func (w *Writer) spill(ctx context.Context) error {
	start := w.cfg.Env.Now()
	n := w.buffer.rows()
	size, err := w.trySpill(ctx)
	w.cfg.Listener.Emit(event.SpillEnd{
		Table: w.cfg.Table, Rows: int64(n), Bytes: size, Elapsed: w.cfg.Env.Now().Sub(start), Err: err,
	})
	return tarnerr.Trace("spilling write buffer", err, "table", w.cfg.Table)
}

// temporary makes a temporary file with rows of all groups; nothing is left of one
// that fails.
func (w *Writer) temporary(ctx context.Context, fill func(*spill.Writer, []part) error) (*spilled, error) {
	out, err := w.cfg.Spill.Create(ctx, w.codec)
	if err != nil {
		return nil, err
	}
	s := &spilled{parts: make([]part, len(w.router.groups))}
	if err := fill(out, s.parts); err != nil {
		out.Abort()
		return nil, err
	}
	s.file, err = out.Close()
	return s, err
}

func (w *Writer) trySpill(ctx context.Context) (int64, error) {
	if err := w.buffer.join(); err != nil {
		return 0, err
	}
	rows := w.buffer.byGroup(len(w.router.groups))
	active := w.buffer.present()
	if err := w.restore(ctx, active); err != nil {
		return 0, err
	}
	w.sizeBlocks()
	s, err := w.temporary(ctx, func(out *spill.Writer, parts []part) error { return w.pack(ctx, out, parts, rows, active) })
	if err != nil {
		return 0, err
	}
	if w.keyed {
		for _, g := range active { // rows that lost have used their numbers too (INV-WRITE-1)
			w.router.groups[g].sequence += int64(len(rows[g]))
		}
	}
	w.runs = append(w.runs, s)
	w.empty()
	return s.file.Size(), nil
}

// pack writes the rows of the active groups and says where they lie.
func (w *Writer) pack(ctx context.Context, out *spill.Writer, parts []part, rows [][]batch.Ref, active []int) error {
	var places [][]uint32
	if w.keyed {
		var err error
		if places, err = w.sortGroups(rows, active); err != nil {
			return err
		}
	}
	var err error
	p := &packer{w: w, out: out, most: w.blockRows}
	for _, g := range active {
		parts[g].first = p.rows
		if w.keyed {
			base := w.router.groups[g].sequence
			for _, at := range places[g] {
				p.refs = append(p.refs, rows[g][at])
				p.sequence = append(p.sequence, base+int64(at))
				if err = p.more(ctx); err != nil {
					break
				}
			}
		} else {
			for _, r := range rows[g] {
				p.refs = append(p.refs, r)
				if err = p.more(ctx); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		parts[g].rows = p.rows - parts[g].first
	}
	return p.cut(ctx)
}

// sortGroups sorts the rows of each group and, unless they are spilled raw, merges
// those of one key, side by side.
func (w *Writer) sortGroups(rows [][]batch.Ref, active []int) ([][]uint32, error) {
	keys, err := w.order.load(w.buffer.chunks)
	if err != nil {
		return nil, err
	}
	out := make([][]uint32, len(rows))
	lanes := min(w.cfg.Workers, len(active))
	return out, batch.SideBySide(lanes, lanes, func(lane int) error {
		var scratch []item
		for i := lane; i < len(active); i += lanes {
			g := active[i]
			if w.raw() {
				out[g] = keys.inOrder(rows[g], &scratch)
			} else {
				out[g] = keys.sorted(rows[g], &scratch)
			}
		}
		return nil
	})
}

// packer makes blocks of buffered rows.
type packer struct {
	w        *Writer
	out      *spill.Writer
	most     int
	refs     []batch.Ref
	sequence []int64 // of key tables
	rows     int64   // packed and waiting
}

// more counts a row that was added and writes a block when there are enough.
func (p *packer) more(ctx context.Context) error {
	if p.rows++; len(p.refs) < p.most {
		return nil
	}
	return p.cut(ctx)
}

// cut writes what waits.
func (p *packer) cut(ctx context.Context) error {
	for step := len(p.refs); len(p.refs) > 0; {
		if err := ctx.Err(); err != nil {
			return tarnerr.Wrap(tarnerr.Unavailable, "spilling write buffer", err)
		}
		n := min(step, len(p.refs))
		rec, err := p.gather(n)
		if errors.Is(err, batch.ErrTooLarge) && n > 1 {
			step = n / 2
			continue
		}
		if err != nil {
			return err
		}
		err = p.out.Write(rec)
		rec.Release()
		if err != nil {
			return err
		}
		p.refs = p.refs[:copy(p.refs, p.refs[n:])]
		if p.sequence != nil {
			p.sequence = p.sequence[:copy(p.sequence, p.sequence[n:])]
		}
	}
	return nil
}

func (p *packer) gather(n int) (arrow.RecordBatch, error) {
	b := &p.w.buffer
	rec, err := batch.Gather(batch.Recycled(p.w.cfg.Mem), b.schema, b.chunks, nil, p.refs[:n])
	if err != nil || !p.w.keyed {
		return rec, err
	}
	defer rec.Release()
	return p.w.withSequence(rec, p.sequence[:n]), nil
}

// withSequence puts sequence numbers behind buffer columns. The caller releases
// the result.
func (w *Writer) withSequence(rec arrow.RecordBatch, numbers []int64) arrow.RecordBatch {
	column := batch.Int64s(batch.Recycled(w.cfg.Mem), len(numbers), func(out []int64) { copy(out, numbers) })
	defer column.Release()
	cols := append(append(make([]arrow.Array, 0, w.spillSchema.NumFields()), rec.Columns()...), column)
	return array.NewRecordBatch(w.spillSchema, cols, rec.NumRows())
}

// layOutSpills fixes the columns of spilled rows: those of the buffer and, in key
// tables, the sequence number behind them.
func (w *Writer) layOutSpills() error {
	w.spillSchema = w.buffer.schema
	if !w.keyed {
		return nil
	}
	s, err := types.ArrowSchema([]types.Field{types.SequenceNumberField()})
	if err != nil {
		return err
	}
	w.spillSchema = arrow.NewSchema(append(w.buffer.schema.Fields(), s.Fields()...), nil)
	return nil
}

// dropRuns removes what was spilled. What cannot be removed goes with the
// directory of the process.
func (w *Writer) dropRuns() {
	for _, r := range w.runs {
		if err := r.file.Remove(); err != nil {
			w.warn("removing temporary file", err)
		}
	}
	w.runs = nil
}

func (w *Writer) warn(doing string, err error) {
	w.cfg.Listener.Emit(event.Warning{Table: w.cfg.Table, Doing: doing, Err: err})
}
