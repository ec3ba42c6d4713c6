package orc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// repeated is rows times v, at least three times, in runs of version 1.
func repeated(v uint64, rows int) (out []byte) {
	for rows > 0 {
		n := min(rows, 130)
		if rows-n == 1 || rows-n == 2 {
			n -= 3
		}
		out = binary.AppendUvarint(append(out, byte(n-3), 0), v)
		rows -= n
	}
	return out
}

// once is one value in a run of version 1.
func once(v uint64) []byte { return binary.AppendUvarint([]byte{0xff}, v) }

// textsReader reads a column of texts from a stripe of these streams.
func textsReader(t *testing.T, kind int32, rows int64, streams map[streamKind][]byte) *fileReader {
	t.Helper()
	f := testFile(t, "scalars-none.orc", checked(t))
	var text types.Field
	for _, c := range pyFields("scalars") {
		if c.Type.Root == types.VarChar {
			text = c
		}
	}
	r, err := f.reader(fileformat.ReadRequest{Columns: []types.Field{text}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	column := r.columns[0].file.column
	s := &stripe{file: f, rows: rows, encodings: make([]encoding, len(f.nodes)), spans: map[streamKey]span{}}
	s.encodings[column] = encoding{kind: kind, dictionary: 1}
	var all []byte
	for kind, b := range streams {
		s.spans[streamKey{column, kind}] = span{int64(len(all)), int64(len(b))}
		all = append(all, b...)
	}
	s.loaded = []segment{{0, all}}
	r.open, r.stripe, r.rows = s, len(f.meta.stripes), r.batchRows
	if err := r.startColumns(nil, rows); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLongTextsRepeat: a text that a dictionary repeats until it is more than a
// batch may hold, or than Arrow's offsets have, comes in batches of fewer rows.
func TestLongTextsRepeat(t *testing.T) {
	const rows = 5_000
	for name, c := range map[string]struct {
		length  int
		most    int64
		batches int // that are read
	}{
		"more than a batch may hold": {1 << 10, 256 << 10, math.MaxInt},
		"more than offsets have":     {3 << 20, 0, 1},
	} {
		text := bytes.Repeat([]byte("x"), c.length)
		r := textsReader(t, encDictionary, rows, map[streamKind][]byte{
			streamDictionary: text, streamLength: once(uint64(c.length)), streamData: repeated(0, rows),
		})
		r.allowance.Most = c.most
		seen, batches := 0, 0
		for batches < c.batches {
			rec, err := r.Decode(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%s: after %d rows: %v", name, seen, err)
				break
			}
			for i, a := 0, rec.Column(0).(*array.String); i < a.Len(); i++ {
				if a.Value(i) != string(text) {
					t.Fatalf("%s: row %d is wrong", name, seen+i)
				}
			}
			seen, batches = seen+int(rec.NumRows()), batches+1
			rec.Release()
		}
		if c.batches == 1 && seen < 10 || c.batches > 1 && (seen != rows || batches > rows/10) {
			t.Errorf("%s: %d rows in %d batches", name, seen, batches)
		}
	}
}

// TestTooLongTexts: a row whose text is too long for Arrow is Unsupported; one
// that ends too early or has a length below zero is Corrupt.
func TestTooLongTexts(t *testing.T) {
	for name, c := range map[string]struct {
		length uint64
		kind   error
	}{
		"as long as there may be, and not there": {math.MaxInt32, tarnerr.Corrupt},
		"too long":                               {math.MaxInt32 + 1, tarnerr.Unsupported},
		"much too long":                          {math.MaxInt64, tarnerr.Unsupported},
		"below zero":                             {math.MaxUint64, tarnerr.Corrupt},
	} {
		r := textsReader(t, encDirect, 500, map[streamKind][]byte{streamData: []byte("abc"), streamLength: repeated(c.length, 500)})
		if _, err := r.Decode(context.Background()); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
