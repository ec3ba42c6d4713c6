package parquet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/formattest"
	"github.com/tarnlake/tarn/tarnerr"
)

// readEverything reads all columns of a file given by its bytes, whatever they are.
func readEverything(data []byte, alloc memory.Allocator, req fileformat.ReadRequest) error {
	f, err := openBytes(data, alloc)
	if err != nil {
		return err
	}
	defer f.Close()
	if req.Columns == nil {
		req.Columns = f.Fields()
	}
	return formattest.ReadAll(f, req)
}

func TestCutFiles(t *testing.T) {
	for _, name := range []string{"java-nested.parquet", "pyarrow-scalars-delta.parquet"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + n/200 {
			err := readEverything(data[:n], nil, fileformat.ReadRequest{})
			if err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt || !strings.Contains(err.Error(), testPath) {
				t.Fatalf("%s cut to %d bytes: %v", name, n, err)
			}
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	places, flips := 150, []byte{0x01, 0x80, 0xff}
	if testing.Short() {
		places, flips = 40, flips[1:2]
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		alloc := checked(t)
		for i := 0; i < len(data); i += 1 + len(data)/places {
			for _, x := range flips {
				data[i] ^= x
				if err := readEverything(data, alloc, fileformat.ReadRequest{BatchRows: 17}); err != nil && !badInput(err) {
					t.Fatalf("%s, byte %d ^ %#x: %v", name, i, x, err)
				}
				data[i] ^= x
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		alloc := formattest.Bounded(t)
		if err := readEverything(data, alloc, fileformat.ReadRequest{BatchRows: 100, Workers: 2}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}

// FuzzFooter leaves the pages alone: the footer is what a fuzzer breaks.
func FuzzFooter(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		n := len(data) - 8
		length := int(data[n]) | int(data[n+1])<<8
		f.Add(data[:n-length], data[n-length:n])
	}
	f.Fuzz(func(t *testing.T, pages, footer []byte) {
		if len(footer) > 1<<16 || len(pages) > 1<<18 {
			return
		}
		data := append(append([]byte(nil), pages...), footer...)
		n := len(footer)
		data = append(data, byte(n), byte(n>>8), byte(n>>16), 0, 'P', 'A', 'R', '1')
		if err := readEverything(data, nil, fileformat.ReadRequest{BatchRows: 100}); err != nil && !badInput(err) {
			t.Fatal(err)
		}
	})
}

func FuzzDecoders(f *testing.F) {
	f.Add([]byte{3, 7, 8, 9}, byte(5), uint16(20))
	f.Add([]byte{0x80, 1, 4, 10, 2, 2, 0, 0, 0, 1, 2, 3}, byte(0), uint16(300))
	f.Fuzz(func(t *testing.T, data []byte, pick byte, n uint16) {
		count := int(n) % 3000
		switch pick % 6 {
		case 0:
			deltaBinary[int64](nil, data, count)
		case 1:
			h := newHybrid(data, int(pick/6)%33)
			h.uints(make([]uint32, count))
		case 2:
			h := newHybrid(data, 1)
			if ones, ok := h.bits(make([]byte, count/8+2), 5, count); ok && ones > count {
				t.Fatal("more ones than bits")
			}
		case 3:
			decodePageHeader(data)
			decodeColumnIndex(data)
			decodeOffsetIndex(data)
		case 4:
			d := &byteArrays{}
			for _, enc := range []encoding{encPlain, encDeltaLength, encDeltaByteArray, encRLEDict} {
				if d.dictionary(data, count%9) != nil {
					continue
				}
				if d.page(enc, data, count) == nil {
					out := batch.Column{Mem: memory.NewGoAllocator(), Width: batch.WidthText}
					_ = d.read(&out, count)
					out.Release()
				}
			}
		case 5:
			_, _ = decompress(int32(pick/6)%9, nil, data, count*100)
		}
	})
}

func TestEnds(t *testing.T) { formattest.Ends(t, New(), formattest.Bytes(t, "java-scalar.parquet")) }
