package spill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/tarnerr"
)

// spillerEnv makes the test binary a process that spills into a directory and waits.
const spillerEnv = "TARN_TEST_SPILLER"

func TestMain(m *testing.M) {
	if root := os.Getenv(spillerEnv); root != "" {
		s := OpenStore(root, env.Real())
		if _, err := write(s, NewCodec("zstd", 1), 100, 10); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("spilled")
		io.Copy(io.Discard, os.Stdin) // until it is killed
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var testSchema = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
}, nil)

func rows(mem memory.Allocator, from, to int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, testSchema)
	defer b.Release()
	for i := from; i < to; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%3 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i%50))
		}
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		for range i % 4 {
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i))
		}
	}
	return b.NewRecordBatch()
}

// write writes n rows in blocks of so many.
func write(s *Store, c *Codec, n, block int) (*File, error) {
	w, err := s.Create(context.Background(), c)
	if err != nil {
		return nil, err
	}
	rec := rows(memory.DefaultAllocator, 0, n)
	defer rec.Release()
	for at := 0; at < n; at += block {
		part := rec.NewSlice(int64(at), int64(min(n, at+block)))
		err := w.Write(part)
		part.Release()
		if err != nil {
			w.Abort()
			return nil, err
		}
	}
	return w.Close()
}

func TestRanges(t *testing.T) {
	for _, name := range []string{"zstd", "lz4", "none", "lzo"} {
		t.Run(name, func(t *testing.T) {
			alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer alloc.AssertSize(t, 0)
			fs := mem.New(mem.Posix)
			s := NewStore(fs, "/tmp/x")
			f, err := write(s, NewCodec(name, 1), 100, 7)
			if err != nil {
				t.Fatal(err)
			}
			if f.Rows() != 100 || s.Bytes() != f.Size() || f.Size() == 0 || f.MaxBlock() == 0 {
				t.Errorf("%d rows, %d bytes, the store has %d", f.Rows(), f.Size(), s.Bytes())
			}
			all := rows(alloc, 0, 100)
			defer all.Release()
			c := f.NewCursor(alloc)
			for _, r := range [][2]int64{{0, 100}, {0, 1}, {6, 8}, {6, 6}, {7, 14}, {99, 100}, {13, 50}} {
				in := c.Rows(testSchema, r[0], r[1]-r[0])
				at := r[0]
				for {
					rec, err := in.Next(t.Context())
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					want := all.NewSlice(at, at+rec.NumRows())
					if !array.RecordEqual(want, rec) {
						t.Errorf("rows from %d on are %v, want %v", at, rec, want)
					}
					want.Release()
					at += rec.NumRows()
				}
				if at != r[1] {
					t.Errorf("range %v ended at %d", r, at)
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			if _, err := f.NewCursor(alloc).Rows(testSchema, 90, 11).Next(t.Context()); tarnerr.KindOf(err) != tarnerr.Internal {
				t.Errorf("rows that are not there: %v", err)
			}
			if err := f.Remove(); err != nil {
				t.Fatal(err)
			}
			if s.Bytes() != 0 || len(fs.Paths()) != 0 {
				t.Errorf("%d bytes, %v are left", s.Bytes(), fs.Paths())
			}
		})
	}
}

// A file that was damaged on disk is found out, never read as other rows.
func TestDamagedFile(t *testing.T) {
	fs := mem.New(mem.Posix)
	s := NewStore(fs, "/tmp/x")
	for _, name := range []string{"zstd", "lz4"} {
		f, err := write(s, NewCodec(name, 1), 50, 50)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, f.Size())
		in, _ := fs.Open(t.Context(), f.path)
		if _, err := in.ReadAt(t.Context(), data, 0); err != nil {
			t.Fatal(err)
		}
		short := data[:len(data)/2]
		if err := fs.Replace(t.Context(), f.path, short); err != nil {
			t.Fatal(err)
		}
		if _, err := f.NewCursor(memory.DefaultAllocator).Rows(testSchema, 0, 50).Next(t.Context()); err == nil {
			t.Errorf("%s: half a file was read", name)
		}
		f.Remove()
	}
}

func TestClosedStore(t *testing.T) {
	root := t.TempDir()
	s := OpenStore(root, env.Real())
	if _, err := write(s, NewCodec("", 1), 10, 10); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, root); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := s.Create(t.Context(), NewCodec("", 1)); !errors.Is(err, tarnerr.Closed) {
		t.Errorf("creating after Close: %v", err)
	}
	if err := OpenStore(root, env.Real()).Close(); err != nil || len(names(t, root)) != 0 {
		t.Errorf("a store without files leaves something: %v", err)
	}
}

func names(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if p != root {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a killed process leaves goes when the next one spills; what a living one has
// stays.
func TestSweepAfterKill(t *testing.T) {
	root := t.TempDir()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), spillerEnv+"="+root)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "spilled\n" {
			t.Fatalf("the process says %q", line)
		}
		return cmd
	}
	dead, alive := start(), start()
	defer func() { alive.Process.Kill(); alive.Wait() }()
	dead.Process.Kill()
	dead.Wait()
	if n := len(names(t, root)); n != 2*3 { // directory, file, lock
		t.Fatalf("two processes left %d files", n)
	}
	// What looks like ours but has no lock file is none of ours.
	other := filepath.Join(root, claimPrefix+"1-other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	mine := OpenStore(root, env.Seeded(1, time.Now()))
	if _, err := write(mine, NewCodec("", 1), 10, 10); err != nil {
		t.Fatal(err)
	}
	pid := func(cmd *exec.Cmd) string { return fmt.Sprintf("%s%d-", claimPrefix, cmd.Process.Pid) }
	counts := map[string]int{}
	for _, n := range names(t, root) {
		for what, prefix := range map[string]string{"dead": pid(dead), "alive": pid(alive)} {
			if strings.Contains(n, prefix) {
				counts[what]++
			}
		}
	}
	if counts["dead"] != 0 || counts["alive"] != 3 {
		t.Errorf("after a sweep there are %v", counts)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
}
