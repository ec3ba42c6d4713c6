package systable

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var fileFields = fieldsOf(
	nullable("partition", text),
	column("bucket", integer),
	column("file_path", text),
	column("file_format", text),
	column("schema_id", bigint),
	column("level", integer),
	column("record_count", bigint),
	column("file_size_in_bytes", bigint),
	nullable("min_key", text),
	nullable("max_key", text),
	column("null_value_counts", text),
	column("min_value_stats", text),
	column("max_value_stats", text),
	nullable("min_sequence_number", bigint),
	nullable("max_sequence_number", bigint),
	nullable("creation_time", timestamp),
	nullable("deleteRowCount", bigint),
	nullable("file_source", text),
	nullable("first_row_id", bigint),
	nullable("write_cols", types.Type{Root: types.Array, Element: ptr(text.WithNull(true))}),
)

func ptr[T any](v T) *T { return &v }

// anyLevel shows files that a batch read does not see, too.
func anyLevel(int32) bool { return true }

func fileRows(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		of := narrowed(cfg, req, cfg.braces())
		of.KeepStats = req.reads("null_value_counts", "min_value_stats", "max_value_stats")
		p, err := plan.Plan(ctx, cfg.Config, of)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, s := range p.Splits {
			for _, f := range s.Files {
				r, err := fileRow(ctx, cfg, s, f, of.KeepStats)
				if err != nil {
					yield(nil, tarnerr.Trace("describing data file", err, "file", f.FileName))
					return
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// fileRow describes a file, its statistics only if wanted: they may not be there.
func fileRow(ctx context.Context, cfg *Config, s *split.Split, f *datafile.Meta, withStats bool) (row, error) {
	written, err := cfg.Schemas.Get(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	partition, err := cfg.partitionText(s.Partition)
	if err != nil {
		return nil, err
	}
	minKey, err := keyText(written, f.MinKey)
	if err != nil {
		return nil, err
	}
	maxKey, err := keyText(written, f.MaxKey)
	if err != nil {
		return nil, err
	}
	var stats fileStatTexts
	if withStats {
		if stats, err = statTexts(cfg.Schema, written, f); err != nil {
			return nil, err
		}
	}
	path := s.BucketPath + "/" + f.FileName
	if f.ExternalPath != nil {
		path = *f.ExternalPath
	}
	r := row{
		partition, int64(s.Bucket), path, f.Format(), f.SchemaID, int64(f.Level), f.RowCount, f.FileSize,
		minKey, maxKey, stats.nulls, stats.min, stats.max, f.MinSequence, f.MaxSequence,
		nil, optional(f.DeleteRowCount), nil, optional(f.FirstRowID), nil,
	}
	if f.CreationMillis != nil {
		r[15] = types.Instant{Millis: *f.CreationMillis}
	}
	if f.FileSource != nil {
		r[17] = f.FileSource.String()
	}
	if f.WriteCols != nil {
		cols := make([]types.Value, len(f.WriteCols))
		for i, c := range f.WriteCols {
			cols[i] = c
		}
		r[19] = cols
	}
	return r, nil
}

// partitionText is a partition as CAST of a row to STRING: {1, a, null}.
func (c *Config) partitionText(partition binaryrow.Row) (types.Value, error) {
	return rowText("{", partition, c.Schema.Select(c.Schema.PartitionKeys), false, "}")
}

// keyText is a key as Java shows an array of its values, null in append tables.
func keyText(written *schema.Schema, key binaryrow.Row) (types.Value, error) {
	if key.Arity() <= 0 {
		return nil, nil
	}
	fields := written.Select(written.TrimmedPrimaryKeys())
	if len(fields) == 0 {
		fields = written.Fields
	}
	return rowText("[", key, fields, true, "]")
}

func rowText(open string, r binaryrow.Row, fields []types.Field, legacy bool, end string) (types.Value, error) {
	if len(fields) == 0 {
		return open + end, nil
	}
	if err := r.Check(len(fields)); err != nil {
		return nil, err
	}
	parts := make([]string, len(fields))
	for i, f := range fields {
		v, err := r.Value(i, f.Type)
		if err != nil {
			return nil, err
		}
		if parts[i], err = valueText(f, v, legacy); err != nil {
			return nil, err
		}
	}
	return open + strings.Join(parts, ", ") + end, nil
}

// valueText is a value as Java's toString shows its internal form (legacy) or as
// CAST to STRING does. Bytes come in hexadecimal, where Java shows the address
// of an array.
func valueText(f types.Field, v types.Value, legacy bool) (string, error) {
	switch {
	case v == nil:
		return "null", nil
	case f.Type.IsNested(), f.Type.IsBytes() && (legacy || f.Type.Root > types.VarBinary):
		return types.FormatValue(f.Type, v), nil
	}
	return layout.ValueText(f, v, legacy)
}

type fileStatTexts struct{ nulls, min, max string }

// statTexts shows the statistics of a file as the text of sorted maps from
// column to value.
func statTexts(table, written *schema.Schema, f *datafile.Meta) (fileStatTexts, error) {
	fields := table.Fields
	if f.ValueStatsCols == nil && sameColumns(table, written) {
		// Positions beyond the end of the statistics are not shown at all.
		fields = fields[:min(len(fields), f.ValueStats.Min.Arity())]
	}
	fields = slices.Clone(fields)
	slices.SortFunc(fields, func(a, b types.Field) int { return strings.Compare(a.Name, b.Name) })
	stats := plan.ShownStats(table.Fields, written.Fields, f)
	var nulls, lo, hi []string
	for _, c := range fields {
		n, l, h, err := statText(stats, c)
		if err != nil {
			return fileStatTexts{}, err
		}
		nulls, lo, hi = append(nulls, c.Name+"="+n), append(lo, c.Name+"="+l), append(hi, c.Name+"="+h)
	}
	show := func(s []string) string { return "{" + strings.Join(s, ", ") + "}" }
	return fileStatTexts{show(nulls), show(lo), show(hi)}, nil
}

func statText(stats expr.StatsLookup, c types.Field) (nulls, lo, hi string, err error) {
	l, h, n, _ := stats.Column(c.Name)
	nulls = "null"
	if n >= 0 {
		nulls = strconv.FormatInt(n, 10)
	}
	if lo, err = valueText(c, l, true); err != nil {
		return "", "", "", err
	}
	hi, err = valueText(c, h, true)
	return nulls, lo, hi, err
}

// sameColumns reports that columns have the places they had.
func sameColumns(table, written *schema.Schema) bool {
	for i, f := range table.Fields {
		if i >= len(written.Fields) || written.Fields[i].ID != f.ID {
			return false
		}
	}
	return true
}
