package lookup

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/spill"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

const holderEnv = "TARN_TEST_LOOKUP_HOLDER"

func TestMain(m *testing.M) {
	if root := os.Getenv(holderEnv); root != "" {
		hold(root)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// exit ends a process that is no test.
type exit struct{}

func (exit) Helper() {}
func (exit) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}
func (x exit) Fatalf(format string, args ...any) { x.Fatal(fmt.Sprintf(format, args...)) }

// hold makes a local file below root and waits.
func hold(root string) {
	f := newFixture(exit{}, nil)
	f.store = NewStore(spill.OpenStore(root, env.Real()), f.budget, f.env)
	files := f.flush(1, many(100, 1, 0)...)
	r := f.reader()
	f.owe(r, files...)
	b := r.Bucket(dir, files, nil)
	f.get(b, many(10, 1, 0)...)
	fmt.Println("built", f.store.Use().Built)
	io.Copy(io.Discard, os.Stdin) // until it is killed
}

// What a killed process left goes when the next one makes a local file.
func TestLocalFilesOfAKilledProcessGo(t *testing.T) {
	root := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+root)
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
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "built 1\n" {
		t.Fatalf("the process says %q", line)
	}
	cmd.Process.Kill()
	cmd.Wait()
	count := func() (n int) {
		filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), "lookup-") {
				n++
			}
			return err
		})
		return n
	}
	if n := count(); n != 1 {
		t.Fatalf("%d local files are left", n)
	}
	temporary := spill.OpenStore(root, env.Real())
	if _, _, err := temporary.Place("other"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 0 {
		t.Errorf("%d local files are left after the next start", n)
	}
	if err := temporary.Close(); err != nil {
		t.Fatal(err)
	}
}

// A data file gets a local one when it has cost as much as making that does, and
// look-ups then read so many bytes of blocks and none of the data file.
func TestCostOfLookups(t *testing.T) {
	f := newFixture(t, map[string]string{"parquet.page.row.count.limit": "2000"})
	f.always = false
	counted := layer.Count(f.fs)
	f.fio = counted
	files := f.flush(3, many(50_000, 1, 0)...)
	r := f.reader()
	all := many(50_000, 1, 0)
	price, rounds := priceOf(files[0]), 0
	for f.store.Use().Built == 0 {
		b := r.Bucket(dir, files, nil)
		if got := f.get(b, all[100], all[20_000], all[40_000]); len(got) != 3 {
			t.Fatalf("%v", got)
		}
		closeBucket(t, b)
		if rounds++; int64(rounds) > 100 {
			t.Fatalf("no local file after %d rounds; owed %d of %d", rounds, f.store.files[fileKey{dir + "/" + files[0].FileName, r.layout}].owed, price)
		}
	}
	if rounds < 4 {
		t.Errorf("a local file after %d rounds", rounds)
	}
	f.store.shed(1 << 40)
	counted.Reset()
	before := f.store.Use()
	b := r.Bucket(dir, files, nil)
	if got := f.get(b, all[99], all[100], all[20_000], row{a: "key 020", b: 5000}, all[40_000]); len(got) != 4 {
		t.Fatalf("%v", got)
	}
	use := f.store.Use()
	// Keys 99 and 100 lie in one block; the filter knows the key that is not there.
	if n := use.BlocksRead - before.BlocksRead; n != 3 || counted.BytesRead() != 0 {
		t.Errorf("%d blocks and %d bytes of the data file were read", n, counted.BytesRead())
	}
	if n := use.BytesRead - before.BytesRead; n > 3*blockBytes/2 {
		t.Errorf("%d bytes of blocks", n)
	}
	if got := f.get(b, all[101], all[20_001]); len(got) != 2 || f.store.Use().BlocksRead != use.BlocksRead {
		t.Errorf("blocks in memory are read again: %v", got)
	}
	// All rows are read faster where they come from.
	counted.Reset()
	if got := f.get(b, all...); len(got) != 50_000 || f.store.Use().BlocksRead != use.BlocksRead || counted.BytesRead() > 2*files[0].FileSize {
		t.Errorf("%d rows, %d bytes of a data file of %d, %d blocks", len(got), counted.BytesRead(), files[0].FileSize, f.store.Use().BlocksRead-use.BlocksRead)
	}
	closeBucket(t, b)
	f.close()
}

// Deletes, files of older schemas and of levels in any order: as without local files.
func TestLocalFilesOfOlderSchemas(t *testing.T) {
	f := newFixture(t, nil)
	older := *f.schema
	older.ID = 1
	older.Fields = []types.Field{values[1], values[2], {ID: 0, Name: "was", Type: types.Type{Root: types.Int, Nullable: true}}}
	f.old[1] = &older
	now := f.schema
	f.schema = &older
	var rows []row
	for k := range 300 {
		rows = append(rows, row{a: "x", b: int64(k)})
	}
	deep := f.flush(5, rows...) // the values are null: the fixture knows no column "was"
	f.schema = now
	shallow := f.flush(2, row{a: "x", b: 7, v: 70, kind: types.Delete}, row{a: "x", b: 9, v: 90})
	r := f.reader()
	f.owe(r, deep[0], shallow[0])
	b := r.Bucket(dir, []*datafile.Meta{deep[0], shallow[0]}, nil)
	keys, release := f.keys([]row{{a: "x", b: 7}, {a: "x", b: 8}, {a: "x", b: 9}, {a: "y", b: 8}})
	found, err := b.Get(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	release()
	var got []string
	for _, ref := range found.Refs {
		text := "none"
		if ref != None {
			rec := found.Batches[ref.Source()]
			text = rec.Column(0).ValueStr(ref.Row()) + " " + rec.Column(5).ValueStr(ref.Row())
		}
		got = append(got, text)
	}
	if want := "[70 3 (null) 0 90 0 none]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	found.Release()
	closeBucket(t, b)
	if u := f.store.Use(); u.Built != 2 || len(f.warned) > 0 {
		t.Errorf("%+v, %q", u, f.warned)
	}
	f.close()
}

// Rows that do not count are not there: a deeper level is asked.
func TestOnlyLiveRowsCount(t *testing.T) {
	f := newFixture(t, nil)
	files := append(f.flush(1, row{a: "k", b: 1, v: -1}, row{a: "k", b: 2, v: 2}), f.flush(2, row{a: "k", b: 1, v: 10}, row{a: "k", b: 2, v: 20})...)
	cfg := f.config()
	cfg.Files = f.open().Files("t", f.parsed().LookupFiles, nil)
	cfg.Files.always = true
	cfg.Live = negative
	r := f.readerOf(cfg)
	for range 2 {
		b := r.Bucket(dir, files, nil)
		if got := fmt.Sprint(f.get(b, row{a: "k", b: 1}, row{a: "k", b: 2})); got != "map[k/1:10 k/2:2]" {
			t.Error(got)
		}
		closeBucket(t, b)
		f.owe(r, files...)
	}
	f.close()
}

// room is a fixture of n data files, each with every n-th key, and a reader.
func room(t *testing.T, n int, options map[string]string) (*fixture, *Reader, []*datafile.Meta) {
	f := newFixture(t, options)
	var files []*datafile.Meta
	for i := range n {
		var rows []row
		for k, r := range many(2000*n, 1, 0) {
			if k%n == i {
				rows = append(rows, r)
			}
		}
		files = append(files, f.flush(int32(i+1), rows...)...)
	}
	return f, f.reader(), files
}

func (f *fixture) build(r *Reader, m *datafile.Meta) {
	f.t.Helper()
	f.owe(r, m)
	b := r.Bucket(dir, []*datafile.Meta{m}, nil)
	f.get(b, many(100, 1, 0)...)
	closeBucket(f.t, b)
}

// paths are the temporary files there are.
func (f *fixture) paths() (out []string) {
	for _, p := range f.fs.Paths() {
		if strings.HasPrefix(p, "/tmp/x/") {
			out = append(out, p)
		}
	}
	return out
}

// Beyond the limit of a table on disk files go that were used longest ago; one that
// alone is beyond it is given up.
func TestDiskLimit(t *testing.T) {
	f, r, files := room(t, 3, map[string]string{"lookup.cache-spill-compression": "none"})
	f.build(r, files[0])
	size := f.store.Use().Disk
	if size == 0 || int64(len(f.paths())) != 1 {
		t.Fatalf("%+v, %v", f.store.Use(), f.paths())
	}
	r.cfg.Files.opts.MaxDisk = 5 * size / 2
	f.build(r, files[1])
	f.build(r, files[0]) // used again
	f.build(r, files[2])
	if u := f.store.Use(); u.Files != 2 || u.Disk > 5*size/2 || len(f.paths()) != 2 {
		t.Errorf("%+v, %v", u, f.paths())
	}
	if f.built(1).key.path != dir+"/"+files[0].FileName {
		t.Error("the file used last is gone")
	}
	r.cfg.Files.opts.MaxDisk = files[1].FileSize
	if size <= files[1].FileSize {
		t.Fatalf("a local file of %d bytes of a data file of %d: the limit is not met halfway", size, files[1].FileSize)
	}
	f.build(r, files[1])
	if u := f.store.Use(); u.Failed != 1 || u.Files != 0 || u.Disk != 0 || len(f.paths()) != 0 || len(f.warned) != 1 ||
		!strings.Contains(f.warned[0], "lookup.cache-max-disk-size") {
		t.Errorf("%+v, %v, %q", u, f.paths(), f.warned)
	}
	f.close()
}

// Blocks beyond the limit of a table in memory go, and all that is for speed when
// somebody else is short of memory.
func TestMemoryLimit(t *testing.T) {
	f, r, files := room(t, 1, map[string]string{"lookup.cache-max-memory-size": "64 kb"})
	f.build(r, files[0])
	b := r.Bucket(dir, files, nil)
	if got := f.get(b, many(2000, 1, 0)...); len(got) != 2000 {
		t.Fatalf("%d rows", len(got))
	}
	if u := f.store.Use(); u.Memory > 64<<10 || u.Memory < 16<<10 || f.budget.Used() < u.Memory {
		t.Errorf("%+v, %d bytes reserved", u, f.budget.Used())
	}
	closeBucket(t, b)
	for f.budget.Shed(f.budget.Limit()) {
	}
	all, ok := f.budget.TryReserve(f.budget.Limit())
	if !ok || f.store.Use().Memory != 0 {
		t.Fatalf("%d bytes stay reserved", f.budget.Used())
	}
	// Without memory there is the data file.
	b = r.Bucket(dir, files, nil)
	if got := f.get(b, many(10, 1, 0)...); len(got) != 10 {
		t.Fatalf("%d rows", len(got))
	}
	closeBucket(t, b)
	all.Release()
	f.close()
}

// Who waits for memory gets what was in use when it asked for it.
func TestMemoryInUseIsGivenUpLater(t *testing.T) {
	f, r, files := room(t, 1, nil)
	f.build(r, files[0])
	b := r.Bucket(dir, files, nil)
	f.get(b, many(2000, 1, 0)...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it waited for ever
	defer cancel()
	done := make(chan error, 1)
	go func() {
		all, err := f.budget.Reserve(ctx, f.budget.Limit())
		if err == nil {
			all.Release()
		}
		done <- err
	}()
	for !f.budget.Contended() {
		runtime.Gosched()
	}
	f.get(b, many(2000, 1, 0)...)
	closeBucket(t, b)
	if err := <-done; err != nil {
		t.Error(err)
	}
	f.close()
}

// A member of a row that was dropped and added again is another one.
func TestLayoutsTellMembersApart(t *testing.T) {
	seen := map[string]bool{}
	for id := range 3 {
		member := types.Type{Root: types.Row, Fields: []types.Field{{ID: 7 + id, Name: "x", Type: types.MustParse("INT")}}}
		for _, typ := range []types.Type{
			member, {Root: types.Array, Element: &member}, {Root: types.Map, Key: &types.Type{Root: types.Int}, Element: &member},
		} {
			seen[layoutOf([]types.Field{{ID: 3, Name: "c", Type: typ}})] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d layouts, want 9", len(seen))
	}
}

// A file goes when its data file is dropped, or was not used for long: with its last
// user.
func TestDropAndRetention(t *testing.T) {
	f, r, files := room(t, 3, nil)
	for _, m := range files {
		f.build(r, m)
	}
	b := r.Bucket(dir, files, nil)
	want := fmt.Sprint(f.get(b, many(100, 1, 0)...))
	r.Drop(dir, files[:2])
	r.Drop(dir, files[:2])
	if u := f.store.Use(); u.Files != 3 {
		t.Errorf("%+v", u)
	}
	if got := fmt.Sprint(f.get(b, many(100, 1, 0)...)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	closeBucket(t, b)
	if u := f.store.Use(); u.Files != 1 || len(f.paths()) != 1 {
		t.Errorf("%+v, %v", u, f.paths())
	}
	f.env.Sleep(t.Context(), time.Hour+time.Minute)
	b = r.Bucket(dir, files[:1], nil)
	f.get(b, many(100, 1, 0)...)
	closeBucket(t, b)
	if u := f.store.Use(); u.Files != 0 || u.Disk != 0 || len(f.paths()) != 0 {
		t.Errorf("%+v, %v", u, f.paths())
	}
	f.close()
}

// Accounts of data files are bounded.
func TestAccountsAreBounded(t *testing.T) {
	f := newFixture(t, nil)
	r := f.reader()
	m := &datafile.Meta{FileSize: 1 << 20, RowCount: 1 << 10}
	for i := range 3 * maxKnown {
		r.cfg.Files.spent(fmt.Sprint("/f", i), r.layout, m, 1, 0)
		r.cfg.Files.want("/other", r.layout, m)
	}
	if n := len(f.store.files); n > maxKnown+1 || f.store.order.Len() != n {
		t.Errorf("%d accounts", n)
	}
	f.close()
}

// Whatever the local storage does, rows are found; what was begun is gone.
func TestFaultsOfTheLocalStorage(t *testing.T) {
	for n := 1; ; n++ {
		f := newFixture(t, nil)
		faulty := faultio.New(mem.New(mem.Posix), faultio.None())
		f.local = faulty
		f.store = NewStore(spill.NewStore(faulty, "/tmp/x"), f.budget, f.env)
		files := f.flush(1, many(2000, 1, 0)...)
		r := f.reader()
		faulty.SetPlan(faultio.FailCall(n, faultio.Before, tarnerr.Unavailable))
		for range 2 {
			f.owe(r, files...)
			b := r.Bucket(dir, files, nil)
			if got := f.get(b, many(2100, 1, 0)...); len(got) != 2000 {
				t.Fatalf("call %d: %d rows", n, len(got))
			}
			closeBucket(t, b)
			f.store.shed(1 << 40)
		}
		done := faulty.Injected() == 0
		if !done && len(f.warned) == 0 {
			t.Errorf("call %d failed and nobody was told", n)
		}
		r.Drop(dir, files)
		if u := f.store.Use(); u.Files != 0 || u.Disk != 0 {
			t.Errorf("call %d: %+v", n, u)
		}
		f.close()
		if done {
			if n < 8 {
				t.Errorf("%d calls in all", n)
			}
			return
		}
	}
}

// A data file whose keys do not ascend has no local file, and is found out once.
func TestUnfitFile(t *testing.T) {
	f := newFixture(t, nil)
	files := f.flush(1, row{a: "k", b: 1, v: 1}, row{a: "k", b: 1, v: 2}, row{a: "k", b: 2, v: 3})
	r := f.reader()
	for range 3 {
		f.owe(r, files...)
		b := r.Bucket(dir, files, nil)
		if got := fmt.Sprint(f.get(b, row{a: "k", b: 1})); got != "map[k/1:1]" {
			t.Error(got)
		}
		closeBucket(t, b)
	}
	if u := f.store.Use(); u.Failed != 1 || u.Disk != 0 || len(f.paths()) != 0 || len(f.warned) != 1 {
		t.Errorf("%+v, %v, %q", u, f.paths(), f.warned)
	}
	f.close()
}

// Buckets side by side: each file is made once, and dropped, shed and read at the same time.
func TestSideBySide(t *testing.T) {
	f, r, files := room(t, 4, nil)
	asked := many(2000, 7, 0)
	b := r.Bucket(dir, files, nil)
	want := fmt.Sprint(f.get(b, asked...))
	closeBucket(t, b)
	f.owe(r, files...)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 6 {
				b := r.Bucket(dir, files, nil)
				keys, release := f.keys(asked)
				found, err := b.Get(context.Background(), keys)
				release()
				if err != nil {
					t.Error(err)
					return
				}
				if got := fmt.Sprint(f.texts(asked, found)); got != want {
					t.Error("other rows were found")
				}
				found.Release()
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if i == 0 && n == 3 {
					r.Drop(dir, files[:1])
				}
				if i == 1 {
					f.store.shed(1 << 20)
				}
			}
		})
	}
	wg.Wait()
	if u := f.store.Use(); u.Built != 4 || u.Failed != 0 || u.Files != 3 {
		t.Errorf("%+v", u)
	}
	f.close()
}
