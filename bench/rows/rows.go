package rows

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

const (
	seed     = 42
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	firstMS  = 1704067200000 // 2024-01-01
	yearMS   = 31_536_000_000
	firstDay = 19723
	// chunk is how many rows a batch holds at most.
	chunk = 64 << 10
)

// hash is column k of row i as 64 random bits.
func hash(i, k uint64) uint64 {
	z := i*16 + seed*1000003 + k + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// Pick is column k of row i as a number below n.
func Pick(i, k, n uint64) uint64 { return (hash(i, k) >> 1) % n }

// Key is the key that look-up number i asks for in a table of n rows.
func Key(i, n int) int64 { return int64(Pick(uint64(77_000_000+i), 0, uint64(n))) }

var columns = []struct{ name, typ string }{
	{"id", "BIGINT NOT NULL"}, {"seq", "BIGINT"}, {"status", "STRING"}, {"amount", "DECIMAL(12, 2)"}, {"qty", "INT"},
	{"price", "DOUBLE"}, {"note", "STRING"}, {"ts", "TIMESTAMP(3)"}, {"d", "DATE"}, {"flag", "BOOLEAN"}, {"p", "INT NOT NULL"},
}

// Fields are the columns of the tables, with the partition column p if asked for.
func Fields(partitioned bool) []types.Field {
	n := len(columns)
	if !partitioned {
		n--
	}
	out := make([]types.Field, n)
	for i, c := range columns[:n] {
		out[i] = types.Field{Name: c.name, Type: types.MustParse(c.typ)}
	}
	return out
}

// Spec says which rows to make: rows From to From+N−1.
type Spec struct {
	From uint64
	N    int
	// Keys: ids are random below it; 0: the id of row i is i − Offset.
	Keys, Offset uint64
	// Partition gives the value of column p; nil leaves the column out.
	Partition func(id int64) int32
}

// Make makes the rows as batches. The caller releases them.
func Make(mem memory.Allocator, s Spec) ([]arrow.RecordBatch, error) {
	schema, err := types.ArrowSchema(Fields(s.Partition != nil))
	if err != nil {
		return nil, err
	}
	var out []arrow.RecordBatch
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for s.N > 0 {
		part := s
		part.N = min(s.N, chunk)
		fill(b, part)
		out = append(out, b.NewRecordBatch())
		s.From += uint64(part.N)
		s.N -= part.N
	}
	return out, nil
}

var statuses = func() (out [100]string) {
	for i := range out {
		out[i] = fmt.Sprintf("status-%02d", i)
	}
	return out
}()

func fill(b *array.RecordBuilder, s Spec) {
	b.Reserve(s.N)
	id, seq := b.Field(0).(*array.Int64Builder), b.Field(1).(*array.Int64Builder)
	status, amount := b.Field(2).(*array.StringBuilder), b.Field(3).(*array.Decimal128Builder)
	qty, price := b.Field(4).(*array.Int32Builder), b.Field(5).(*array.Float64Builder)
	note, ts := b.Field(6).(*array.StringBuilder), b.Field(7).(*array.TimestampBuilder)
	d, flag := b.Field(8).(*array.Date32Builder), b.Field(9).(*array.BooleanBuilder)
	status.ReserveData(9 * s.N)
	note.ReserveData(20 * s.N)
	var text [20]byte
	for i := s.From; i < s.From+uint64(s.N); i++ {
		key := int64(i - s.Offset)
		if s.Keys > 0 {
			key = int64(Pick(i, 0, s.Keys))
		}
		id.UnsafeAppend(key)
		seq.UnsafeAppend(int64(i))
		status.Append(statuses[Pick(i, 1, 100)])
		amount.UnsafeAppend(decimal128.FromU64(Pick(i, 2, 10_000_000)))
		qty.UnsafeAppend(int32(Pick(i, 3, 1000)))
		if h := hash(i, 4); (h>>1)%10 == 0 {
			price.UnsafeAppendBoolToBitmap(false)
		} else {
			price.UnsafeAppend(float64(h>>11) * 0x1p-53 * 1000)
		}
		for half := range uint64(2) {
			h := hash(i, 5+half)
			for c := range 10 {
				text[int(half)*10+c] = alphabet[h&63]
				h >>= 6
			}
		}
		note.BinaryBuilder.Append(text[:])
		ts.UnsafeAppend(arrow.Timestamp(firstMS + Pick(i, 7, yearMS)))
		d.UnsafeAppend(arrow.Date32(firstDay + Pick(i, 8, 365)))
		flag.UnsafeAppend(hash(i, 9)&1 == 1)
		if s.Partition != nil {
			b.Field(10).(*array.Int32Builder).UnsafeAppend(s.Partition(key))
		}
	}
}
