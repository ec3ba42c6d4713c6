package commit_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// TestScenes plays what happens when several jobs commit to one table. Files are
// real, messages of compactions and deletions are made by hand. The commands:
//
//	create key|append [partitioned]      options of the table, one a line
//	alter                                options, one a line
//	write NAME keys=… value=… [in=DAY]   a file of new rows, not committed;
//	       [afresh]                      to take the place of what is there
//	delete NAME keys=… from=FILE         the file without some rows, not committed
//	compact NAME of=(FILE,…) to=LEVEL    one file of all rows, not committed
//	lift NAME of=FILE to=LEVEL           the file at another level, not committed
//	vector NAME on=FILE [replaces=NAME]  a deletion vector, not committed
//	hash NAME in bucket 0                an index of hashes, not committed
//	changelog NAME with=MESSAGE keys=…   a changelog file for a message
//	commit user=U id=N of=(NAME,…)       commits, with check, or
//	       [overwrite=(all|dynamic|DAY)] as an overwrite, while
//	       [meanwhile=(U,N,NAME…)]       another commit lands before the publish
//	rollback to=ID                       snapshots after it go, by hand
//	rows, snapshots, index               what is there
func TestScenes(t *testing.T) {
	datadriven.Walk(t, "testdata/scenes", func(t *testing.T, path string) {
		w := &world{T: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.T = t
			return w.do(d)
		})
	})
}

// world is a table and what is known of it.
type world struct {
	*testing.T
	fs       *mem.FS
	tables   map[string]*table
	commits  map[string]*commit.Committer
	messages map[string]*commitmsg.Message
	files    map[string]*datafile.Meta // by the name the script gives
	named    map[string]string         // real name → name of the script
	seed     uint64
	keyed    bool
	tracked  bool
}

func (w *world) do(d *datadriven.TestData) string {
	w.Helper()
	switch d.Cmd {
	case "create":
		return w.create(d)
	case "alter":
		if _, err := schema.NewStore(w.fs, place.Dir, w.env()).Alter(context.Background(), w.options(d)...); err != nil {
			return err.Error() + "\n"
		}
		w.tables, w.commits = map[string]*table{}, map[string]*commit.Committer{}
		return ""
	case "write":
		m := w.write(d, w.pairs(d))
		return w.keep(d, m)
	case "delete":
		return w.delete(d)
	case "compact":
		return w.compact(d)
	case "lift":
		f := w.file(w.arg(d, "of"))
		up := f.Upgrade(int32(w.number(d, "to")))
		m := w.like(f)
		m.CompactBefore, m.CompactAfter = []*datafile.Meta{f}, []*datafile.Meta{up}
		w.messages[w.name(d)] = m
		w.files[w.name(d)] = up
		return ""
	case "lose": // a clean-up takes what no snapshot has
		for _, name := range w.list(d, "of") {
			for _, p := range w.fs.Paths() {
				if path.Base(p) == w.file(name).FileName {
					w.fs.Remove(p)
				}
			}
		}
		return ""
	case "vector":
		return w.vector(d)
	case "hash":
		m := w.bare(0)
		m.NewIndex = []manifest.IndexEntry{{IndexType: "HASH", FileName: w.name(d), FileSize: 8, RowCount: 2}}
		w.messages[w.name(d)] = m
		return ""
	case "changelog":
		f := w.write(d, w.pairs(d)).NewFiles[0]
		f.FileName = strings.Replace(f.FileName, "data-", "changelog-", 1)
		w.named[f.FileName] = w.name(d)
		m := w.messages[w.arg(d, "with")]
		if len(m.CompactBefore) > 0 {
			m.CompactChangelog = append(m.CompactChangelog, f)
		} else {
			m.ChangelogFiles = append(m.ChangelogFiles, f)
		}
		return ""
	case "commit":
		return w.commit(d)
	case "rollback":
		to := int64(w.number(d, "to"))
		for _, s := range snapshots(w.T, w.fs) {
			if s.ID > to {
				w.fs.Remove(place.SnapshotFile(s.ID))
			}
		}
		w.fs.Put(place.LatestHint(), []byte(strconv.FormatInt(to, 10)))
		w.tables, w.commits = map[string]*table{}, map[string]*commit.Committer{}
		return ""
	case "rows":
		return strings.Join(rows(w.T, w.fs, place), " ") + "\n"
	case "snapshots":
		return w.snapshots()
	case "index":
		return w.index()
	}
	w.Fatalf("no such command: %s", d.Cmd)
	return ""
}

func (w *world) env() env.Env {
	w.seed++
	return seeded(w.seed)
}

func (w *world) create(d *datadriven.TestData) string {
	w.keyed = d.HasArg("key")
	s := spec(w.keyed, nil)
	if d.HasArg("partitioned") {
		s.Fields = append(s.Fields, types.Field{Name: "day", Type: types.Type{Root: types.VarChar, Length: math.MaxInt32}})
		s.PartitionKeys = []string{"day"}
		if w.keyed {
			s.PrimaryKeys = []string{"day", "k"}
		}
	}
	for _, o := range w.options(d) {
		set := o.(schema.SetOption)
		s.Options[set.Key] = set.Value
	}
	w.begin(s)
	return ""
}

// begin makes the table.
func (w *world) begin(s schema.Spec) {
	w.Helper()
	w.fs, w.seed = mem.New(mem.ObjectStore), 0
	w.tables, w.commits = map[string]*table{}, map[string]*commit.Committer{}
	w.messages, w.files, w.named = map[string]*commitmsg.Message{}, map[string]*datafile.Meta{}, map[string]string{}
	create(w.T, w.fs, w.env(), s)
}

func (w *world) options(d *datadriven.TestData) []schema.Change {
	var out []schema.Change
	for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
		if k, v, ok := strings.Cut(line, "="); ok {
			out = append(out, schema.SetOption{Key: k, Value: v})
		}
	}
	return out
}

// table is what a user's job has open.
func (w *world) table(user string) *table {
	if w.tables[user] == nil {
		w.tables[user] = open(w.T, w.fs, place, w.env())
	}
	return w.tables[user]
}

func (w *world) committer(user string) *commit.Committer {
	if w.commits[user] == nil {
		w.commits[user] = w.table(user).committer()
	}
	return w.commits[user]
}

func (w *world) name(d *datadriven.TestData) string { return d.CmdArgs[0].Key }

func (w *world) arg(d *datadriven.TestData, key string) string {
	if !d.HasArg(key) {
		return ""
	}
	return strings.Join(w.list(d, key), ",")
}

func (w *world) list(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func (w *world) number(d *datadriven.TestData, key string) int {
	n, err := strconv.Atoi(w.arg(d, key))
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) file(name string) *datafile.Meta {
	f := w.files[name]
	if f == nil {
		w.Fatalf("no file %s", name)
	}
	return f
}

// pair is one row.
type pair struct {
	key   int64
	value string
}

func (w *world) pairs(d *datadriven.TestData) (out []pair) {
	for _, k := range w.list(d, "keys") {
		n, err := strconv.ParseInt(k, 10, 64)
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, pair{n, w.arg(d, "value")})
	}
	return out
}

// write makes one file of rows.
func (w *world) write(d *datadriven.TestData, rows []pair) *commitmsg.Message {
	w.Helper()
	return w.makeFile(rows, w.arg(d, "in"), d.HasArg("afresh"))
}

// rewritten is one file of rows.
func (w *world) rewritten(rows []pair) *datafile.Meta { return w.makeFile(rows, "", false).NewFiles[0] }

func (w *world) makeFile(rows []pair, day string, afresh bool) *commitmsg.Message {
	w.Helper()
	tb := open(w.T, w.fs, place, w.env())
	sc, err := types.ArrowSchema(tb.schema.Fields)
	if err != nil {
		w.Fatal(err)
	}
	b := array.NewRecordBuilder(tb.alloc, sc)
	defer b.Release()
	for _, p := range rows {
		b.Field(0).(*array.Int64Builder).Append(p.key)
		b.Field(1).(*array.StringBuilder).Append(p.value)
		if len(tb.schema.Fields) > 2 {
			b.Field(2).(*array.StringBuilder).Append(day)
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	if afresh {
		tb.restore = nothingHeld{}
	}
	wr := tb.writer()
	defer wr.Close()
	if err := wr.Write(context.Background(), rec); err != nil {
		w.Fatal(err)
	}
	messages, err := wr.Prepare(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	if len(messages) != 1 || len(messages[0].NewFiles) != 1 {
		w.Fatalf("%d messages", len(messages))
	}
	return messages[0]
}

// keep remembers a message and its new file under the name of the script.
func (w *world) keep(d *datadriven.TestData, m *commitmsg.Message) string {
	name := w.name(d)
	w.messages[name] = m
	for _, f := range slices.Concat(m.NewFiles, m.CompactAfter) {
		w.files[name] = f
		w.named[f.FileName] = name
	}
	return ""
}

// owner is a message that adds the file, for its partition and bucket.
func (w *world) owner(f *datafile.Meta) *commitmsg.Message {
	for _, m := range w.messages {
		for _, g := range slices.Concat(m.NewFiles, m.CompactAfter) {
			if g.FileName == f.FileName {
				return m
			}
		}
	}
	w.Fatalf("nobody made %s", f.FileName)
	return nil
}

// like is an empty message for the bucket that holds the file.
func (w *world) like(f *datafile.Meta) *commitmsg.Message {
	m := w.owner(f)
	return &commitmsg.Message{Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets}
}

func (w *world) bare(bucket int32) *commitmsg.Message {
	for _, m := range w.messages {
		return &commitmsg.Message{Partition: m.Partition, Bucket: bucket, TotalBuckets: m.TotalBuckets}
	}
	w.Fatal("write something first")
	return nil
}

// read are the rows of a file, by key the one of the highest sequence number.
func (w *world) read(f *datafile.Meta) (out []pair) {
	tb := open(w.T, w.fs, place, w.env())
	m := w.owner(f)
	tb.each(manifest.Entry{Partition: m.Partition, Bucket: m.Bucket, File: f}, func(k int64, v string, _ int64) { out = append(out, pair{k, v}) })
	return out
}

func (w *world) delete(d *datadriven.TestData) string {
	f := w.file(w.arg(d, "from"))
	gone := map[int64]bool{}
	for _, p := range w.pairs(d) {
		gone[p.key] = true
	}
	left := slices.DeleteFunc(w.read(f), func(p pair) bool { return gone[p.key] })
	m := w.like(f)
	if len(left) > 0 {
		m.NewFiles = w.write(d, left).NewFiles
	}
	m.DeletedFiles = []*datafile.Meta{f}
	return w.keep(d, m)
}

func (w *world) compact(d *datadriven.TestData) string {
	newest := map[int64]string{}
	var all []pair
	var before []*datafile.Meta
	for _, name := range w.list(d, "of") { // oldest first
		f := w.file(name)
		before = append(before, f)
		for _, p := range w.read(f) {
			all = append(all, p)
			newest[p.key] = p.value
		}
	}
	if w.keyed {
		all = nil
		for _, k := range slices.Sorted(maps.Keys(newest)) {
			all = append(all, pair{k, newest[k]})
		}
	}
	made := w.write(d, all)
	m := w.like(before[0])
	f := made.NewFiles[0]
	f.Level, f.FileSource = int32(w.number(d, "to")), ptr(datafile.Compact)
	m.CompactBefore, m.CompactAfter = before, []*datafile.Meta{f}
	return w.keep(d, m)
}

func (w *world) vector(d *datadriven.TestData) string {
	f := w.file(w.arg(d, "on"))
	m := w.like(f)
	entry := func(name string) manifest.IndexEntry {
		return manifest.IndexEntry{
			IndexType: "DELETION_VECTORS", FileName: name, FileSize: 43, RowCount: 1,
			Vectors: []manifest.VectorRange{{DataFile: f.FileName, Offset: 1, Length: 22, Cardinality: ptr[int64](1)}},
		}
	}
	m.NewIndex = []manifest.IndexEntry{entry(w.name(d))}
	if old := w.arg(d, "replaces"); old != "" {
		m.DeletedIndex = []manifest.IndexEntry{entry(old)}
	}
	w.messages[w.name(d)] = m
	return ""
}

func (w *world) request(user string, id int, names []string) commit.Request {
	req := commit.Request{User: user, Identifier: int64(id)}
	if id == 0 {
		req.Identifier = snapshot.BatchIdentifier
	}
	for _, n := range names {
		m := w.messages[n]
		if m == nil {
			w.Fatalf("no message %s", n)
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

func (w *world) commit(d *datadriven.TestData) string {
	id := 0
	if d.HasArg("id") {
		id = w.number(d, "id")
	}
	user := w.arg(d, "user")
	req := w.request(user, id, w.list(d, "of"))
	req.Check = d.HasArg("check")
	req.Empty = d.HasArg("empty")
	for _, o := range w.list(d, "overwrite") {
		if req.Overwrite == nil {
			req.Overwrite = &commit.Overwrite{}
		}
		switch o {
		case "all":
		case "dynamic":
			req.Overwrite.Dynamic = true
		default:
			req.Overwrite.Partitions = append(req.Overwrite.Partitions, map[string]string{"day": o})
		}
	}
	c := w.committer(user)
	if others := w.list(d, "meanwhile"); len(others) > 0 {
		n, err := strconv.Atoi(others[1])
		if err != nil {
			w.Fatal(err)
		}
		c = w.interrupted(user, func() {
			if _, err := w.committer(others[0]).Commit(context.Background(), w.request(others[0], n, others[2:])); err != nil {
				w.Error(err)
			}
		})
	}
	r, err := c.Commit(context.Background(), req)
	var b strings.Builder
	for _, a := range r.Attempts {
		fmt.Fprintf(&b, "%d %s\n", a.Snapshot, a.Outcome)
	}
	if r.Already {
		b.WriteString("was committed already\n")
	}
	if err != nil {
		fmt.Fprintf(&b, "%s: %s\n", tarnerr.KindOf(err), w.short(err.Error()))
	}
	if r.Compaction != nil {
		fmt.Fprintf(&b, "compaction failed: %s: %s\n", tarnerr.KindOf(r.Compaction), w.short(r.Compaction.Error()))
	}
	for _, s := range r.Snapshots {
		fmt.Fprintf(&b, "snapshot %d %s %+d\n", s.ID, s.CommitKind, s.DeltaRecordCount)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// interrupted is a user's committer before whose first publish others work.
func (w *world) interrupted(user string, others func()) *commit.Committer {
	tb := *w.table(user)
	inner, err := commit.NewFilePublisher(w.fs, place)
	if err != nil {
		w.Fatal(err)
	}
	tb.pub = &interruptedPublisher{inner, others}
	c, err := tb.newCommitter()
	if err != nil {
		w.Fatal(err)
	}
	return c
}

type interruptedPublisher struct {
	commit.Publisher
	others func()
}

func (p *interruptedPublisher) Publish(ctx context.Context, pub commit.Publication) (commit.Outcome, error) {
	if p.others != nil {
		p.others()
		p.others = nil
	}
	return p.Publisher.Publish(ctx, pub)
}

// short puts the script's names in place of real ones.
func (w *world) short(s string) string {
	for long, name := range w.named {
		s = strings.ReplaceAll(s, long, name)
	}
	return s
}

func (w *world) snapshots() string {
	var b strings.Builder
	tb := open(w.T, w.fs, place, w.env())
	for _, s := range snapshots(w.T, w.fs) {
		fmt.Fprintf(&b, "%d %s by %s:", s.ID, s.CommitKind, s.CommitUser)
		delta, err := tb.manifests().ReadList(context.Background(), s.DeltaManifestList, s.DeltaManifestListSize)
		if err != nil {
			w.Fatal(err)
		}
		entries, err := tb.manifests().ReadAll(context.Background(), delta, manifest.EntryFilter{})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range entries {
			sign := "+"
			if e.Kind == manifest.Delete {
				sign = "-"
			}
			fmt.Fprintf(&b, " %s%s", sign, w.short(e.File.FileName))
			if e.File.Level > 0 {
				fmt.Fprintf(&b, "@%d", e.File.Level)
			}
		}
		fmt.Fprintf(&b, ", %d records", s.TotalRecordCount)
		if s.ChangelogRecordCount != nil {
			fmt.Fprintf(&b, ", %d changes", *s.ChangelogRecordCount)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *world) index() string {
	all := snapshots(w.T, w.fs)
	latest := all[len(all)-1]
	if latest.IndexManifest == nil {
		return "none\n"
	}
	entries, err := open(w.T, w.fs, place, w.env()).manifests().ReadIndex(context.Background(), *latest.IndexManifest)
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s bucket %d\n", e.IndexType, e.FileName, e.Bucket)
	}
	return b.String()
}

func ptr[T any](v T) *T { return &v }
