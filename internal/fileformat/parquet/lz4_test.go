package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/tarnlake/tarn/internal/fileformat"
)

// Pages of every size come back, what cannot be compressed and what needs several
// blocks among them, in the room that was promised.
func TestLZ4(t *testing.T) {
	s, err := newSettings(fileformat.WriteOptions{Compression: "LZ4"})
	if err != nil || s.codec != codecLZ4 {
		t.Fatalf("codec %d, %v", s.codec, err)
	}
	noise := make([]byte, 2*hadoopChunk+1)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	for _, plain := range [][]byte{noise, bytes.Repeat([]byte("abcdefgh "), 100_000)} {
		for _, n := range []int{0, 1, 20, hadoopChunk - 1, hadoopChunk, hadoopChunk + 1, 2*hadoopChunk + 1} {
			room := make([]byte, s.compressor.CompressBound(int64(n)))
			packed := s.compressor.EncodeLevel(room, plain[:n], s.level)
			if n > 0 && &packed[0] != &room[0] {
				t.Errorf("%d bytes need more room than promised: %d, not %d", n, len(packed), len(room))
			}
			var blocks []uint32
			for rest := packed; len(rest) > 0; rest = rest[8+binary.BigEndian.Uint32(rest[4:]):] {
				blocks = append(blocks, binary.BigEndian.Uint32(rest))
			}
			if want := (n + hadoopChunk - 1) / hadoopChunk; len(blocks) != want {
				t.Errorf("%d bytes in blocks %v, want %d", n, blocks, want)
			}
			got, err := decompress(codecLZ4, nil, packed, n)
			if err != nil || !bytes.Equal(got, plain[:n]) {
				t.Errorf("%d bytes: %d, %v", n, len(got), err)
			}
		}
	}
}

// Java puts several blocks behind one length when it is given more than one takes.
func TestLZ4ReadsBlocksOfOneLength(t *testing.T) {
	plain := bytes.Repeat([]byte("some text that compresses, "), 400)
	packed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)))
	for _, part := range [][]byte{plain[:6000], plain[6000:]} {
		block := make([]byte, lz4.CompressBlockBound(len(part)))
		n, err := lz4.CompressBlock(part, block, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(binary.BigEndian.AppendUint32(packed, uint32(n)), block[:n]...)
	}
	got, err := decompress(codecLZ4, nil, packed, len(plain))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for cut := range packed {
		if got, err := decompress(codecLZ4, nil, packed[:cut], len(plain)); err == nil {
			t.Fatalf("cut at %d of %d: %d bytes", cut, len(packed), len(got))
		}
	}
}
