package compact

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat/formats"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// BenchmarkFullCompaction merges a full level of rows with five runs of level 0 of
// a tenth of them each, ten columns, into one level. ns/row are per row that goes in.
func BenchmarkFullCompaction(b *testing.B) {
	const full, part, runs = 500_000, 50_000, 5
	spec := schema.Spec{PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}}
	for _, c := range []string{
		"id BIGINT NOT NULL", "seq BIGINT", "city STRING", "price DECIMAL(12,2)", "n INT", "x DOUBLE", "text STRING", "ts TIMESTAMP(3)", "day DATE", "ok BOOLEAN",
	} {
		name, typ, _ := strings.Cut(c, " ")
		spec.Fields = append(spec.Fields, types.Field{Name: name, Type: types.MustParse(typ)})
	}
	s, err := schema.NewSchema(spec, 0)
	if err != nil {
		b.Fatal(err)
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		b.Fatal(err)
	}
	fs, e := mem.New(mem.Posix), env.Seeded(1, time.Unix(1700000000, 0))
	place, names := layout.Table{Dir: "/t"}, layout.NewNamer(e)
	rnd := rand.New(rand.NewPCG(1, 1))
	write := func(level int, ids []int64, seq int64) []*datafile.Meta {
		fspec, err := run.SpecOf(s, &o, level, datafile.Append)
		if err != nil {
			b.Fatal(err)
		}
		if fspec.Format, err = formats.ByName("parquet"); err != nil {
			b.Fatal(err)
		}
		fspec.FileIO, fspec.Env, fspec.Mem, fspec.Names, fspec.Ending = fs, e, memory.DefaultAllocator, names, "parquet"
		cols := fspec.Fields()
		sc, err := types.ArrowSchema(cols)
		if err != nil {
			b.Fatal(err)
		}
		w := run.NewRollingWriter(&fspec, place.BucketDir("", 0), 0)
		for from := 0; from < len(ids); from += 8192 {
			rb := array.NewRecordBuilder(memory.DefaultAllocator, sc)
			for _, id := range ids[from:min(from+8192, len(ids))] {
				row := []types.Value{id, seq, int64(0), id, seq, fmt.Sprint("city", rnd.IntN(100)), nil, int64(rnd.IntN(1000)), rnd.Float64(),
					fmt.Sprintf("%020d", rnd.Uint64()), nil, nil, rnd.IntN(2) == 0}
				for i, v := range row {
					switch cols[i].Name {
					case "price":
						rb.Field(i).(*array.Decimal128Builder).Append(decimal128.FromI64(rnd.Int64N(1e9)))
						continue
					case "day":
						rb.Field(i).(*array.Date32Builder).Append(arrow.Date32(rnd.IntN(20000)))
						continue
					case "ts":
						rb.Field(i).(*array.TimestampBuilder).Append(1700000000000)
						continue
					}
					if err := types.AppendValue(rb.Field(i), cols[i].Type, v); err != nil {
						b.Fatal(err)
					}
				}
				seq++
			}
			rec := rb.NewRecordBatch()
			rb.Release()
			if err := w.Write(context.Background(), rec); err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
		out, err := w.Close(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
	all := make([]int64, full)
	for i := range all {
		all[i] = int64(i)
	}
	files := write(5, all, 0)
	for r := range runs {
		ids := make([]int64, 0, part)
		for i := range int64(part) {
			ids = append(ids, i*(full/part)+rnd.Int64N(full/part))
		}
		files = append(files, write(0, ids, int64(full+r*part))...)
	}
	slices.Reverse(files)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			r, err := New(Config{
				Table: "t", FileIO: fs, Place: place, Schema: s, Options: o, Format: formats.ByName, Env: e, Workers: workers,
				SchemaByID: func(context.Context, int64) (*schema.Schema, error) { return s, nil },
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				out, err := r.Rewrite(context.Background(), Task{Unit: lsm.Unit{OutputLevel: 5, Files: files}, Highest: 5, DropDeletes: true})
				if err != nil {
					b.Fatal(err)
				}
				var rows int64
				for _, f := range out.After {
					rows += f.RowCount
				}
				if rows != full {
					b.Fatalf("%d rows", rows)
				}
				if err := r.Remove(context.Background(), Bucket{}, out.After); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(full+part*runs), "ns/row")
		})
	}
}
