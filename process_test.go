package tarn_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/types"
)

// writerEnv makes the test binary a writer process: directory, number, commits.
const writerEnv = "TARN_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(compactorEnv); dir != "" {
		fmt.Fprintln(os.Stderr, compactAndDie(context.Background(), dir, os.Getenv(compactorEnv+"_POINT")))
		os.Exit(1)
	}
	if dir := os.Getenv(writerEnv); dir != "" {
		n, _ := strconv.Atoi(os.Getenv(writerEnv + "_NUMBER"))
		commits, _ := strconv.Atoi(os.Getenv(writerEnv + "_COMMITS"))
		if err := commitMany(context.Background(), dir, int64(n), int64(commits)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	appendTable = table.Identifier{Database: "db", Table: "log"}
	keyTable    = table.Identifier{Database: "db", Table: "state"}
)

func openOS(ctx context.Context, dir string) (catalog.Catalog, error) {
	return tarn.Open(ctx, dir, tarn.Config{Memory: 64 << 20, Durability: fileio.OS})
}

// commitMany commits one row at a time into both tables, in turn. In the key
// table all writers share the keys and each value says whose it is.
func commitMany(ctx context.Context, dir string, writer, commits int64) error {
	cat, err := openOS(ctx, dir)
	if err != nil {
		return err
	}
	defer cat.Close()
	var streams []table.StreamWrite
	var tables []table.Table
	for _, id := range []table.Identifier{appendTable, keyTable} {
		t, err := cat.LoadTable(ctx, id)
		if err != nil {
			return err
		}
		w, err := t.NewStreamWrite(ctx, table.WriteOptions{User: fmt.Sprintf("writer-%d", writer)})
		if err != nil {
			return err
		}
		defer w.Close()
		tables, streams = append(tables, t), append(streams, w)
	}
	for i := range commits {
		for n, w := range streams {
			b := array.NewRecordBuilder(memory.DefaultAllocator, tables[n].ArrowSchema())
			b.Field(0).(*array.Int64Builder).Append(i)
			b.Field(1).(*array.Int64Builder).Append(writer)
			rec := b.NewRecordBatch()
			b.Release()
			err := w.Write(ctx, rec)
			rec.Release()
			if err != nil {
				return err
			}
			report, err := w.Commit(ctx, i+1)
			if err != nil {
				return err
			}
			if report.Status != table.Succeeded || len(report.Snapshots) != 1 {
				return fmt.Errorf("commit %d: %+v", i+1, report)
			}
		}
	}
	return nil
}

// Two processes commit into one append table and one key table at once. Every
// commit is one snapshot, ids have no gap, no row is lost and none doubled.
func TestTwoProcesses(t *testing.T) {
	const writers = 2
	commits := 200
	if testing.Short() {
		commits = 20
	}
	ctx, dir := t.Context(), t.TempDir()
	cat, err := openOS(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	if err := cat.CreateDatabase(ctx, "db", false); err != nil {
		t.Fatal(err)
	}
	spec := schema.Spec{Fields: []types.Field{
		{Name: "id", Type: types.MustParse("BIGINT NOT NULL")},
		{Name: "writer", Type: types.MustParse("BIGINT NOT NULL")},
	}}
	if err := cat.CreateTable(ctx, appendTable, spec, false); err != nil {
		t.Fatal(err)
	}
	spec.PrimaryKeys = []string{"id"}
	spec.Options = map[string]string{
		"bucket": "2", "sequence.field": "writer", "write-only": "true",
		// The worst case for retries: nothing between the commits of two processes.
		"commit.max-retries": "1000", "commit.max-retry-wait": "50 ms",
	}
	if err := cat.CreateTable(ctx, keyTable, spec, false); err != nil {
		t.Fatal(err)
	}
	if err := cat.AlterTable(ctx, appendTable, schema.SetOption{Key: "commit.max-retries", Value: "1000"},
		schema.SetOption{Key: "commit.max-retry-wait", Value: "50 ms"}); err != nil {
		t.Fatal(err)
	}

	var running []*exec.Cmd
	for n := range writers {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+dir, writerEnv+"_NUMBER="+strconv.Itoa(n), writerEnv+"_COMMITS="+strconv.Itoa(commits))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error("a writer failed: ", err)
		}
	}
	if t.Failed() {
		return
	}

	for _, id := range []table.Identifier{appendTable, keyTable} {
		tbl, err := cat.LoadTable(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		next, users := int64(1), map[string]int64{}
		for s, err := range tbl.Snapshots(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if s.ID != next || s.TotalRecordCount != next {
				t.Fatalf("%v: snapshot %d with %d rows stands where %d is due", id, s.ID, s.TotalRecordCount, next)
			}
			next++
			users[s.CommitUser]++
			if s.CommitIdentifier != users[s.CommitUser] {
				t.Fatalf("%v: commit %d of %s landed as its number %d", id, s.CommitIdentifier, s.CommitUser, users[s.CommitUser])
			}
		}
		if int(next-1) != writers*commits {
			t.Errorf("%v: %d snapshots, want %d", id, next-1, writers*commits)
		}
		got := readPairs(t, tbl, 0)
		var want [][2]int64
		for i := range int64(commits) {
			for w := range int64(writers) {
				if id == appendTable || w == writers-1 {
					want = append(want, [2]int64{i, w})
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %d rows, want %d; or others than were written", id, len(got), len(want))
		}
	}
}

// readPairs reads two BIGINT columns of a snapshot, 0 = the latest, sorted.
func readPairs(t *testing.T, tbl table.Table, snapshot int64) [][2]int64 {
	t.Helper()
	r, err := tbl.Scan(t.Context(), table.Scan{SnapshotID: snapshot})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out [][2]int64
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		a, b := rec.Column(0).(*array.Int64), rec.Column(1).(*array.Int64)
		for i := range a.Len() {
			out = append(out, [2]int64{a.Value(i), b.Value(i)})
		}
	}
	slices.SortFunc(out, func(x, y [2]int64) int { return slices.Compare(x[:], y[:]) })
	return out
}
