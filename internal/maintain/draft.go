package maintain

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/tarnerr"
)

// key is what a data file is known by.
type key struct {
	partition string // the bytes of its row
	bucket    int32
	name      string
}

func keyOf(e *manifest.Entry) key { return key{string(e.Partition), e.Bucket, e.File.FileName} }

// draft is what may go: nothing in it is needed by those that stay, as far as it has
// been held against them. It grows with what goes, not with the table.
type draft struct {
	data       map[key]DataFile
	names      map[string]bool   // of data files
	index      map[string]string // paths by name
	statistics map[string]bool
	manifests  map[string]bool // index manifests as well
	lists      map[string]bool
}

func newDraft() *draft {
	return &draft{
		data: map[key]DataFile{}, names: map[string]bool{}, index: map[string]string{},
		statistics: map[string]bool{}, manifests: map[string]bool{}, lists: map[string]bool{},
	}
}

// draftOf is the draft of a plan that is to be held against others.
func draftOf(f *Files) *draft {
	d := newDraft()
	for _, file := range f.Data {
		d.put(key{string(file.Partition), file.Bucket, file.Name}, file)
	}
	for _, i := range f.Index {
		d.index[i.Name] = i.Path
	}
	add(d.statistics, f.Statistics)
	add(d.manifests, f.Manifests)
	add(d.lists, f.Lists)
	return d
}

func add(set map[string]bool, names []string) {
	for _, n := range names {
		set[n] = true
	}
}

func (d *draft) put(k key, f DataFile) {
	d.data[k] = f
	d.names[k.name] = true
}

func (d *draft) empty() bool {
	return len(d.data) == 0 && len(d.index) == 0 && len(d.statistics) == 0 && len(d.manifests) == 0 && len(d.lists) == 0
}

// files are those of the draft, in an order that depends on nothing else.
func (d *draft) files() Files {
	f := Files{
		Data: slices.Collect(maps.Values(d.data)), Statistics: slices.Sorted(maps.Keys(d.statistics)),
		Manifests: slices.Sorted(maps.Keys(d.manifests)), Lists: slices.Sorted(maps.Keys(d.lists)),
	}
	slices.SortFunc(f.Data, func(a, b DataFile) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), slices.Compare(a.Partition, b.Partition), cmp.Compare(a.Bucket, b.Bucket))
	})
	for _, name := range slices.Sorted(maps.Keys(d.index)) {
		f.Index = append(f.Index, NamedFile{name, d.index[name]})
	}
	return f
}

// drafting finds what snapshots and changelogs that go refer to.
type drafting struct {
	*Expirer
	d *draft
	// gone are lists and manifests that a dry run has let go before.
	gone map[string]bool
	dirs map[string]string // of partitions, by their rows
	// lists are those read before that are asked for once more.
	lists map[string][]manifest.FileMeta
}

// fetch reads a list of something that goes. One that is gone or damaged, as after an
// expiry of Java's that was killed, has no manifests; ok is false then.
func (g *drafting) fetch(ctx context.Context, name string, size *int64) (metas []manifest.FileMeta, ok bool, err error) {
	if name == "" || g.gone[name] {
		return nil, false, nil
	}
	metas, err = g.cfg.Manifests.ReadList(ctx, name, size)
	if lost(err) {
		return nil, false, nil
	}
	return metas, err == nil, err
}

// readList is fetch for a list that is asked for twice.
func (g *drafting) readList(ctx context.Context, name string, size *int64) ([]manifest.FileMeta, bool, error) {
	if metas, read := g.lists[name]; read {
		delete(g.lists, name)
		return metas, true, nil
	}
	metas, ok, err := g.fetch(ctx, name, size)
	if ok {
		g.lists[name] = metas
	}
	return metas, ok, err
}

// lost tells errors of files that are gone or damaged from those of the storage.
func lost(err error) bool {
	return err != nil && (tarnerr.KindOf(err) == tarnerr.NotFound || tarnerr.KindOf(err) == tarnerr.Corrupt)
}

// removed drafts the data files that a list removes. A file that it adds again has
// only moved to another level. When a manifest cannot be read, nobody knows which,
// and none is drafted.
func (g *drafting) removed(ctx context.Context, metas []manifest.FileMeta, spare func(*datafile.Meta) bool) error {
	dead := map[key]DataFile{}
	for entries, err := range g.cfg.Manifests.ReadManifests(ctx, metas, manifest.EntryFilter{WithoutStats: true}) {
		if lost(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			k := keyOf(e)
			if e.Kind == manifest.Add {
				delete(dead, k)
				delete(g.d.data, k)
				continue
			}
			if spare != nil && spare(e.File) {
				continue
			}
			if dead[k], err = g.dataFile(e, e.File.ExtraFiles); err != nil {
				return err
			}
		}
	}
	for k, f := range dead {
		g.d.put(k, f)
	}
	return nil
}

// added drafts the changelog files that a list adds. Their side files stay, as in Java.
func (g *drafting) added(ctx context.Context, name string, size *int64) error {
	metas, ok, err := g.readList(ctx, name, size)
	if err != nil || !ok {
		return err
	}
	filter := manifest.EntryFilter{WithoutStats: true, Kind: func(k manifest.Kind) bool { return k == manifest.Add }}
	for _, m := range metas {
		entries, err := g.cfg.Manifests.ReadManifest(ctx, m, filter)
		if lost(err) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range entries {
			f, err := g.dataFile(&entries[i], nil)
			if err != nil {
				return err
			}
			g.d.put(keyOf(&entries[i]), f)
		}
	}
	return nil
}

// dataFile says where a data file and its side files lie. One on another storage
// keeps its URI, by which it is known to be out of reach.
func (g *drafting) dataFile(e *manifest.Entry, extra []string) (DataFile, error) {
	dir, ok := g.dirs[string(e.Partition)]
	if !ok {
		var err error
		if dir, err = g.cfg.Partitions.Path(e.Partition); err != nil {
			return DataFile{}, err
		}
		g.dirs[string(e.Partition)] = dir
	}
	f := DataFile{Partition: slices.Clone([]byte(e.Partition)), Bucket: e.Bucket, Name: e.File.FileName, Bytes: e.File.FileSize}
	if len(e.Partition) == 0 {
		f.Partition = nil
	}
	var err error
	if f.Path, err = run.Path(g.cfg.FileIO, g.cfg.Place.BucketDir(dir, e.Bucket), e.File); err != nil {
		if tarnerr.KindOf(err) != tarnerr.Unsupported || e.File.ExternalPath == nil {
			return DataFile{}, err
		}
		f.Path = *e.File.ExternalPath
	}
	for _, name := range extra {
		f.Extra = append(f.Extra, path.Dir(f.Path)+"/"+name)
	}
	return f, nil
}

// list drafts a list and its manifests.
func (g *drafting) list(ctx context.Context, name string, size *int64) error {
	metas, ok, err := g.readList(ctx, name, size)
	if err != nil {
		return err
	}
	return g.listed(ctx, name, metas, ok)
}

// listed drafts a list that was read, or that is damaged.
func (g *drafting) listed(ctx context.Context, name string, metas []manifest.FileMeta, ok bool) error {
	if name == "" || g.gone[name] {
		return nil
	}
	if !ok {
		exists, err := fileio.Exists(ctx, g.cfg.FileIO, g.cfg.Place.ManifestFile(name))
		if err != nil || !exists {
			return err
		}
	}
	for _, m := range metas {
		if !g.gone[m.FileName] {
			g.d.manifests[m.FileName] = true
		}
	}
	g.d.lists[name] = true
	return nil
}

// sides drafts the index files, index manifest and statistics of a snapshot. seen are
// the index manifests read before: most snapshots share theirs.
func (g *drafting) sides(ctx context.Context, s *snapshot.Snapshot, seen map[string]bool) error {
	if s.Statistics != nil {
		g.d.statistics[*s.Statistics] = true
	}
	if s.IndexManifest == nil || seen[*s.IndexManifest] || g.gone[*s.IndexManifest] {
		return nil
	}
	seen[*s.IndexManifest] = true
	entries, err := g.cfg.Manifests.ReadIndex(ctx, *s.IndexManifest)
	if lost(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if g.d.index[e.FileName], err = g.indexFile(&e); err != nil {
			return err
		}
	}
	g.d.manifests[*s.IndexManifest] = true
	return nil
}

// indexFile is where an index file lies, its URI when that is out of reach.
func (g *drafting) indexFile(e *manifest.IndexEntry) (string, error) {
	dir := g.cfg.Place.IndexDir()
	if g.cfg.IndexBesideData {
		partition, err := g.cfg.Partitions.Path(e.Partition)
		if err != nil {
			return "", err
		}
		dir = g.cfg.Place.BucketDir(partition, e.Bucket)
	}
	p, err := run.Path(g.cfg.FileIO, dir, &datafile.Meta{FileName: e.FileName, ExternalPath: e.ExternalPath})
	if err != nil && tarnerr.KindOf(err) == tarnerr.Unsupported {
		return *e.ExternalPath, nil
	}
	return p, err
}

// partitionsOf are the partitions of the data files, nil when they are many.
func (d *draft) partitionsOf() []binaryrow.Row {
	const many = 100
	seen := map[string]bool{}
	var out []binaryrow.Row
	for k := range d.data {
		if !seen[k.partition] {
			seen[k.partition] = true
			if out = append(out, binaryrow.Row(k.partition)); len(out) > many {
				return nil
			}
		}
	}
	return out
}

// directories are those that deletions may leave empty: of buckets, and the
// partitions above them, inner ones first. A file outside the table leaves none.
func directories(place layout.Table, files []DataFile) []string {
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); strings.HasPrefix(dir, place.DataRoot()+"/") && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	out := slices.Collect(maps.Keys(seen))
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), strings.Compare(a, b))
	})
	return out
}
