package plan

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/internal/sqltext"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// TestText plans over tables that exist as metadata only, described in testdata:
//
//	schema pk=k partition=p options=(bucket=2)   columns: ID NAME TYPE
//	commit [kind=KIND]                           files: + NAME … or - NAME, changelog files: c NAME …
//	plan [limit=N] [snapshot=N] [workers=N]      a predicate
//	follow, between, diff, expire                see changes_test.go
//
// A file is described by p=PARTITION b=BUCKET of=TOTAL level=N rows=N size=N
// key=MIN..MAX seq=MIN..MAX deletes=N|unknown schema=N dense=COL,… cut=STATISTICS, and by
// COL:MIN..MAX/NULLS for the statistics of a column (key:… for key statistics).
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			var tb *planTable
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "schema" && tb == nil || d.HasArg("new") {
					tb = newPlanTable()
				}
				out, err := tb.run(t, d)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				return out
			})
		})
	}
}

// planTable is a table of metadata without data.
type planTable struct {
	cfg   Config
	env   env.Env
	files map[string]manifest.Entry
	last  *snapshot.Snapshot
}

func newPlanTable() *planTable {
	fs := mem.New(mem.Posix)
	l := layout.Table{Dir: "/w/db.db/t"}
	e := env.Seeded(1, epoch)
	return &planTable{
		cfg: Config{FileIO: fs, Layout: l, Schemas: schema.NewStore(fs, l.Dir, e), Snapshots: snapshot.NewStore(fs, l)},
		env: e, files: map[string]manifest.Entry{},
	}
}

func (tb *planTable) run(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "schema":
		return "", tb.schema(t, d)
	case "commit":
		return "", tb.commit(t, d)
	case "plan":
		return tb.plan(t, d)
	case "follow":
		return tb.follow(t, d)
	case "between":
		return tb.between(t, d)
	case "diff":
		return tb.diff(t, d)
	case "expire":
		return "", tb.expire(t, d)
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return "", nil
}

func (tb *planTable) schema(t testing.TB, d *datadriven.TestData) error {
	s := &schema.Schema{Version: schema.Version, Options: map[string]string{}}
	if tb.cfg.Schema != nil {
		s.ID = tb.cfg.Schema.ID + 1
	}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "pk":
			s.PrimaryKeys = a.Vals
		case "partition":
			s.PartitionKeys = a.Vals
		case "options":
			for _, kv := range a.Vals {
				k, v, _ := strings.Cut(kv, "=")
				s.Options[k] = v
			}
		case "new":
		default:
			t.Fatalf("unknown argument %s", a.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		typ, err := types.Parse(strings.Join(words[2:], " "))
		if err != nil {
			t.Fatal(err)
		}
		id, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		s.Fields = append(s.Fields, types.Field{ID: id, Name: words[1], Type: typ})
		s.HighestFieldID = max(s.HighestFieldID, id)
	}
	if err := tb.cfg.FileIO.CreateIfAbsent(context.Background(), tb.cfg.Layout.SchemaFile(s.ID), s.JSON()); err != nil {
		return err
	}
	o, err := option.Parse(s.Options)
	if err != nil {
		return err
	}
	tb.cfg.Schema, tb.cfg.Options = s, o
	tb.cfg.Manifests, err = manifest.NewStore(manifest.Config{
		FileIO: tb.cfg.FileIO, Table: tb.cfg.Layout, Names: layout.NewNamer(tb.env), Env: tb.env, Partition: s.Select(s.PartitionKeys),
	})
	return err
}

func (tb *planTable) commit(t *testing.T, d *datadriven.TestData) error {
	ctx := context.Background()
	var entries, told []manifest.Entry
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		if words[0] == "-" {
			e, ok := tb.files[words[1]]
			if !ok {
				t.Fatalf("no file %s", words[1])
			}
			e.Kind = manifest.Delete
			entries = append(entries, e)
			continue
		}
		e := tb.parseFile(t, words[1:])
		if words[0] == "c" {
			told = append(told, e)
			continue
		}
		tb.files[words[1]] = e
		entries = append(entries, e)
	}
	added, err := tb.cfg.Manifests.WriteManifests(ctx, entries)
	if err != nil {
		return err
	}
	var base []manifest.FileMeta
	next := &snapshot.Snapshot{Version: snapshot.Version, ID: 1, SchemaID: tb.cfg.Schema.ID, CommitUser: "u", CommitKind: snapshot.Append}
	if tb.last != nil {
		next.ID = tb.last.ID + 1
		for _, l := range []string{tb.last.BaseManifestList, tb.last.DeltaManifestList} {
			metas, err := tb.cfg.Manifests.ReadList(ctx, l, nil)
			if err != nil {
				return err
			}
			base = append(base, metas...)
		}
	}
	if next.BaseManifestList, _, err = tb.cfg.Manifests.WriteList(ctx, base); err != nil {
		return err
	}
	if next.DeltaManifestList, _, err = tb.cfg.Manifests.WriteList(ctx, added); err != nil {
		return err
	}
	if len(told) > 0 {
		metas, err := tb.cfg.Manifests.WriteManifests(ctx, told)
		if err != nil {
			return err
		}
		list, size, err := tb.cfg.Manifests.WriteList(ctx, metas)
		if err != nil {
			return err
		}
		next.ChangelogManifestList, next.ChangelogManifestListSize = &list, &size
	}
	if d.HasArg("kind") {
		d.ScanArgs(t, "kind", (*string)(&next.CommitKind))
	}
	tb.last = next
	return tb.cfg.FileIO.CreateIfAbsent(ctx, tb.cfg.Layout.SnapshotFile(next.ID), next.Marshal())
}

// parseFile reads the description of a file.
func (tb *planTable) parseFile(t testing.TB, words []string) manifest.Entry {
	s := tb.cfg.Schema
	e := manifest.Entry{Partition: binaryrow.Empty, TotalBuckets: int32(tb.cfg.Options.Bucket)}
	zero := int64(0)
	f := &datafile.Meta{
		FileName: words[0], FileSize: 1, RowCount: 10, MinKey: binaryrow.Empty, MaxKey: binaryrow.Empty, ExtraFiles: []string{},
		KeyStats: datafile.EmptyStats(), DeleteRowCount: &zero, SchemaID: s.ID,
	}
	e.File = f
	stats := map[string][]string{}
	cut := -1
	number := func(v string) int64 {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, w := range words[1:] {
		if name, v, ok := strings.Cut(w, ":"); ok {
			stats[name] = strings.FieldsFunc(strings.Replace(v, "..", "/", 1), func(r rune) bool { return r == '/' })
			continue
		}
		k, v, _ := strings.Cut(w, "=")
		lo, hi, _ := strings.Cut(v, "..")
		switch k {
		case "p":
			e.Partition = encode(t, s.Select(s.PartitionKeys), v)
		case "b":
			e.Bucket = int32(number(v))
		case "of":
			e.TotalBuckets = int32(number(v))
		case "level":
			f.Level = int32(number(v))
		case "rows":
			f.RowCount = number(v)
		case "size":
			f.FileSize = number(v)
		case "key":
			keys := s.Select(s.TrimmedPrimaryKeys())
			f.MinKey, f.MaxKey = encode(t, keys, lo), encode(t, keys, hi)
		case "seq":
			f.MinSequence, f.MaxSequence = number(lo), number(hi)
		case "deletes":
			f.DeleteRowCount = nil
			if v != "unknown" {
				n := number(v)
				f.DeleteRowCount = &n
			}
		case "schema":
			f.SchemaID = number(v)
		case "cut":
			cut = int(number(v))
		case "dense":
			f.ValueStatsCols = strings.FieldsFunc(v, func(r rune) bool { return r == ',' })
			if f.ValueStatsCols == nil {
				f.ValueStatsCols = []string{}
			}
		default:
			t.Fatalf("unknown %s", w)
		}
	}
	written := s
	if f.SchemaID != s.ID {
		var err error
		if written, err = tb.cfg.Schemas.Get(context.Background(), f.SchemaID); err != nil {
			t.Fatal(err)
		}
	}
	covered := written.Fields
	if f.ValueStatsCols != nil {
		covered = written.Select(f.ValueStatsCols)
	}
	if cut >= 0 {
		covered = covered[:cut]
	}
	f.ValueStats = encodeStats(t, covered, stats)
	if v, ok := stats["key"]; ok {
		keys := written.Select(written.TrimmedPrimaryKeys())
		f.KeyStats = encodeStats(t, keys, map[string][]string{keys[0].Name: v})
	}
	return e
}

// encode makes a row of texts joined by commas; null is null.
func encode(t testing.TB, fields []types.Field, text string) binaryrow.Row {
	var ts []types.Type
	var vs []types.Value
	for i, part := range strings.Split(text, ",") {
		ts = append(ts, fields[i].Type.WithNull(true))
		if part == "null" {
			vs = append(vs, nil)
			continue
		}
		v, err := types.ParseValue(fields[i].Type, part)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	r, err := binaryrow.Encode(ts, vs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encodeStats(t testing.TB, fields []types.Field, stats map[string][]string) datafile.Stats {
	if len(fields) == 0 {
		return datafile.EmptyStats()
	}
	var lo, hi []string
	var nulls []*int64
	for _, f := range fields {
		l, h := "null", "null"
		var n *int64
		if v := stats[f.Name]; len(v) >= 2 {
			l, h = v[0], v[1]
			if n = new(int64); len(v) == 3 {
				*n, _ = strconv.ParseInt(v[2], 10, 64)
			}
		}
		lo, hi, nulls = append(lo, l), append(hi, h), append(nulls, n)
	}
	return datafile.Stats{Min: encode(t, fields, strings.Join(lo, ",")), Max: encode(t, fields, strings.Join(hi, ",")), NullCounts: nulls}
}

func (tb *planTable) plan(t *testing.T, d *datadriven.TestData) (string, error) {
	req := Request{}
	cfg := tb.cfg
	for _, a := range d.CmdArgs {
		v := strings.Join(a.Vals, ", ")
		var err error
		switch a.Key {
		case "limit":
			_, err = fmt.Sscan(v, &req.Limit)
		case "snapshot":
			_, err = fmt.Sscan(v, &req.SnapshotID)
		case "workers":
			_, err = fmt.Sscan(v, &cfg.Workers)
		default:
			t.Fatalf("unknown argument %s", a.Key)
		}
		if err != nil {
			return "", err
		}
	}
	var err error
	if req.Where, err = tb.where(d.Input); err != nil {
		return "", err
	}
	r, err := Plan(context.Background(), cfg, req)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if r.Snapshot == nil {
		return "no snapshot\n", nil
	}
	fmt.Fprintf(&b, "snapshot %d: %d of %d manifests, %d of %d files\n", r.Snapshot.ID, r.ManifestsRead, r.Manifests, r.FilesLeft, r.Files)
	for _, s := range r.Splits {
		var names []string
		for _, f := range s.Files {
			names = append(names, f.FileName)
			if f.ValueStats.Min != nil && f.ValueStats.Min.Arity() > 0 {
				t.Errorf("statistics of %s are kept", f.FileName)
			}
		}
		mode := "merge"
		if s.RawConvertible {
			mode = "raw"
		}
		fmt.Fprintf(&b, "%s: %s %s\n", tb.place(s), mode, strings.Join(names, " "))
	}
	return b.String(), nil
}

// place is the bucket of a split.
func (tb *planTable) place(s *split.Split) string {
	where := strings.TrimPrefix(s.BucketPath, tb.cfg.FileIO.URI(tb.cfg.Layout.Dir)+"/")
	if !slices.Contains([]int32{int32(tb.cfg.Options.Bucket), -1}, *s.TotalBuckets) {
		where += fmt.Sprintf(" of %d", *s.TotalBuckets)
	}
	return where
}

// where reads a predicate, nil for no text.
func (tb *planTable) where(text string) (*expr.Bound, error) {
	if text == "" {
		return nil, nil
	}
	e, err := sqltext.ParseWhere(text)
	if err != nil {
		return nil, err
	}
	return expr.Bind(e, tb.cfg.Schema.Fields)
}

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
