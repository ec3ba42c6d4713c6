package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// compactorEnv makes the test binary a process that compacts db.state and is
// killed on the way: directory, point.
const compactorEnv = "TARN_TEST_COMPACTOR"

// killPoints are where a compaction is killed.
var killPoints = []string{"while it writes", "before the first commit", "in a commit", "between commits"}

// compactAndDie never returns when it gets to the point.
func compactAndDie(ctx context.Context, dir, point string) error {
	die := func() {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // the signal is on its way
	}
	var commits atomic.Int64
	at := func(name string) {
		if name == point {
			die()
		}
	}
	cat, err := tarn.Open(ctx, dir, tarn.Config{Memory: 64 << 20, Durability: fileio.OS, Workers: 1, Components: tarn.Components{Listener: &event.Listener{
		CompactEnd: func(event.CompactEnd) { at(killPoints[1]) },
		CommitBegin: func(event.CommitBegin) {
			if commits.Add(1) == 2 {
				at(killPoints[2])
			}
		},
		CommitEnd: func(event.CommitEnd) { at(killPoints[3]) },
	}}})
	if err != nil {
		return err
	}
	defer cat.Close()
	t, err := cat.LoadTable(ctx, keyTable)
	if err != nil {
		return err
	}
	_, err = t.Compact(ctx, table.CompactOptions{CommitBytes: 1, Progress: func(p table.CompactProgress) {
		if p.BytesDone > 0 {
			at(killPoints[0])
		}
	}})
	return errors.Join(err, errors.New("not killed"))
}

// A compaction that is killed changes no row and takes no file from a snapshot;
// the next one goes on.
func TestKilledWhileCompacting(t *testing.T) {
	for _, point := range killPoints {
		t.Run(point, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			cat, err := openOS(ctx, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			if err := cat.CreateDatabase(ctx, "db", false); err != nil {
				t.Fatal(err)
			}
			if err := cat.CreateTable(ctx, keyTable, schema.Spec{
				Fields: []types.Field{
					{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
					{Name: "writer", Type: types.MustParse("BIGINT NOT NULL")},
				},
				PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "3", "write-only": "true"},
			}, false); err != nil {
				t.Fatal(err)
			}
			tbl, err := cat.LoadTable(ctx, keyTable)
			if err != nil {
				t.Fatal(err)
			}
			const commits = 3
			for commit := range int64(commits) {
				writePairs(t, tbl, commit)
			}
			want := readPairs(t, tbl, 0)

			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), compactorEnv+"="+dir, compactorEnv+"_POINT="+point)
			if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
				t.Fatalf("it was not killed: %v, %s", err, out)
			}
			check := func() {
				t.Helper()
				if got := readPairs(t, tbl, 0); !slices.Equal(got, want) {
					t.Fatalf("rows %v, want %v", got, want)
				}
				snapshots := int64(0)
				for s, err := range tbl.Snapshots(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					snapshots++
					then := slices.Clone(want) // compactions change nothing, commits before the last all values
					for i := range then {
						then[i][1] = min(s.ID, commits) - 1
					}
					if got := readPairs(t, tbl, s.ID); !slices.Equal(got, then) {
						t.Fatalf("rows of snapshot %d: %v, want %v", s.ID, got, then)
					}
				}
				if snapshots < commits {
					t.Fatalf("%d snapshots", snapshots)
				}
			}
			check()
			report, err := tbl.Compact(ctx, table.CompactOptions{})
			if err != nil {
				t.Fatal(err)
			}
			done := map[string]int{killPoints[2]: 1, killPoints[3]: 1}[point]
			if report.Compacted != 3-done {
				t.Errorf("compacted %d buckets, %d were done before", report.Compacted, done)
			}
			check()
		})
	}
}

// writePairs commits a row for each of 30 ids.
func writePairs(t *testing.T, tbl table.Table, value int64) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, tbl.ArrowSchema())
	defer b.Release()
	for id := range int64(30) {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.Int64Builder).Append(value)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	w, err := tbl.NewBatchWrite(t.Context(), table.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(fmt.Errorf("writing: %w", err))
	}
}
