package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tarnlake/tarn/bench/rows"
)

// writeData writes what peers without a row generator ingest, ten files of SIZE/10
// rows with random keys below 0.4 SIZE, and what the tables mor and comp are made
// of: every key once, then five times a tenth of them.
func writeData(_ context.Context, j *job) error {
	if err := os.MkdirAll(j.data, 0o755); err != nil {
		return err
	}
	all, tenth := uint64(j.rows), j.rows/10
	files := map[string]rows.Spec{"mor_base": {From: 10_000_000_000, N: j.rows, Offset: 10_000_000_000}}
	for i := range 10 {
		files[fmt.Sprintf("batch_%02d", i)] = rows.Spec{From: uint64(i * tenth), N: tenth, Keys: all * 2 / 5}
	}
	for i := range 5 {
		files[fmt.Sprintf("mor_update_%d", i)] = rows.Spec{From: 20_000_000_000 + uint64(i*tenth), N: tenth, Keys: all}
	}
	for name, spec := range files {
		if err := writeParquet(filepath.Join(j.data, name+".parquet"), spec); err != nil {
			return err
		}
	}
	return nil
}

func writeParquet(name string, s rows.Spec) (err error) {
	batches, err := rows.Make(memory.DefaultAllocator, s)
	if err != nil {
		return err
	}
	all := array.NewTableFromRecords(batches[0].Schema(), batches)
	defer all.Release()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = pqarrow.WriteTable(all, f, int64(s.N), parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps())
	if closed := f.Close(); !errors.Is(closed, os.ErrClosed) { // the Parquet writer closes what it can
		err = errors.Join(err, closed)
	}
	return err
}
