package maintain

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/fileio/mem"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/commitlog"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/option"
)

var place = layout.Table{Dir: "/w/db.db/t"}

// fixture is a table made of metadata alone: its files hold nothing.
type fixture struct {
	*testing.T
	ctx       context.Context
	fs        *mem.FS
	env       env.Env
	snapshots *snapshot.Store
	manifests *manifest.Store
	base      []manifest.FileMeta // of the snapshot written last
	last      *snapshot.Snapshot
	names     map[string]string // of files, by paths
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, ctx: t.Context(), fs: mem.New(mem.Posix), env: env.Seeded(1, time.UnixMilli(1_700_000_000_000)), names: map[string]string{}}
	f.snapshots = snapshot.NewStore(f.fs, place).WithEnv(f.env)
	var err error
	f.manifests, err = manifest.NewStore(manifest.Config{FileIO: f.fs, Table: place, Names: layout.NewNamer(f.env), Env: f.env})
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// expirer is one that keeps one snapshot and as many changelogs.
func (f *fixture) expirer(changelogs int, producer bool) *Expirer {
	f.Helper()
	return f.expirerOn(f.fs, changelogs, producer)
}

// expirerOn is an expirer that sees the table through another FileIO.
func (f *fixture) expirerOn(fio fileio.FileIO, changelogs int, producer bool) *Expirer {
	f.Helper()
	manifests, err := manifest.NewStore(manifest.Config{FileIO: fio, Table: place, Workers: 2})
	f.must(err)
	r := option.Retention{Min: 1, Max: 1, Limit: 1 << 30, ChangelogMin: changelogs, ChangelogMax: changelogs, CleanDirectories: true}
	return NewExpirer(Config{
		FileIO: fio, Env: f.env, Place: place, Snapshots: snapshot.NewStore(fio, place).WithEnv(f.env), Manifests: manifests,
		Commits: commitlog.NewStore(fio, place, 2), Partitions: layout.NewPartitioner(nil, "", true),
		Retention: r, Produces: producer, Workers: 2,
	})
}

// file is the meta of a data file "name[:level][!side][@external]", compacted when its
// level is above 0.
func (f *fixture) file(text string) *datafile.Meta {
	m := &datafile.Meta{FileSize: 100, RowCount: 1, KeyStats: datafile.EmptyStats(), ValueStats: datafile.EmptyStats(), MinKey: binaryrow.Empty, MaxKey: binaryrow.Empty}
	text, external, out := strings.Cut(text, "@")
	text, side, beside := strings.Cut(text, "!")
	m.FileName, text, _ = strings.Cut(text, ":")
	source := datafile.Append
	if text != "" {
		m.Level, source = int32(number(f.T, text)), datafile.Compact
	}
	m.FileSource = &source
	if beside {
		m.ExtraFiles = []string{side}
	}
	if out {
		uri := external + "/" + m.FileName
		if strings.HasPrefix(external, "/") {
			uri = f.fs.URI(uri)
		}
		m.ExternalPath = &uri
	}
	return m
}

func (f *fixture) put(p, name string) {
	f.fs.Put(p, []byte(name))
	f.names[p] = name
}

func (f *fixture) entry(kind manifest.Kind, text string) manifest.Entry {
	e := manifest.Entry{Kind: kind, Partition: binaryrow.Empty, TotalBuckets: 1, File: f.file(text)}
	if kind == manifest.Add {
		dir := place.BucketDir("", 0)
		switch p := e.File.ExternalPath; {
		case p == nil:
		case strings.HasPrefix(*p, f.fs.URI("/")):
			dir = path.Dir(strings.TrimPrefix(*p, strings.TrimSuffix(f.fs.URI("/"), "/")))
		default:
			return e // elsewhere
		}
		for _, name := range append([]string{e.File.FileName}, e.File.ExtraFiles...) {
			f.put(dir+"/"+name, name)
		}
	}
	return e
}

// list writes a list of manifests, the last of them new, of entries.
func (f *fixture) list(name string, metas []manifest.FileMeta, entries []manifest.Entry) ([]manifest.FileMeta, string, *int64) {
	fresh, err := f.manifests.WriteManifests(f.ctx, entries)
	f.must(err)
	for i, m := range fresh {
		f.names[place.ManifestFile(m.FileName)] = fmt.Sprintf("manifest of %s %d", name, i)
	}
	metas = append(metas[:len(metas):len(metas)], fresh...)
	list, size, err := f.manifests.WriteList(f.ctx, metas)
	f.must(err)
	f.names[place.ManifestFile(list)] = name
	return metas, list, &size
}

// snapshot writes the next snapshot: +file and -file change the table, c:file is a
// changelog file, i:file an index file that is there from now on, s:file statistics;
// merged writes the manifests anew.
func (f *fixture) snapshot(id int64, words []string) {
	var delta, changelog []manifest.Entry
	s := &snapshot.Snapshot{Version: 3, ID: id, CommitUser: "u", CommitKind: snapshot.Append, CommitIdentifier: id, TimeMillis: id}
	var index []manifest.IndexEntry
	merged := false
	if f.last != nil {
		s.IndexManifest = f.last.IndexManifest
	}
	for _, w := range words {
		switch {
		case w == "merged":
			merged = true
		case w[0] == '+':
			delta = append(delta, f.entry(manifest.Add, w[1:]))
		case w[0] == '-':
			delta = append(delta, f.entry(manifest.Delete, w[1:]))
		case strings.HasPrefix(w, "c:"):
			changelog = append(changelog, f.entry(manifest.Add, w[2:]))
		case strings.HasPrefix(w, "s:"):
			name := w[2:]
			s.Statistics = &name
			f.put(place.StatisticsFile(name), name)
		case strings.HasPrefix(w, "i:"):
			index = append(index, manifest.IndexEntry{Partition: binaryrow.Empty, IndexType: "HASH", FileName: w[2:]})
			f.put(place.IndexFile(w[2:]), w[2:])
		default:
			f.Fatalf("no such word %q", w)
		}
	}
	base := f.base
	var fresh []manifest.Entry
	if merged {
		all, err := f.manifests.ReadAll(f.ctx, base, manifest.EntryFilter{})
		f.must(err)
		fresh, err = manifest.MergeEntries(all)
		f.must(err)
		base = nil
	}
	base, s.BaseManifestList, s.BaseManifestListSize = f.list(fmt.Sprintf("base of %d", id), base, fresh)
	var added []manifest.FileMeta
	added, s.DeltaManifestList, s.DeltaManifestListSize = f.list(fmt.Sprintf("delta of %d", id), nil, delta)
	f.base = append(base[:len(base):len(base)], added...)
	if changelog != nil {
		var list string
		_, list, s.ChangelogManifestListSize = f.list(fmt.Sprintf("changelog of %d", id), nil, changelog)
		s.ChangelogManifestList = &list
	}
	if index != nil {
		name, _, err := f.manifests.WriteIndex(f.ctx, index)
		f.must(err)
		f.names[place.ManifestFile(name)] = fmt.Sprintf("indexes of %d", id)
		s.IndexManifest = &name
	}
	f.put(place.SnapshotFile(id), fmt.Sprint("snapshot ", id))
	f.fs.Put(place.SnapshotFile(id), s.Marshal())
	f.fs.Put(place.LatestHint(), fmt.Append(nil, id))
	f.last = s
}

// copyTo puts a snapshot's file elsewhere: a tag, or a branch.
func (f *fixture) copyTo(id int64, file string) {
	data, ok := f.fs.Get(place.SnapshotFile(id))
	if !ok {
		f.Fatalf("no snapshot %d", id)
	}
	f.fs.Put(file, data)
}

// left are the names of the table's files that are there, without its own.
func (f *fixture) left() []string {
	there := map[string]bool{}
	for _, p := range f.fs.Paths() {
		if name, known := f.names[p]; known {
			there[name] = true
		}
	}
	return slices.Sorted(maps.Keys(there))
}
