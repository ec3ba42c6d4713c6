package parquet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/golang/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

func TestCodecs(t *testing.T) {
	plain := bytes.Repeat([]byte("some text that compresses, "), 400)
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	block = block[:n]
	frame := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			b := make([]byte, lz4.CompressBlockBound(len(p)))
			n, err := lz4.CompressBlock(p, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
			out = binary.BigEndian.AppendUint32(out, uint32(n))
			out = append(out, b[:n]...)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		codec int32
		data  []byte
	}{
		{"LZ4_RAW", codecLZ4Raw, block},
		{"LZ4 as a raw block", codecLZ4, block},
		{"LZ4 in Hadoop's frame", codecLZ4, frame(plain)},
		{"LZ4 in two frames", codecLZ4, frame(plain[:5000], plain[5000:])},
		{"snappy", codecSnappy, snappy.Encode(nil, plain)},
		{"none", codecNone, plain},
	} {
		got, err := decompress(c.codec, nil, c.data, len(plain))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, size := range []int{0, len(plain) - 1, len(plain) + 1, 1 << 30} {
			if _, err := decompress(c.codec, nil, c.data, size); err == nil {
				t.Errorf("%s: a page of another size (%d) was taken", c.name, size)
			}
		}
	}
	if _, err := decompress(codecLZO, nil, plain, len(plain)); tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Errorf("LZO: %v", err)
	}
}

// TestRequests holds the number of reads: a small file takes one in all, a
// large one the footer and a few for what is wanted.
func TestRequests(t *testing.T) {
	small := testFile(t, "java-scalar.parquet", nil)
	rowsOf(t, small, fileformat.ReadRequest{Columns: small.Fields()})
	if n := small.Requests(); n != 1 {
		t.Errorf("small file: %d requests, want 1", n)
	}
	fields := []types.Field{field(0, "k", "BIGINT NOT NULL"), field(1, "a", "STRING"), field(2, "b", "STRING"), field(3, "c", "BIGINT")}
	var rows [][]types.Value
	for i := range 30_000 {
		rows = append(rows, []types.Value{int64(i), string(rune('a'+i%26)) + "0123456789abcdef"[i%16:], randomText(i), int64(i) * 7919})
	}
	rec := record(t, tempAllocator, fields, rows)
	fs, s := write(t, fields, fileformat.WriteOptions{Compression: "none", Options: map[string]string{"parquet.page.row.count.limit": "1000"}}, rec)
	if s.FileSize < 1<<20 {
		t.Fatalf("file of %d bytes is too small for the test", s.FileSize)
	}
	point, err := expr.Bind(expr.Compare{Column: "k", Op: expr.Eq, Value: 500}, fields)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		columns []types.Field
		where   *expr.Bound
		want    int64
	}{
		{"all columns", fields, nil, 2},
		{"first column", fields[:1], nil, 2},
		{"first and last column", []types.Field{fields[0], fields[3]}, nil, 3},
		{"one row of all columns", fields, point, 4}, // footer, k, a and b together, c
	} {
		f := open(t, fs, nil)
		rowsOf(t, f, fileformat.ReadRequest{Columns: c.columns, Where: c.where})
		if n := f.Requests(); n != c.want {
			t.Errorf("%s: %d requests, want %d", c.name, n, c.want)
		}
	}
}

func randomText(i int) string {
	b := make([]byte, 40)
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	for k := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[k] = 'a' + byte(x%26)
	}
	return string(b)
}
