package systable

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/types"
)

var partitionFields = fieldsOf(
	nullable("partition", text),
	column("record_count", bigint),
	column("file_size_in_bytes", bigint),
	column("file_count", bigint),
	nullable("last_update_time", timestamp),
	nullable("created_at", timestamp),
	nullable("created_by", text),
	nullable("updated_by", text),
	nullable("options", text),
)

var bucketFields = fieldsOf(
	nullable("partition", text),
	column("bucket", integer),
	column("record_count", bigint),
	column("file_size_in_bytes", bigint),
	column("file_count", bigint),
	nullable("last_update_time", timestamp),
)

// total is what the files of a partition or bucket add up to.
type total struct {
	partition          binaryrow.Row
	bucket             int32
	rows, bytes, files int64
	latest             *int64 // creation of the youngest file
}

// totals adds up the live files, per bucket or per partition.
func totals(ctx context.Context, cfg *Config, of plan.Request, perBucket bool) ([]*total, error) {
	p, err := plan.Plan(ctx, cfg.Config, of)
	if err != nil {
		return nil, err
	}
	type key struct {
		partition string
		bucket    int32
	}
	sums := map[key]*total{}
	var order []*total
	for _, s := range p.Splits {
		k := key{partition: string(s.Partition)}
		if perBucket {
			k.bucket = s.Bucket
		}
		t := sums[k]
		if t == nil {
			t = &total{partition: s.Partition, bucket: s.Bucket}
			sums[k] = t
			order = append(order, t)
		}
		for _, f := range s.Files {
			t.rows += f.RowCount
			t.bytes += f.FileSize
			t.files++
			if f.CreationMillis != nil && (t.latest == nil || *f.CreationMillis > *t.latest) {
				t.latest = f.CreationMillis
			}
		}
	}
	return order, nil
}

func (t *total) updated() types.Value {
	if t.latest == nil {
		return nil
	}
	return types.Instant{Millis: *t.latest}
}

func partitionRows(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
	return sorted(func() ([]row, error) {
		paths := cfg.paths()
		sums, err := totals(ctx, cfg, narrowed(cfg, req, paths), false)
		if err != nil {
			return nil, err
		}
		var out []row
		for _, t := range sums {
			path, err := paths.show(t.partition)
			if err != nil {
				return nil, err
			}
			out = append(out, row{path, t.rows, t.bytes, t.files, t.updated(), nil, nil, nil, nil})
		}
		return out, nil
	})
}

func bucketRows(ctx context.Context, cfg *Config, req Request) iter.Seq2[row, error] {
	return sorted(func() ([]row, error) {
		sums, err := totals(ctx, cfg, narrowed(cfg, req, cfg.braces()), true)
		if err != nil {
			return nil, err
		}
		var out []row
		for _, t := range sums {
			partition, err := cfg.partitionText(t.partition)
			if err != nil {
				return nil, err
			}
			out = append(out, row{partition, int64(t.bucket), t.rows, t.bytes, t.files, t.updated()})
		}
		return out, nil
	})
}

// sorted yields rows by their first column, then by a bucket in the second.
func sorted(all func() ([]row, error)) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		rows, err := all()
		if err != nil {
			yield(nil, err)
			return
		}
		slices.SortStableFunc(rows, func(a, b row) int {
			if c := strings.Compare(a[0].(string), b[0].(string)); c != 0 {
				return c
			}
			return types.Compare(bigint, a[1], b[1])
		})
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}
