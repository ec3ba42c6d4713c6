package player

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// batchWriter is what batch and stream writes have in common.
type batchWriter interface {
	Write(ctx context.Context, rows arrow.RecordBatch) error
}

// readRows makes batches of a scenario's rows: [values…] in the order of fields,
// behind the row's kind when kind is set.
func readRows(fields []types.Field, rows [][]json.RawMessage, kind bool) (batch.Reader, error) {
	var text bytes.Buffer
	for _, row := range rows {
		values := row
		text.WriteByte('{')
		if kind && len(row) > 0 {
			values = row[1:]
			text.WriteString(`"_kind":`)
			text.Write(row[0])
		}
		if len(values) != len(fields) {
			return nil, tarnerr.New(tarnerr.Invalid, "reading rows", "wrong number of values", "values", len(values), "columns", len(fields))
		}
		for i, v := range values {
			if i > 0 || kind {
				text.WriteByte(',')
			}
			text.Write(types.AppendJSONString(nil, fields[i].Name))
			text.WriteByte(':')
			if err := json.Compact(&text, v); err != nil {
				return nil, tarnerr.Wrap(tarnerr.Invalid, "reading rows", err)
			}
		}
		text.WriteString("}\n")
	}
	return rowtext.ReadJSONL(&text, fields, rowtext.ReadOptions{})
}

// Lines scans a table and returns its rows as canonical lines, sorted by their bytes.
func Lines(ctx context.Context, t table.Table, s table.Scan) ([]string, error) {
	then, err := t.SchemaAt(ctx, s.SnapshotID)
	if err != nil {
		return nil, err
	}
	fields := then.Fields
	if s.Columns != nil {
		fields = then.Select(s.Columns)
	}
	r, err := t.Scan(ctx, s)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return canonicalLines(ctx, fields, r)
}

// Changes follows a table from its first changes up to snapshot to and returns what
// changed as canonical lines in their order, each with its kind.
func Changes(ctx context.Context, t table.Table, to int64) ([]string, error) {
	f, err := t.Follow(ctx, table.FollowOptions{From: table.Start{Mode: table.StartEarliest}, To: to, Workers: 1})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text strings.Builder
	out := rowtext.NewJSONL(&text, t.Schema().Fields, true)
	for {
		changes, err := f.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := writeAll(ctx, out, changes.Rows); err != nil {
			return nil, err
		}
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	return splitLines(text.String()), nil
}

// canonicalLines reads all rows as canonical lines, sorted by their bytes.
func canonicalLines(ctx context.Context, fields []types.Field, rows reader) ([]string, error) {
	var text strings.Builder
	out := rowtext.NewJSONL(&text, fields, false)
	if err := writeAll(ctx, out, rows); err != nil {
		return nil, err
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	lines := splitLines(text.String())
	slices.Sort(lines)
	return lines, nil
}

func writeAll(ctx context.Context, out rowtext.Writer, rows reader) error {
	for {
		rec, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Write(rec); err != nil {
			return err
		}
	}
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

type reader interface {
	Next(ctx context.Context) (arrow.RecordBatch, error)
}
