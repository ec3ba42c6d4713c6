package commit_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/fileio/faultio"
	"github.com/tarnlake/tarn/fileio/layer"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/write"
)

// What commits of each kind ask of the storage, in a process that has just opened
// the table, also when it does them side by side. None lists a directory.
func TestStorageCallsOfEachKind(t *testing.T) {
	want := map[string]string{
		"compact":             "open=7 create=3 create-if-absent=2 replace=2 stat=2 read=7 write=12 close=3",
		"append and compact":  "open=9 create=6 create-if-absent=4 replace=3 stat=3 read=9 write=24 close=6",
		"append with check":   "open=7 create=3 create-if-absent=2 replace=2 stat=4 read=7 write=12 close=3", // stat: one per file more
		"append with row ids": "open=5 create=3 create-if-absent=2 replace=2 stat=2 read=5 write=12 close=3",
		"overwrite":           "open=7 create=3 create-if-absent=2 replace=2 stat=2 read=7 write=12 close=3",
		"batch overwrite":     "open=7 create=3 create-if-absent=2 replace=2 stat=2 read=7 write=12 close=3",
		"truncate":            "open=7 create=3 create-if-absent=2 replace=2 stat=2 read=7 write=12 close=3",
		"rollback":            "open=20 create=5 create-if-absent=2 replace=3 stat=4 read=20 write=17 close=5",
	}
	for _, d := range deeds {
		staged, req := d.stage(t)
		for _, workers := range []int{1, 4} {
			count := layer.Count(clone(staged, mem.ObjectStore))
			tb := open(t, count, place, seeded(700))
			tb.workers = workers
			c := tb.committer()
			count.Reset()
			if _, err := c.Commit(context.Background(), req); err != nil {
				t.Fatal(err)
			}
			if got := count.String(); got != want[d.name] || count.Calls(layer.List) != 0 {
				t.Errorf("%s: %s", d.name, got)
			}
		}
	}
}

// One commit rewrites no more bytes of manifests than its budget, to the byte what
// merging takes in, whatever the table has, and decodes none of them where nothing
// is deleted; a retry takes over the merge.
func TestBytesRewrittenByOneCommit(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, seeded(1), spec(false, map[string]string{
		"manifest.target-file-size": "16 kb", "manifest.full-compaction-threshold-size": "1 b", "manifest.merge-min-count": "3", "manifest.compression": "none",
	}))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	budget := manifest.Budget(tb.opts.ManifestTargetSize, tb.opts.ManifestFullThreshold)
	lists := func(s *snapshot.Snapshot) (out []manifest.FileMeta) {
		m := tb.manifests()
		for _, name := range []string{s.BaseManifestList, s.DeltaManifestList} {
			metas, err := m.ReadList(ctx, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, metas...)
		}
		return out
	}
	var most, total int64
	var before []manifest.FileMeta
	for id := int64(1); id <= 120; id++ {
		r := tb.put(c, "u", id, "a", id)
		base, err := tb.manifests().ReadList(ctx, r.Snapshots[0].BaseManifestList, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, m := range before {
			if !slices.ContainsFunc(base, func(o manifest.FileMeta) bool { return o.FileName == m.FileName }) {
				n += m.FileSize
			}
		}
		if n != r.Rewritten || n > budget || r.Decoded != 0 {
			t.Fatalf("commit %d rewrote %d bytes, says %d, the budget is %d, and decoded %d entries", id, n, r.Rewritten, budget, r.Decoded)
		}
		most, total, before = max(most, n), total+n, lists(r.Snapshots[0])
	}
	if got := fmt.Sprint(budget, most, total); got != "40960 18546 1240074" {
		t.Errorf("budget, most and total are %s", got)
	}
	if got := rows(t, fs, place); len(got) != 120 {
		t.Errorf("%d rows", len(got))
	}
	check(t, fs, 0)

	// The merge of a lost try is taken over: the retry rewrites nothing.
	messages, err := tb.prepare(ctx, "b", 1000)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := commit.NewFilePublisher(fs, place)
	if err != nil {
		t.Fatal(err)
	}
	var first int64
	tb.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
		if first == 0 {
			first = pub.Next.ID
			other := open(t, fs, place, seeded(9))
			other.opts.ManifestMergeMinCount, other.opts.ManifestFullThreshold = 1000, 1<<40
			other.put(other.committer(), "other", 1, "o", 2000)
		}
		return inner.Publish(ctx, pub)
	})
	once := tb.committer()
	r, err := once.Commit(ctx, commit.Request{User: "u", Identifier: 200, Messages: messages})
	if err != nil || len(r.Attempts) != 2 {
		t.Fatalf("%v, %+v", err, r)
	}
	after, n := lists(r.Snapshots[0]), int64(0)
	for _, m := range before {
		if !slices.ContainsFunc(after, func(o manifest.FileMeta) bool { return o.FileName == m.FileName }) {
			n += m.FileSize
		}
	}
	if n == 0 || n != r.Rewritten {
		t.Errorf("%d bytes of manifests were merged, the commit says %d", n, r.Rewritten)
	}
	if n := len(after); n > 6 {
		t.Errorf("%d manifests after a merge that was taken over", n)
	}
	if !strings.Contains(r.Attempts[0].Outcome, "lost race") {
		t.Errorf("%+v", r.Attempts)
	}
	check(t, fs, 0)
}

// What one commit decodes of a table's manifests is bounded, however many files
// are there: a compaction the buckets it touches, and, when it merges, the
// manifests whose files it deletes.
func TestEntriesDecodedByOneCommit(t *testing.T) {
	ctx := context.Background()
	fs := mem.New(mem.ObjectStore)
	create(t, fs, seeded(1), spec(false, map[string]string{"manifest.merge-min-count": "4"}))
	tb := open(t, fs, place, seeded(2))
	c := tb.committer()
	var id int64
	do := func(m *commitmsg.Message) *commit.Report {
		id++
		r, err := c.Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: []*commitmsg.Message{m}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	message := func() *commitmsg.Message {
		return &commitmsg.Message{Partition: binaryrow.Empty, TotalBuckets: ptr[int32](-1)}
	}
	var got []int64
	var files []*datafile.Meta
	for k := range 10 {
		m := message()
		m.NewFiles = metas(tb.env, 100)
		files = append(files, m.NewFiles...)
		got = append(got, do(m).Decoded)
		if k%3 == 2 { // half of them are compacted
			m := message()
			m.CompactBefore, m.CompactAfter = files[:len(files)/2], metas(tb.env, 1)
			files = append(files[len(files)/2:], m.CompactAfter...)
			got = append(got, do(m).Decoded)
		}
	}
	// Entries are seen once to be
	// checked, and where files are deleted twice to be merged.
	if text := fmt.Sprint(got); text != "[0 0 0 300 602 0 0 451 0 0 1103 527 0]" {
		t.Errorf("entries decoded: %s", text)
	}
	check(t, fs, 0)
}

// A writer that begins reads the manifests that may have files of its partitions, and
// no others.
func TestOpeningReadsManifestsOfItsPartitions(t *testing.T) {
	ctx := context.Background()
	w := &world{T: t}
	w.create(&datadriven.TestData{CmdArgs: []datadriven.CmdArg{{Key: "key"}, {Key: "partitioned"}}})
	partitions := map[string]binaryrow.Row{}
	for i, day := range []string{"mon", "mon", "mon", "tue"} {
		m := w.makeFile([]pair{{int64(i), "a"}}, day, false)
		partitions[day] = m.Partition
		if _, err := w.committer("u").Commit(ctx, commit.Request{User: "u", Identifier: int64(i + 1), Messages: []*commitmsg.Message{m}}); err != nil {
			t.Fatal(err)
		}
	}
	for day, want := range map[string]int{"mon": 3, "tue": 1} {
		opened := map[string]bool{}
		tb := open(t, faultio.New(w.fs, faultio.PlanFunc(func(c faultio.Call) faultio.Fault {
			if name := path.Base(c.Path); c.Method == "open" && strings.HasPrefix(name, "manifest-") && !strings.HasPrefix(name, "manifest-list-") {
				opened[name] = true
			}
			return faultio.Fault{}
		})), place, seeded(7))
		held, err := write.NewRestorer(tb.snapshots, tb.manifests()).Restore(ctx, 1, []write.Bucket{{Partition: partitions[day]}})
		if err != nil || len(held) != 1 || held[0].MaxSequence != int64(want-1) || len(opened) != want {
			t.Errorf("%s: %+v, %v, read %d manifests, want %d", day, held, err, len(opened), want)
		}
	}
}

// A retry of a compaction reads the changes since the try before, not the table
// again; after an overwrite it does (P8).
func TestRetryReadsTheChangesSince(t *testing.T) {
	ctx := context.Background()
	for _, overwrite := range []bool{false, true} {
		w := &world{T: t, keyed: true}
		w.begin(spec(true, nil))
		for id := int64(1); id <= 8; id++ {
			m := w.made("a", id)
			name := fmt.Sprint("f", id)
			w.messages[name], w.files[name] = m, m.NewFiles[0]
			if _, err := w.committer("u").Commit(ctx, commit.Request{User: "u", Identifier: id, Messages: []*commitmsg.Message{m}}); err != nil {
				t.Fatal(err)
			}
		}
		m := w.like(w.files["f1"])
		m.CompactBefore, m.CompactAfter = []*datafile.Meta{w.files["f1"]}, []*datafile.Meta{w.files["f1"].Upgrade(3)}

		count := layer.Count(w.fs)
		tb := open(t, count, place, seeded(700))
		inner, err := commit.NewFilePublisher(count, place)
		if err != nil {
			t.Fatal(err)
		}
		first := int64(0)
		tb.pub = publisherFunc(func(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
			if first == 0 {
				// Another commit lands: a file, or a deletion of one.
				other := commit.Request{User: "other", Identifier: 1, Messages: []*commitmsg.Message{w.made("b", 100)}}
				if overwrite {
					gone := w.like(w.files["f8"])
					gone.DeletedFiles = []*datafile.Meta{w.files["f8"]}
					other.Messages = []*commitmsg.Message{gone}
				}
				if _, err := w.committer("other").Commit(ctx, other); err != nil {
					t.Error(err)
				}
				first = count.Calls(layer.Open)
			}
			return inner.Publish(ctx, pub)
		})
		c := tb.committer()
		count.Reset()
		r, err := c.Commit(ctx, commit.Request{User: "compactor", Identifier: 1, Messages: []*commitmsg.Message{m}})
		if err != nil || len(r.Attempts) != 2 {
			t.Fatalf("%v, %+v", err, r)
		}
		got := fmt.Sprint(first, count.Calls(layer.Open)-first)
		want := "13 8"
		if overwrite {
			want = "13 16"
		}
		if got != want {
			t.Errorf("overwrite=%v: the first try and the second open %s files, want %s", overwrite, got, want)
		}
	}
}
