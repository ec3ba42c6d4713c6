package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

// largestRead remembers the longest range that was asked for.
type largestRead struct {
	fileio.FileIO
	bytes atomic.Int64
}

type readFile struct {
	fileio.File
	of *largestRead
}

func (l *largestRead) Open(ctx context.Context, p string) (fileio.File, error) {
	f, err := l.FileIO.Open(ctx, p)
	return &readFile{f, l}, err
}

func (f *readFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	for n := int64(len(p)); ; {
		if old := f.of.bytes.Load(); n <= old || f.of.bytes.CompareAndSwap(old, n) {
			return f.File.ReadAt(ctx, p, off)
		}
	}
}

// Who may hold little of a file reads it in small pieces, and reads the same.
func TestHoldBoundsWhatIsRead(t *testing.T) {
	const n = 100_000
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	fields := []types.Field{field(0, "a", "BIGINT NOT NULL"), field(1, "b", "BIGINT NOT NULL")}
	rnd := rand.New(rand.NewPCG(5, 6))
	rows, sum := make([][]types.Value, n), int64(0)
	for i := range rows {
		a, b := rnd.Int64(), rnd.Int64()
		rows[i], sum = []types.Value{a, b}, sum+(a^b)
	}
	rec := record(t, memory.NewGoAllocator(), fields, rows)
	fs, _ := write(t, fields, fileformat.WriteOptions{Compression: "none", Options: map[string]string{"parquet.page.row.count.limit": "500"}}, rec)
	const hold = 512 << 10
	for _, c := range []struct{ hold, least, most int64 }{{0, hold, 1 << 30}, {hold, tailSize, hold / 4}} {
		counted := &largestRead{FileIO: fs}
		f := open(t, counted, alloc)
		counted.bytes.Store(0)
		r, err := f.Read(t.Context(), fileformat.ReadRequest{Columns: fields, Hold: c.hold})
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		err = eachBatch(r, func(b arrow.RecordBatch) error {
			x, y := b.Column(0).(*array.Int64).Int64Values(), b.Column(1).(*array.Int64).Int64Values()
			for i := range x {
				got += x[i] ^ y[i]
			}
			return nil
		})
		if err != nil || got != sum {
			t.Errorf("hold=%d: sum %d, want %d; %v", c.hold, got, sum, err)
		}
		if b := counted.bytes.Load(); b < c.least || b > c.most {
			t.Errorf("hold=%d: the longest read has %d bytes, want %d to %d", c.hold, b, c.least, c.most)
		}
	}
}

// Many columns hold together about what one may hold.
func TestHoldBoundsManyColumns(t *testing.T) {
	const columns, n, hold = 100, 40_000, 4 << 20
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	fields, cols := make([]types.Field, columns), make([]arrow.Array, columns)
	rnd := rand.New(rand.NewPCG(5, 6))
	values := make([]int64, n)
	for i := range values {
		values[i] = rnd.Int64()
	}
	b := array.NewInt64Builder(memory.NewGoAllocator())
	for k := range fields {
		fields[k] = field(k, fmt.Sprint("c", k), "BIGINT NOT NULL")
		b.AppendValues(values[k:], nil)
		b.AppendValues(values[:k], nil)
		cols[k] = b.NewArray()
	}
	rec := recordOf(fields, cols...)
	fs, _ := write(t, fields, fileformat.WriteOptions{Options: map[string]string{"parquet.page.row.count.limit": "500"}}, rec)
	f := open(t, fs, alloc)
	r, err := f.reader(fileformat.ReadRequest{Columns: fields, Hold: hold, BatchRows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for at := 0; at < n; {
		b, err := r.Decode(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for k := range columns {
			for i, v := range b.Column(k).(*array.Int64).Int64Values() {
				if want := values[(at+i+k)%n]; v != want {
					t.Fatalf("row %d of column %d is %d, want %d", at+i, k, v, want)
				}
			}
		}
		at += int(b.NumRows())
		b.Release()
		held := 0
		for l := range r.columns.leaves {
			if l.stream == nil {
				continue
			}
			held += cap(l.stream.cur.buffer)
			if next := l.stream.next; next != nil {
				ahead := <-next
				held += cap(ahead.buffer)
				next <- ahead
			}
		}
		if held == 0 || held > 5*hold {
			t.Fatalf("after %d rows %d bytes are held", at, held)
		}
	}
}
