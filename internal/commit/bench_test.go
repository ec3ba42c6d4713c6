package commit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/schema"
)

// BenchmarkCommit writes ten rows and commits them, over and over, into a table
// of a local directory, with and without waiting for the disk.
func BenchmarkCommit(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		for name, durability := range map[string]fileio.Durability{"fsync": fileio.Fsync, "os": fileio.OS} {
			b.Run(fmt.Sprintf("keyed=%v/%s", keyed, name), func(b *testing.B) {
				ctx := context.Background()
				fs := local.New(local.Options{Durability: durability})
				at := layout.Table{Dir: b.TempDir() + "/t"}
				if _, err := schema.NewStore(fs, at.Dir, env.Real()).Create(ctx, spec(keyed, nil)); err != nil {
					b.Fatal(err)
				}
				tb := open(b, fs, at, env.Real())
				w, c := tb.writer(), tb.committer()
				defer w.Close()
				rec := tb.rec("value", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
				defer rec.Release()
				id := int64(0)
				for b.Loop() {
					if err := w.Write(ctx, rec); err != nil {
						b.Fatal(err)
					}
					messages, err := w.Prepare(ctx)
					if err != nil {
						b.Fatal(err)
					}
					id++
					if _, err := c.Commit(ctx, commit.Request{User: "bench", Identifier: id, Messages: messages}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
