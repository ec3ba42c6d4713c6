package avro

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/avro/ocf"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// benchFields are the ten columns of the peers' benchmark, as in package parquet.
func benchFields() []types.Field {
	return []types.Field{
		field(0, "k", "BIGINT NOT NULL"), field(1, "seq", "BIGINT"), field(2, "cat", "STRING"), field(3, "amt", "DECIMAL(12,2)"),
		field(4, "n", "INT"), field(5, "d", "DOUBLE"), field(6, "h", "STRING"), field(7, "ts", "TIMESTAMP(3)"),
		field(8, "day", "DATE"), field(9, "ok", "BOOLEAN"),
	}
}

const benchRows = 200_000

func benchRecord(b testing.TB) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([][]types.Value, benchRows)
	for i := range rows {
		var d types.Value
		if r.IntN(10) > 0 {
			d = r.Float64() * 1000
		}
		rows[i] = []types.Value{
			int64(i) * 3, r.Int64N(1 << 40), fmt.Sprintf("category-%02d", r.IntN(100)), decimal128.FromI64(r.Int64N(1_000_000)),
			int64(r.IntN(1000)), d, fmt.Sprintf("%08x%08x%04x", r.Uint32(), r.Uint32(), r.Uint32()&0xffff),
			types.Instant{Millis: 1_700_000_000_000 + int64(i)*37}, int32(19_000 + r.IntN(365)), r.IntN(2) == 0,
		}
	}
	return record(b, memory.NewGoAllocator(), benchFields(), rows...)
}

func report(b *testing.B) {
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkWrite(b *testing.B) {
	rec := benchRecord(b)
	for _, codec := range []string{"null", "zstd"} {
		b.Run(codec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				write(b, benchFields(), fileformat.WriteOptions{Compression: codec}, rec)
			}
			report(b)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	rec := benchRecord(b)
	for _, codec := range []string{"null", "zstd"} {
		data, _ := write(b, benchFields(), fileformat.WriteOptions{Compression: codec}, rec)
		f := open(b, data, memory.NewGoAllocator())
		for name, fields := range map[string][]types.Field{"all": benchFields(), "two": {benchFields()[0], benchFields()[4]}} {
			b.Run(codec+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := f.Read(b.Context(), fileformat.ReadRequest{Columns: fields})
					for err == nil {
						_, err = r.Next(b.Context())
					}
					if err != io.EOF || r.Close() != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
		}
	}
}

// BenchmarkLibrary reads the same rows with the library, into maps.
func BenchmarkLibrary(b *testing.B) {
	data, _ := write(b, benchFields(), fileformat.WriteOptions{Compression: "null"}, benchRecord(b))
	for b.Loop() {
		r, err := ocf.NewReader(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		for range benchRows {
			var row struct {
				K   int64    `avro:"k"`
				Seq *int64   `avro:"seq"`
				Cat *string  `avro:"cat"`
				Amt *[]byte  `avro:"amt"`
				N   *int32   `avro:"n"`
				D   *float64 `avro:"d"`
				H   *string  `avro:"h"`
				TS  *int64   `avro:"ts"`
				Day *int32   `avro:"day"`
				OK  *bool    `avro:"ok"`
			}
			if err := r.Decode(&row); err != nil {
				b.Fatal(err)
			}
		}
	}
	report(b)
}
