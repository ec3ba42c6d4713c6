package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// However many workers encode a file and however long batches wait, its bytes
// are the same.
func TestFilesDoNotDependOnHowTheyAreEncoded(t *testing.T) {
	for _, names := range [][]string{scalarTypes, nestedTypes} {
		fields := everything(names)
		var want []byte
		for i, opts := range []fileformat.WriteOptions{
			{}, {Workers: 3}, {Hold: 1 << 30}, {Workers: 3, Hold: 1 << 30}, {Workers: 2, Hold: 100_000},
		} {
			alloc := checked(t)
			opts.Mem = alloc
			opts.Options = map[string]string{"parquet.page.row.count.limit": "128", "parquet.dictionary.page.size": "1000"}
			var recs []arrow.RecordBatch
			for k := range 3 {
				recs = append(recs, record(t, alloc, fields, randomRows(uint64(k), fields, 256)))
			}
			fs, _ := write(t, fields, opts, recs...)
			got := content(t, fs)
			if i == 0 {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%+v: %d bytes, not those of the plain way, of which there are %d", opts, len(got), len(want))
			}
			for _, r := range recs {
				r.Release()
			}
		}
	}
}

// steps notes how many columns were written before the last one was encoded.
type steps struct {
	brokenDisk
	writes int
}

func (s *steps) Write(p []byte) (int, error) {
	s.writes++
	return s.brokenDisk.Write(p)
}

// TestColumnsAreWrittenWhileOthersAreEncoded: the last column is refused when it
// is encoded, and by then the first has left for the storage.
func TestColumnsAreWrittenWhileOthersAreEncoded(t *testing.T) {
	ctx := context.Background()
	loose := []types.Field{field(0, "text", "STRING"), field(1, "n", "INT")}
	strict := []types.Field{loose[0], field(1, "n", "INT NOT NULL")}
	rows := make([][]types.Value, 2000)
	for i := range rows {
		rows[i] = []types.Value{fmt.Sprintf("%d %s", i, strings.Repeat("x", 100)), int64(i)}
	}
	rows[1999][1] = nil
	alloc := checked(t)
	rec := record(t, alloc, loose, rows)
	defer rec.Release()
	for hold, early := range map[int64]bool{0: false, 1 << 20: true} {
		d := &steps{brokenDisk: brokenDisk{left: 1 << 30}}
		w, err := New().NewWriter(d, strict, fileformat.WriteOptions{Mem: alloc, Compression: "none", Hold: hold})
		if err != nil {
			t.Fatal(err)
		}
		if err = w.Write(ctx, rec); err == nil {
			_, err = w.Close(ctx)
		}
		w.Abort()
		if !errors.Is(err, tarnerr.Invalid) || !d.aborted {
			t.Errorf("hold %d: %v, aborted %v", hold, err, d.aborted)
		}
		if (d.writes > 0) != early {
			t.Errorf("hold %d: %d writes before the last column", hold, d.writes)
		}
	}
}

// TestWaitingBatchesCount: what waits counts for the size of the file.
func TestWaitingBatchesCount(t *testing.T) {
	fields := benchFields()[:3]
	rows := make([][]types.Value, 5000)
	for i := range rows {
		rows[i] = []types.Value{int64(i), int64(i) * 7919 % 5000, fmt.Sprint("text ", i%7)}
	}
	alloc := checked(t)
	rec := record(t, alloc, fields, rows)
	defer rec.Release()
	w, err := New().NewWriter(&brokenDisk{left: 1 << 30}, fields, fileformat.WriteOptions{Mem: alloc, Hold: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	last := w.Size()
	for range 3 {
		if err := w.Write(context.Background(), rec); err != nil {
			t.Fatal(err)
		}
		if n := w.Size(); n <= last {
			t.Errorf("size %d after %d", n, last)
		} else {
			last = n
		}
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
}

// Texts that are all empty have bounds, even where their array has no bytes at all.
func TestBoundsOfEmptyTexts(t *testing.T) {
	fields := []types.Field{field(0, "s", "STRING")}
	offsets := memory.NewBufferBytes(make([]byte, 4*4))
	data := array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{nil, offsets, nil}, nil, 0, 0)
	fs, s := write(t, fields, fileformat.WriteOptions{}, recordOf(fields, array.NewStringData(data)))
	if c := s.Columns[0]; c.Min != "" || c.Max != "" || c.NullCount != 0 {
		t.Errorf("%+v", c)
	}
	if st := open(t, fs, nil).meta.groups[0].columns[0].stats; st.min == nil || st.max == nil {
		t.Error("no bounds in the footer")
	}
}

// A page costs a fixed number of allocations, whatever it holds.
func TestAllocationsPerPage(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget, so that allocations vary")
	}
	fields := benchFields()
	perPage := func(n int) float64 {
		rows := make([][]types.Value, n)
		for i := range rows {
			rows[i] = []types.Value{
				int64(i), int64(i) << 20, fmt.Sprintf("category-%02d", i%100), decimalValue(int64(i)), int64(i % 1000), float64(i) / 7,
				fmt.Sprintf("text number %d", i), types.Instant{Millis: int64(i)}, int32(i % 365), i%2 == 0,
			}
			if i%10 == 0 {
				rows[i][5] = nil
			}
		}
		rec := record(t, memory.NewGoAllocator(), fields, rows)
		w, err := New().NewWriter(&brokenDisk{left: 1 << 40}, fields, fileformat.WriteOptions{Compression: "none"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		return testing.AllocsPerRun(5, func() {
			if err := w.Write(context.Background(), rec); err != nil {
				t.Fatal(err)
			}
		})
	}
	// Its content, its bounds twice, and what the pool of buffers needs.
	const most = 8
	if per := (perPage(40_000) - perPage(20_000)) / float64(len(fields)); per > most {
		t.Errorf("%v allocations per page, at most %d", per, most)
	}
}
