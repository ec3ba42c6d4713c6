package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/table"
)

// compact compacts tables in full, one after the other. Charged: all of it, the
// commit included; not charged: opening the table.
func compact(ctx context.Context, j *job) error {
	limitMemory(300 << 20)
	files := j.counted()
	for i, name := range j.list("tables", "mor") {
		if err := j.compactTable(ctx, files, name, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) compactTable(ctx context.Context, files *layer.Counter, name string, cold bool) (err error) {
	t, end, err := j.load(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	files.Reset()
	c := startClock()
	report, err := t.Compact(ctx, table.CompactOptions{})
	if err != nil {
		return err
	}
	wall, cpu := c.stop()
	variant := "warm"
	if cold {
		variant = "cold"
	}
	result("compact", variant, int64(j.rows), wall, cpu,
		fmt.Sprintf(`,"buckets":%d,"wbytes":%d,"durability":%q`, report.Compacted, files.BytesWritten(), j.config.Durability.String()))
	return nil
}
