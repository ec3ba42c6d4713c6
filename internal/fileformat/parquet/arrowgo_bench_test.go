//go:build !noarrowgo

package parquet

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/tarnlake/tarn/internal/fileformat"
)

func BenchmarkArrowGoWrite(b *testing.B) {
	rec := benchRecord(b)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(arrowGoFile(b, rec))))
	}
	report(b, benchRows)
}

// arrowGoFile is the yardstick: arrow-go's own writer, whole batches at a time.
func arrowGoFile(b testing.TB, rec arrow.RecordBatch) []byte {
	var out bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1))
	w, err := pqarrow.NewFileWriter(rec.Schema(), &out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		b.Fatal(err)
	}
	if err := w.WriteBuffered(rec); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkArrowGoRead(b *testing.B) {
	rec := benchRecord(b)
	fs, _ := write(b, benchFields(), fileformat.WriteOptions{Workers: 2}, rec)
	data := content(b, fs)
	for _, parallel := range []bool{false, true} {
		b.Run(fmt.Sprintf("all/parallel=%v", parallel), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := arrowGoRead(b, data, parallel, nil); n != benchRows {
					b.Fatal(n)
				}
			}
			report(b, benchRows)
		})
	}
	b.Run("two", func(b *testing.B) {
		for b.Loop() {
			arrowGoRead(b, data, false, []int{2, 4})
		}
		report(b, benchRows)
	})
}

func arrowGoRead(b testing.TB, data []byte, parallel bool, cols []int) int64 {
	pf, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	defer pf.Close()
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{Parallel: parallel, BatchSize: fileformat.DefaultBatchRows}, memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	rr, err := fr.GetRecordReader(context.Background(), cols, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer rr.Release()
	var n int64
	for rr.Next() {
		n += rr.RecordBatch().NumRows()
	}
	return n
}
