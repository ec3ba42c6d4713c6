package fileformat

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Frames that say how long they are need no more room than their content, those
// that were streamed do; one of them alone would not tell whether it is asked.
func TestZstdRoom(t *testing.T) {
	for _, n := range []int{300, 70_000, 200_000} {
		content := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := ZstdRoom(enc.EncodeAll(content, nil), n); got != n+64 {
			t.Errorf("a frame of %d bytes that says so: room of %d", n, got)
		}
		var streamed bytes.Buffer
		enc.Reset(&streamed)
		for _, part := range [][]byte{content[:n/2], content[n/2:]} {
			if _, err := enc.Write(part); err != nil {
				t.Fatal(err)
			}
			if err := enc.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		if got := ZstdRoom(streamed.Bytes(), n); got != n+ZstdSlack {
			t.Errorf("a frame of %d bytes that does not say so: room of %d", n, got)
		}
	}
	if got := ZstdRoom(nil, 5); got != 5+ZstdSlack {
		t.Errorf("no frame at all: room of %d", got)
	}
}
