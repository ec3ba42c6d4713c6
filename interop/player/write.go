package player

import (
	"context"
	"encoding/json"
	"io"
	"maps"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/table"
)

type writeOp struct {
	Rows       [][]json.RawMessage `json:"rows"` // kind, values…
	Mode       string              `json:"mode"`
	User       string              `json:"user"`
	CommitID   *int64              `json:"commit_id"`
	Compact    *string             `json:"compact"` // "full", of the buckets touched
	Wait       *bool               `json:"wait_compaction"`
	Watermark  *int64              `json:"watermark"`
	Properties map[string]string   `json:"properties"`
	Options    map[string]string   `json:"options"`
	KeepWriter bool                `json:"keep_writer"`
	Overwrite  *map[string]string  `json:"overwrite"` // values of partition columns, maybe none
	// Abort gives the messages of a batch up instead of committing them: the table
	// stays as it is.
	Abort bool `json:"abort"`
}

func (p *player) write(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[writeOp](text)
	if err != nil {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	rows, err := readRows(t.Schema().Fields, op.Rows, true)
	if err != nil {
		return err
	}
	defer rows.Close()
	if op.Overwrite != nil || op.Mode == "batch" || op.Abort {
		return writeBatch(ctx, t, op, rows)
	}
	return p.writeStream(ctx, t, op, rows)
}

func (op writeOp) tableOptions(t table.Table) table.WriteOptions {
	opts := table.WriteOptions{
		User: op.User, Watermark: op.Watermark, Properties: maps.Clone(op.Properties), Options: maps.Clone(op.Options),
	}
	// Java's writers leave it to the job around them to ask for full compactions.
	const fullDelta = "full-compaction.delta-commits"
	if o := t.Schema().Options; o["changelog-producer"] == "full-compaction" && o[fullDelta] == "" && opts.Options[fullDelta] == "" {
		if opts.Options == nil {
			opts.Options = map[string]string{}
		}
		opts.Options[fullDelta] = "-1"
	}
	if op.Overwrite != nil {
		opts.Overwrite = &table.Overwrite{Partition: *op.Overwrite}
	}
	return opts
}

func writeBatch(ctx context.Context, t table.Table, op writeOp, rows batch.Reader) error {
	w, err := t.NewBatchWrite(ctx, op.tableOptions(t))
	if err != nil {
		return err
	}
	defer w.Close()
	if err := op.fill(ctx, w, rows); err != nil {
		return err
	}
	if op.Abort {
		messages, err := w.Prepare(ctx)
		if err != nil {
			return err
		}
		return t.AbortMessages(ctx, messages)
	}
	_, err = w.Commit(ctx)
	return err
}

func (p *player) writeStream(ctx context.Context, t table.Table, op writeOp, rows batch.Reader) error {
	opts := op.tableOptions(t)
	if opts.User == "" {
		opts.User = "writer"
	}
	key := t.Name().String() + "/" + opts.User
	w := p.kept[key]
	if w == nil {
		var err error
		if w, err = t.NewStreamWrite(ctx, opts); err != nil {
			return err
		}
	}
	delete(p.kept, key)
	if op.KeepWriter {
		p.kept[key] = w
	} else {
		defer w.Close()
	}
	w.WaitForCompaction(op.Wait == nil || *op.Wait)
	if err := op.fill(ctx, w, rows); err != nil {
		return err
	}
	_, err := w.Commit(ctx, p.identifier(key, op.CommitID))
	return err
}

// identifier is the one the scenario names, else the next of the user: 1, 2, …
func (p *player) identifier(key string, named *int64) int64 {
	id := max(p.identifiers[key], 1)
	if named != nil {
		id = *named
	}
	p.identifiers[key] = id + 1
	return id
}

// filler is what batch and stream writes have in common.
type filler interface {
	batchWriter
	CompactFully() error
}

// fill writes the rows and asks for the compaction that comes with them.
func (op writeOp) fill(ctx context.Context, w filler, rows batch.Reader) error {
	if err := copyRows(ctx, w, rows); err != nil || op.Compact == nil {
		return err
	}
	if *op.Compact != "full" {
		return unsupported("operation write with compact " + *op.Compact)
	}
	return w.CompactFully()
}

func copyRows(ctx context.Context, w batchWriter, rows batch.Reader) error {
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.Write(ctx, rec); err != nil {
			return err
		}
	}
}

func (p *player) dropPartitions(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[struct {
		Partitions []map[string]string `json:"partitions"`
	}](text)
	if err != nil {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	_, err = t.DropPartitions(ctx, op.Partitions, table.CommitOptions{})
	return err
}

func (p *player) truncate(ctx context.Context, id table.Identifier, _ json.RawMessage) error {
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	_, err = t.Truncate(ctx, table.CommitOptions{})
	return err
}
