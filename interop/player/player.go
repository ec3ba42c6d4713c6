package player

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// Play carries out the operations of s in cat, one after another, and ends at the
// first that fails or whose expectation is not met. Operations marked "fails"
// must fail; with what words is each implementation's own affair.
func Play(ctx context.Context, cat catalog.Catalog, s *interop.Scenario) error {
	p := &player{cat: cat, table: s.Table, identifiers: map[string]int64{}, kept: map[string]table.StreamWrite{}}
	defer p.close()
	for i, text := range s.Ops {
		if err := p.step(ctx, text); err != nil {
			return tarnerr.Trace("replaying scenario", err, "scenario", s.Name, "operation", i+1)
		}
	}
	return nil
}

type player struct {
	cat         catalog.Catalog
	table       string
	identifiers map[string]int64 // next commit identifier by table and user
	kept        map[string]table.StreamWrite
}

func (p *player) close() {
	for _, w := range p.kept {
		w.Close()
	}
}

// operations says how each operation is carried out and which fields it may have.
var operations = map[string]struct {
	play   func(*player, context.Context, table.Identifier, json.RawMessage) error
	fields []string
}{
	"create_table": {(*player).create, []string{"columns", "primary_keys", "partition_keys", "options", "comment"}},
	"alter":        {(*player).alter, []string{"changes"}},
	"rename_table": {(*player).rename, []string{"to"}},
	"drop_table":   {(*player).drop, nil},
	"write": {(*player).write, []string{
		"rows", "mode", "user", "commit_id", "compact", "wait_compaction", "watermark", "properties", "options", "keep_writer", "overwrite", "abort"}},
	"drop_partition":   {(*player).dropPartitions, []string{"partitions"}},
	"truncate":         {(*player).truncate, nil},
	"consumer":         {(*player).consumer, []string{"id", "next_snapshot"}},
	"compact":          {(*player).compact, []string{"full", "bucket", "user", "commit_id", "options"}},
	"expire_snapshots": {(*player).expire, []string{"retain_max", "retain_min", "changelog_retain_max", "changelog_retain_min"}},
	"expect":           {(*player).expect, []string{"rows", "filter", "project", "snapshot", "judge"}},
	// The judge's tables need time between commits for time travel by time; here
	// nothing depends on it.
	"sleep_ms": {(*player).sleep, []string{"ms"}},
}

func (p *player) step(ctx context.Context, text json.RawMessage) error {
	var op struct {
		Op    string  `json:"op"`
		Table string  `json:"table"`
		Fails *string `json:"fails"` // a text of Java's message, maybe empty
	}
	if err := json.Unmarshal(text, &op); err != nil {
		return tarnerr.Wrap(tarnerr.Invalid, "reading operation", err)
	}
	operation, ok := operations[op.Op]
	if !ok {
		return unsupported("operation " + op.Op)
	}
	if err := checkFields(op.Op, text, operation.fields); err != nil {
		return err
	}
	name := op.Table
	if name == "" {
		name = p.table
	}
	id, err := table.ParseIdentifier(name)
	if err != nil {
		return err
	}
	err = operation.play(p, ctx, id, text)
	switch {
	case op.Fails == nil || tarnerr.KindOf(err) == tarnerr.Unsupported:
		return tarnerr.Trace(op.Op, err)
	case err == nil:
		return tarnerr.New(tarnerr.Invalid, op.Op, "it should have failed", "text", *op.Fails)
	}
	return nil
}

// checkFields refuses by name what an operation has and we have not.
func checkFields(op string, text json.RawMessage, known []string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return tarnerr.Wrap(tarnerr.Invalid, "reading operation", err)
	}
	for _, k := range append([]string{"op", "table", "fails"}, known...) {
		delete(fields, k)
	}
	for name, value := range fields {
		if string(value) != "null" {
			return unsupported(fmt.Sprintf("operation %s with %s", op, name))
		}
	}
	return nil
}

func unsupported(feature string) error {
	return tarnerr.New(tarnerr.Unsupported, "carrying out operation", feature+" is not there yet").
		WithHint("Replay scenarios without it.")
}

func decode[T any](text json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return v, tarnerr.Wrap(tarnerr.Invalid, "reading operation", err)
	}
	return v, nil
}

func (p *player) sleep(context.Context, table.Identifier, json.RawMessage) error { return nil }
