package local

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/tarnlake/tarn/fileio"
)

// A large file that must be durable is sent to the disk while it is written, a
// small one and one that need not be durable are not.
func TestLargeFilesAreSentEarly(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		durability fileio.Durability
		size, sent int64
	}{
		{fileio.Fsync, 3*early + 1000, 3 * early}, {fileio.Fsync, early - 1, 0}, {fileio.OS, 3 * early, 0},
	} {
		fs := New(Options{Durability: c.durability})
		p := filepath.ToSlash(filepath.Join(t.TempDir(), "f"))
		out, err := fs.Create(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("0123456789abcdef"), int(c.size)/16+1)[:c.size]
		for at := 0; at < len(want); at += early / 4 {
			if _, err := out.Write(want[at:min(len(want), at+early/4)]); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.(*writer).sent; got != c.sent {
			t.Errorf("%v, %d bytes: %d were sent early, want %d", c.durability, c.size, got, c.sent)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := fileio.ReadFile(ctx, fs, p); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d: %v", len(want), len(got), err)
		}
	}
}
