package tarn_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/local"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// pointToDie is where a writer is killed, and what is left of it then.
type pointToDie struct {
	name, table string
	workers     int
	// data and changelog are how many files it had begun that no snapshot names. Where
	// compactions run beside the writing there may be more.
	data, changelog int
	// temporary is how many temporary files it leaves at least.
	temporary int
}

// pointsToDie are all of them. With one worker one thing comes after the other: of two
// buckets a flush makes two files each, and a compaction two and three of its changelog.
var pointsToDie = []pointToDie{
	{name: "flush: before the first file", table: inputTable, workers: 1, temporary: 1},
	{name: "flush: in a changelog file", table: inputTable, workers: 1, changelog: 1, temporary: 1},
	{name: "flush: in a data file", table: inputTable, workers: 1, data: 1, changelog: 1, temporary: 1},
	{name: "flush: between two buckets", table: inputTable, workers: 1, data: 1, changelog: 1, temporary: 1},
	{name: "flush: after the last file", table: inputTable, workers: 1, data: 2, changelog: 2, temporary: 1},
	{name: "spill: in a temporary file", table: upsertTable, workers: 2, temporary: 1},
	{name: "spill: after a temporary file", table: upsertTable, workers: 2, temporary: 1},
	{name: "spill: in one merged of others", table: upsertTable, workers: 1, temporary: 2},
	{name: "spill: in a data file merged of them", table: upsertTable, workers: 1, data: 1, temporary: 1},
	{name: "compaction: while it reads", table: upsertTable, workers: 1, data: 4},
	{name: "compaction: in a data file", table: upsertTable, workers: 1, data: 5},
	{name: "compaction: in a changelog file", table: upsertTable, workers: 1, data: 5, changelog: 1},
	{name: "compaction: between two files", table: upsertTable, workers: 1, data: 5, changelog: 2},
	{name: "compaction: after the last file", table: upsertTable, workers: 1, data: 8, changelog: 6},
	{name: "commit: before it", table: upsertTable, workers: 2, data: 4},
	{name: "commit: between its snapshots", table: upsertTable, workers: 2, data: 1, changelog: 1},
	{name: "commit: after it", table: upsertTable, workers: 2},
}

// killer is the storage of a process that is to be killed. It writes down which files of
// buckets are begun and which are removed. It kills once the process has made a commit.
type killer struct {
	fileio.FileIO
	dir   string
	point pointToDie
	diary *os.File

	mu    sync.Mutex
	armed bool
	// Of the commit under way.
	preparing bool
	spilled   map[string]bool // temporary files that were there before it
	begun     []string        // files of buckets
	flushed   int             // buckets
	compacted map[string]*compacted
	ended     int // compactions
	snapshots int
}

// compacted is a bucket that is being compacted: whose files are read.
type compacted struct{ data int }

func diaryOf(dir string) string { return filepath.Join(dir, "diary") }

func newKiller(dir string, p pointToDie) (*killer, error) {
	diary, err := os.OpenFile(diaryOf(dir), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	return &killer{
		FileIO: local.New(local.Options{Durability: fileio.OS}), dir: dir, point: p, diary: diary, compacted: map[string]*compacted{},
	}, err
}

// at kills the process if the point is one of those named. It is called with the lock.
func (k *killer) at(names ...string) {
	if k.armed && slices.Contains(names, k.point.name) {
		k.kill()
	}
}

func (k *killer) kill() {
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	select {}
}

func (k *killer) write(line string) { fmt.Fprintln(k.diary, line) }

// committing says that the rows of a commit are with the writer, committed that it is made.
func (k *killer) committing() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.preparing, k.begun, k.flushed, k.ended, k.snapshots = true, nil, 0, 0, 0
	k.spilled = map[string]bool{}
	for _, f := range k.temporaryFiles() {
		k.spilled[f] = true
	}
}

func (k *killer) committed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at("commit: after it")
	k.armed, k.preparing = true, false
}

func (k *killer) temporaryFiles() []string {
	files, _ := filepath.Glob(filepath.Join(k.dir, "spill", fmt.Sprintf("*-%d-*", os.Getpid()), "spill-*"))
	return files
}

// watchTemporaryFiles kills the process in the midst of one: a spilled buffer before its
// end was told of, or what the flush of a commit merges of several before its first file.
func (k *killer) watchTemporaryFiles() {
	if !strings.HasPrefix(k.point.name, "spill: in ") {
		return
	}
	for {
		k.mu.Lock()
		for _, f := range k.temporaryFiles() {
			if st, err := os.Stat(f); err != nil || st.Size() == 0 || k.spilled[f] {
				continue
			}
			if k.preparing && len(k.begun) == 0 {
				k.at("spill: in one merged of others")
			} else if !k.preparing {
				k.at("spill: in a temporary file")
			}
		}
		k.mu.Unlock()
		runtime.Gosched()
	}
}

func (k *killer) listener() *event.Listener {
	do := func(f func()) {
		k.mu.Lock()
		defer k.mu.Unlock()
		f()
	}
	return &event.Listener{
		SpillEnd: func(event.SpillEnd) {
			do(func() {
				k.at("spill: after a temporary file")
				k.spilled = map[string]bool{}
				for _, f := range k.temporaryFiles() {
					k.spilled[f] = true
				}
			})
		},
		FlushEnd: func(event.FlushEnd) {
			do(func() {
				if k.flushed++; k.flushed == 2 {
					k.at("flush: after the last file")
				}
			})
		},
		CompactEnd: func(i event.CompactEnd) {
			do(func() {
				delete(k.compacted, layout.BucketName(int32(i.Bucket)))
				if k.ended++; k.ended == 2 {
					k.at("compaction: after the last file")
				}
			})
		},
		CommitBegin: func(event.CommitBegin) { do(func() { k.at("commit: before it") }) },
	}
}

// bucketFile says whether a file is one of a bucket, of which, and whether of its changelog.
func bucketFile(p string) (bucket string, changelog, ok bool) {
	bucket, name := path.Base(path.Dir(p)), path.Base(p)
	return bucket, strings.HasPrefix(name, "changelog-"), strings.HasPrefix(bucket, "bucket-")
}

func (k *killer) Open(ctx context.Context, p string) (fileio.File, error) {
	if bucket, _, ok := bucketFile(p); ok { // only compactions read them
		k.mu.Lock()
		if k.compacted[bucket] == nil {
			k.compacted[bucket] = &compacted{}
		}
		k.mu.Unlock()
		f, err := k.FileIO.Open(ctx, p)
		return &killerFile{f, k}, err
	}
	return k.FileIO.Open(ctx, p)
}

type killerFile struct {
	fileio.File
	k *killer
}

func (f *killerFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	f.k.at("compaction: while it reads")
	return n, err
}

func (k *killer) Create(ctx context.Context, p string) (fileio.Writer, error) {
	bucket, changelog, ok := bucketFile(p)
	if !ok {
		return k.FileIO.Create(ctx, p)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.compacted[bucket]
	switch {
	case c == nil && len(k.begun) == 0:
		k.at("flush: before the first file")
	case c == nil && path.Dir(k.begun[0]) != path.Dir(p):
		k.at("flush: between two buckets")
	case c != nil && !changelog:
		if c.data++; c.data == 2 {
			k.at("compaction: between two files")
		}
	}
	k.begun = append(k.begun, p)
	k.write("begun " + p)
	w, err := k.FileIO.Create(ctx, p)
	return &killerWriter{w, k, p, c != nil, changelog}, err
}

type killerWriter struct {
	fileio.Writer
	k                     *killer
	path                  string
	compaction, changelog bool
}

func (w *killerWriter) Write(p []byte) (int, error) {
	half := len(p) / 2
	n, err := w.Writer.Write(p[:half])
	if err != nil {
		return n, err
	}
	w.k.mu.Lock()
	switch {
	case w.compaction && w.changelog:
		w.k.at("compaction: in a changelog file")
	case w.compaction:
		w.k.at("compaction: in a data file")
	case w.changelog:
		w.k.at("flush: in a changelog file")
	default:
		w.k.at("flush: in a data file", "spill: in a data file merged of them")
	}
	w.k.mu.Unlock()
	m, err := w.Writer.Write(p[half:])
	return n + m, err
}

func (w *killerWriter) Abort() error {
	err := w.Writer.Abort()
	w.k.write("gone " + w.path)
	return err
}

func (k *killer) Delete(ctx context.Context, paths ...string) error {
	err := k.FileIO.Delete(ctx, paths...)
	for _, p := range paths {
		if _, _, ok := bucketFile(p); ok {
			k.write("gone " + p)
		}
	}
	return err
}

func (k *killer) CreateIfAbsent(ctx context.Context, p string, data []byte) error {
	if path.Base(path.Dir(p)) == "snapshot" {
		k.mu.Lock()
		if k.snapshots++; k.snapshots == 2 {
			k.at("commit: between its snapshots")
		}
		k.mu.Unlock()
	}
	return k.FileIO.CreateIfAbsent(ctx, p, data)
}

// checkFiles fails for a file that a snapshot names and that is gone, and for one that
// none names unless a killed process had begun it.
func (u *upserted) checkFiles(t *testing.T, p pointToDie) {
	t.Helper()
	place := layout.Table{Dir: filepath.ToSlash(filepath.Join(u.dir, "warehouse", "db.db", u.name))}
	named, there := namedFiles(t, place), map[string]bool{}
	err := filepath.WalkDir(place.Dir, func(f string, _ fs.DirEntry, err error) error {
		if _, _, ok := bucketFile(filepath.ToSlash(f)); ok {
			there[filepath.ToSlash(f)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for f := range named {
		if !there[f] {
			t.Errorf("%s: a snapshot names %s, which is gone", p.name, f)
		}
	}
	var data, changelog int
	if p.table != "" {
		diary, err := os.ReadFile(diaryOf(u.dir))
		if err != nil {
			t.Fatal(err)
		}
		begun := map[string]bool{}
		for _, line := range strings.Split(string(diary), "\n") {
			switch what, f, _ := strings.Cut(line, " "); what {
			case "begun":
				begun[f] = true
			case "gone":
				delete(begun, f)
			}
		}
		for f := range begun {
			if named[f] {
				continue
			}
			if _, of, _ := bucketFile(f); of {
				changelog++
			} else {
				data++
			}
			u.orphans[f] = true
		}
	}
	if data != p.data && (p.workers < 2 || data < p.data) || changelog != p.changelog && (p.workers < 2 || changelog < p.changelog) {
		t.Errorf("%s: %d data files and %d of changelogs are left, want %d and %d", p.name, data, changelog, p.data, p.changelog)
	}
	maps.DeleteFunc(there, func(f string, _ bool) bool { return named[f] })
	if !maps.Equal(there, u.orphans) {
		t.Errorf("%s: files that no snapshot names are\n%v\nwant\n%v", p.name, slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(u.orphans)))
	}
}

// namedFiles are the data files and changelog files of all snapshots, by path.
func namedFiles(t *testing.T, place layout.Table) map[string]bool {
	t.Helper()
	ctx, fio := t.Context(), local.New(local.Options{})
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fio, Table: place})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for s, err := range snapshot.NewStore(fio, place).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		lists := []string{s.BaseManifestList, s.DeltaManifestList}
		if s.ChangelogManifestList != nil {
			lists = append(lists, *s.ChangelogManifestList)
		}
		live := map[string]bool{}
		for _, list := range lists {
			metas, err := manifests.ReadList(ctx, list, nil)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := manifests.ReadAll(ctx, metas, manifest.EntryFilter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				f := place.DataFile("", e.Bucket, e.File.FileName)
				if e.Kind == manifest.Add {
					live[f] = true
				} else {
					delete(live, f)
				}
			}
		}
		maps.Copy(out, live)
	}
	return out
}
