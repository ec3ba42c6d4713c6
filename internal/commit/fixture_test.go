package commit_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/event"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

var place = layout.Table{Dir: "/w/db.db/t"}

// table is one process's view of a table.
type table struct {
	t         testing.TB
	fio       fileio.FileIO
	place     layout.Table
	env       env.Env
	schema    *schema.Schema
	schemas   *schema.Store
	opts      option.Options
	listener  *event.Listener
	pub       commit.Publisher
	uuid      string // of the table, "" where the catalog has none
	calls     []commit.Callback
	alloc     memory.Allocator
	lists     *manifest.ListCache
	snapshots *snapshot.Store
	restore   write.Restorer // nil looks into the table
	rollback  commit.Rollbacker
	groups    *commit.Groups
	keep      commitlog.Keep
	workers   int
	timeout   time.Duration
}

// nothingHeld is the Restorer of overwrites.
type nothingHeld struct{}

func (nothingHeld) Restore(_ context.Context, _ int32, buckets []write.Bucket) ([]write.Held, error) {
	held := make([]write.Held, len(buckets))
	for i := range held {
		held[i].MaxSequence = -1
	}
	return held, nil
}

func spec(keyed bool, options map[string]string) schema.Spec {
	s := schema.Spec{
		Fields: []types.Field{
			{Name: "k", Type: types.Type{Root: types.BigInt}},
			{Name: "v", Type: types.Type{Root: types.VarChar, Length: math.MaxInt32, Nullable: true}},
		},
		Options: map[string]string{},
	}
	if keyed {
		s.PrimaryKeys = []string{"k"}
		s.Options["bucket"] = "1"
	}
	for k, v := range options {
		s.Options[k] = v
	}
	return s
}

func seeded(seed uint64) env.Env { return env.Seeded(seed, time.Unix(1_700_000_000, 0).UTC()) }

// create makes the table in fio.
func create(t testing.TB, fio fileio.FileIO, e env.Env, spec schema.Spec) {
	t.Helper()
	if _, err := schema.NewStore(fio, place.Dir, e).Create(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
}

// open opens the table as a process would: its schema is known then.
func open(t testing.TB, fio fileio.FileIO, at layout.Table, e env.Env) *table {
	t.Helper()
	store := schema.NewStore(fio, at.Dir, e)
	s, err := store.Latest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	opts, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return &table{t: t, fio: fio, place: at, env: e, schema: s, schemas: store, opts: opts, alloc: memory.NewGoAllocator(), lists: manifest.NewListCache(),
		snapshots: snapshot.NewStore(fio, at).WithEnv(e)}
}

func (tb *table) manifests() *manifest.Store {
	m, err := manifest.NewStore(manifest.Config{FileIO: tb.fio, Table: tb.place, Env: tb.env, Partition: tb.schema.Select(tb.schema.PartitionKeys), Lists: tb.lists})
	if err != nil {
		tb.t.Fatal(err)
	}
	return m
}

func (tb *table) writer() *write.Writer {
	tb.t.Helper()
	restore := tb.restore
	if restore == nil {
		restore = write.NewRestorer(tb.snapshots, tb.manifests())
	}
	w, err := write.New(write.Config{
		Table: "db.t", FileIO: tb.fio, Place: tb.place, Schema: tb.schema, Options: tb.opts, Format: parquet.New(),
		Restore: restore,
		Env:     tb.env, Mem: tb.alloc, Listener: tb.listener,
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	return w
}

func (tb *table) committer() *commit.Committer {
	tb.t.Helper()
	c, err := tb.newCommitter()
	if err != nil {
		tb.t.Fatal(err)
	}
	return c
}

func (tb *table) newCommitter() (*commit.Committer, error) { return commit.New(tb.config()) }

func (tb *table) config() commit.Config {
	return commit.Config{
		Table: "db.t", TableUUID: tb.uuid, FileIO: tb.fio, Place: tb.place, Schema: tb.schema, Schemas: tb.schemas, Snapshots: tb.snapshots, Options: tb.opts,
		Env: tb.env, Publisher: tb.pub, Rollback: tb.rollback, Callbacks: tb.calls, Listener: tb.listener, Lists: tb.lists,
		Groups: tb.groups, Keep: tb.keep, PublishTimeout: tb.timeout, Workers: tb.workers,
	}
}

// rec makes a batch of keys, each with the value given.
func (tb *table) rec(value string, keys ...int64) arrow.RecordBatch {
	tb.t.Helper()
	sc, err := types.ArrowSchema(tb.schema.Fields)
	if err != nil {
		tb.t.Fatal(err)
	}
	b := array.NewRecordBuilder(tb.alloc, sc)
	defer b.Release()
	for _, k := range keys {
		b.Field(0).(*array.Int64Builder).Append(k)
		b.Field(1).(*array.StringBuilder).Append(value)
	}
	return b.NewRecordBatch()
}

// prepare writes the keys with a writer of its own.
func (tb *table) prepare(ctx context.Context, value string, keys ...int64) ([]*commitmsg.Message, error) {
	tb.t.Helper()
	w := tb.writer()
	defer w.Close()
	rec := tb.rec(value, keys...)
	defer rec.Release()
	if err := w.Write(ctx, rec); err != nil {
		return nil, err
	}
	return w.Prepare(ctx)
}

// put writes and commits keys and fails the test when that fails.
func (tb *table) put(c *commit.Committer, user string, id int64, value string, keys ...int64) *commit.Report {
	tb.t.Helper()
	messages, err := tb.prepare(context.Background(), value, keys...)
	if err != nil {
		tb.t.Fatal(err)
	}
	r, err := c.Commit(context.Background(), commit.Request{User: user, Identifier: id, Messages: messages})
	if err != nil {
		tb.t.Fatal(err)
	}
	return r
}

// rows reads the table as it is: "key=value", sorted; of key tables the row of
// the highest sequence number per key.
func rows(t testing.TB, fio fileio.FileIO, at layout.Table) []string {
	t.Helper()
	ctx := context.Background()
	tb := open(t, fio, at, seeded(99))
	latest, err := snapshot.NewStore(fio, at).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if latest == nil {
		return nil
	}
	keyed := tb.schema.HasPrimaryKey() // of tables without partitions
	type version struct {
		seq  int64
		text string
	}
	newest := map[int64]version{}
	var out []string
	for _, e := range tb.live(latest) {
		tb.each(e, func(k int64, v string, seq int64) {
			text := fmt.Sprintf("%d=%s", k, v)
			if !keyed {
				out = append(out, text)
			} else if old, ok := newest[k]; !ok || seq > old.seq {
				newest[k] = version{seq, text}
			}
		})
	}
	for _, v := range newest {
		out = append(out, v.text)
	}
	slices.Sort(out)
	return out
}

func (tb *table) live(s *snapshot.Snapshot) []manifest.Entry {
	tb.t.Helper()
	ctx, m := context.Background(), tb.manifests()
	base, err := m.ReadList(ctx, s.BaseManifestList, s.BaseManifestListSize)
	if err != nil {
		tb.t.Fatal(err)
	}
	delta, err := m.ReadList(ctx, s.DeltaManifestList, s.DeltaManifestListSize)
	if err != nil {
		tb.t.Fatal(err)
	}
	entries, err := m.ReadAll(ctx, append(base, delta...), manifest.EntryFilter{})
	if err != nil {
		tb.t.Fatal(err)
	}
	if entries, err = manifest.MergeEntries(entries); err != nil {
		tb.t.Fatal(err)
	}
	return entries
}

// partition is the directory of an entry's partition.
func (tb *table) partition(e manifest.Entry) string {
	tb.t.Helper()
	p, err := layout.NewPartitioner(tb.schema.Select(tb.schema.PartitionKeys), "", true).Path(e.Partition)
	if err != nil {
		tb.t.Fatal(err)
	}
	return p
}

// each calls f with the rows of one file.
func (tb *table) each(e manifest.Entry, f func(k int64, v string, seq int64)) {
	tb.t.Helper()
	ctx := context.Background()
	src := run.Source{
		FileIO: tb.fio, Table: tb.schema, Tracks: tb.opts.RowTracking, Mem: tb.alloc,
		Format: func(string) (fileformat.Format, error) { return parquet.New(), nil },
		Schema: tb.schemas.Get,
	}
	cols := slices.Clone(tb.schema.Fields[:2])
	if tb.schema.HasPrimaryKey() {
		cols = append(cols, types.SequenceNumberField())
	}
	r, err := src.Open(ctx, tb.place.BucketDir(tb.partition(e), e.Bucket), e.File, run.Request{Columns: cols})
	if err != nil {
		tb.t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return
		}
		if err != nil {
			tb.t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			seq := int64(0)
			if len(cols) > 2 {
				seq = rec.Column(2).(*array.Int64).Value(i)
			}
			f(rec.Column(0).(*array.Int64).Value(i), rec.Column(1).(*array.String).Value(i), seq)
		}
	}
}

// checkTracked fails when row ids have not been given out one after the other, from
// snapshot to snapshot, or new rows do not have the number of theirs (INV-COMMIT-4).
func checkTracked(t testing.TB, fio fileio.FileIO) {
	t.Helper()
	tb := open(t, fio, place, seeded(98))
	next := int64(0)
	for s, err := range snapshot.NewStore(fio, place).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		metas, err := tb.manifests().ReadList(context.Background(), s.DeltaManifestList, s.DeltaManifestListSize)
		if err != nil {
			t.Fatal(err)
		}
		delta, err := tb.manifests().ReadAll(context.Background(), metas, manifest.EntryFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range delta {
			f := e.File
			if e.Kind != manifest.Add || *f.FileSource != datafile.Append || f.WriteCols != nil {
				continue
			}
			if f.FirstRowID == nil || *f.FirstRowID != next || f.MinSequence != s.ID || f.MaxSequence != s.ID {
				t.Errorf("snapshot %d adds %s with row ids from %v on and numbers %d to %d, want %d and %d", s.ID, f.FileName, f.FirstRowID, f.MinSequence, f.MaxSequence, next, s.ID)
			}
			next += f.RowCount
		}
		if s.NextRowID == nil || *s.NextRowID != next {
			t.Errorf("snapshot %d goes on with row id %v, want %d", s.ID, s.NextRowID, next)
		}
	}
}

// check fails when a metadata file of the table is there that no snapshot names,
// or the other way round; intents may be left when a test says so.
func check(t testing.TB, fs *mem.FS, intents int) {
	t.Helper()
	ctx := context.Background()
	tb := open(t, fs, place, seeded(98))
	want := map[string]bool{}
	m := tb.manifests()
	for s, err := range snapshot.NewStore(fs, place).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		lists := map[string]*int64{s.BaseManifestList: s.BaseManifestListSize, s.DeltaManifestList: s.DeltaManifestListSize}
		if s.ChangelogManifestList != nil {
			lists[*s.ChangelogManifestList] = s.ChangelogManifestListSize
		}
		if s.IndexManifest != nil {
			want[*s.IndexManifest] = true
		}
		for name, size := range lists {
			want[name] = true
			metas, err := m.ReadList(ctx, name, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, meta := range metas {
				want[meta.FileName] = true
			}
		}
	}
	for _, p := range fs.Paths() {
		if name, ok := strings.CutPrefix(p, place.ManifestDir()+"/"); ok {
			if !want[name] {
				t.Errorf("no snapshot names %s", name)
			}
			delete(want, name)
		}
		if pending(t, fs, p) {
			intents--
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	if intents != 0 {
		t.Errorf("%d intents are missing", intents)
	}
}

// pending reports the intent of a commit whose outcome is not known.
func pending(t testing.TB, fs *mem.FS, path string) bool {
	t.Helper()
	if !strings.Contains(path, "/.tarn/") {
		return false
	}
	data, err := fileio.ReadFile(context.Background(), fs, path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := commitlog.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return r.Pending()
}
