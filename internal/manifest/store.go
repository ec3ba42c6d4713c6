package manifest

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// DefaultTargetSize is the default of manifest.target-file-size.
const DefaultTargetSize = 8 << 20

// Config says where and how a store keeps manifests.
type Config struct {
	FileIO fileio.FileIO
	Table  layout.Table
	Names  *layout.Namer // needed for writing only
	Env    env.Env       // needed for writing only

	// Partition are the partition columns, in order: manifest lists hold statistics over them.
	Partition []types.Field

	Compression string // manifest.compression, "" = zstd
	ZstdLevel   int    // file.compression.zstd-level, 0 = 1
	TargetSize  int64  // manifest.target-file-size in bytes, 0 = DefaultTargetSize
	// Workers decode manifests side by side; 0 and 1 decode on the calling goroutine.
	Workers int
	// Lists is shared by the stores of one table in a process; nil caches nothing.
	Lists *ListCache
}

// Store reads and writes the manifests of one table. Safe for concurrent use.
type Store struct {
	cfg   Config
	codec string
	zstd  *zstd.Encoder
	// schemas are those of the containers read so far.
	schemas *ocf.Cache
	// rollEvery is after how many entries a writer looks at the size of a manifest.
	rollEvery int64
	decoded   *atomic.Int64
	// closing are the files that are being closed beside what goes on, nil = none.
	closing *errgroup.Group
}

// NewStore returns a store. Unsupported when it cannot write manifest.compression.
func NewStore(cfg Config) (*Store, error) {
	c, err := parseCompression(cfg.Compression)
	if err != nil {
		return nil, err
	}
	if cfg.ZstdLevel == 0 {
		cfg.ZstdLevel = 1
	}
	if cfg.TargetSize <= 0 {
		cfg.TargetSize = DefaultTargetSize
	}
	z, err := newZstd(cfg.ZstdLevel)
	if err != nil {
		return nil, err
	}
	return &Store{cfg: cfg, codec: c, zstd: z, schemas: newSchemaCache(), rollEvery: rollEvery, decoded: new(atomic.Int64)}, nil
}

// Beside returns a store like s that closes its files beside what it does next:
// syncing several to the disk at once takes little longer than syncing one. None
// of them may be referred to before wait has returned without an error. With one
// worker they are closed one after the other.
func (s *Store) Beside() (beside *Store, wait func() error) {
	if s.cfg.Workers <= 1 {
		return s, func() error { return nil }
	}
	out := *s
	out.closing = new(errgroup.Group)
	return &out, out.closing.Wait
}

// ReadManifest reads the entries of a manifest that the filter takes, in order.
func (s *Store) ReadManifest(ctx context.Context, meta FileMeta, filter EntryFilter) ([]Entry, error) {
	path := s.cfg.Table.ManifestFile(meta.FileName)
	data, err := s.read(ctx, path, meta.FileSize)
	if err != nil {
		return nil, err
	}
	entries, err := s.decodeEntries(data, filter)
	if err != nil {
		return nil, tarnerr.Trace("reading manifest", err, "path", path)
	}
	return entries, nil
}

// read reads a manifest of a size, 0 = unknown.
func (s *Store) read(ctx context.Context, path string, size int64) ([]byte, error) {
	data, err := fileio.ReadFile(ctx, s.cfg.FileIO, path)
	if err != nil {
		return nil, tarnerr.Trace("reading manifest", err)
	}
	return data, tarnerr.Trace("reading manifest", checkSize(data, size), "path", path)
}

// Decoded is how many entries the store has decoded so far: what reading and
// merging manifests costs.
func (s *Store) Decoded() int64 { return s.decoded.Load() }

// checkSize compares a file's length with what the place that names it says
// (0 = nothing), which finds files that were cut at the end of a block.
func checkSize(data []byte, want int64) error {
	if want > 0 && int64(len(data)) != want {
		return tarnerr.New(tarnerr.Corrupt, "reading Avro container", "file has not the size it was written with", "bytes", len(data), "want", want)
	}
	return nil
}

func (s *Store) decodeEntries(data []byte, filter EntryFilter) ([]Entry, error) {
	f, err := openContainer(data)
	if err != nil {
		return nil, err
	}
	plan, err := ocf.Compiled(s.schemas, f.schema, newEntryPlan)
	if err != nil {
		return nil, err
	}
	d := newEntryDecoder(plan, filter)
	var out []Entry
	var scratch []byte
	c := cursor{own: filter.WithoutStats, noStats: filter.WithoutStats && filter.Keep == nil}
	for {
		block, count, more, err := f.next(scratch)
		if err != nil || !more {
			return out, err
		}
		if c.own && f.codec != ocf.CodecNull {
			scratch = block // nothing of it is kept
		}
		c.begin(block)
		s.decoded.Add(int64(count))
		if out, err = d.block(&c, count, out); err != nil {
			return nil, err
		}
	}
}

// ReadManifests reads manifests side by side and yields the entries of each, in
// the order of metas. After an error it yields no more.
func (s *Store) ReadManifests(ctx context.Context, metas []FileMeta, filter EntryFilter) iter.Seq2[[]Entry, error] {
	if s.cfg.Workers <= 1 || len(metas) < 2 {
		return func(yield func([]Entry, error) bool) {
			for _, m := range metas {
				entries, err := s.ReadManifest(ctx, m, filter)
				if !yield(entries, err) || err != nil {
					return
				}
			}
		}
	}
	return func(yield func([]Entry, error) bool) { s.readAhead(ctx, metas, filter, yield) }
}

type readResult struct {
	entries []Entry
	err     error
}

// readAhead keeps as many manifests in work as there are workers, so that a
// consumer that is slow does not make all of them pile up.
func (s *Store) readAhead(ctx context.Context, metas []FileMeta, filter EntryFilter, yield func([]Entry, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	defer g.Wait()
	defer cancel()
	results := make([]chan readResult, len(metas))
	start := func(i int) {
		results[i] = make(chan readResult, 1)
		g.Go(func() error {
			entries, err := s.ReadManifest(ctx, metas[i], filter)
			results[i] <- readResult{entries, err}
			return nil
		})
	}
	ahead := min(s.cfg.Workers, len(metas))
	for i := range ahead {
		start(i)
	}
	for i := range metas {
		r := <-results[i]
		results[i] = nil
		if next := i + ahead; next < len(metas) && r.err == nil {
			start(next)
		}
		if !yield(r.entries, r.err) || r.err != nil {
			return
		}
	}
}

// ReadAll reads the entries of all manifests, in the order of metas.
func (s *Store) ReadAll(ctx context.Context, metas []FileMeta, filter EntryFilter) ([]Entry, error) {
	var out []Entry
	for entries, err := range s.ReadManifests(ctx, metas, filter) {
		if err != nil {
			return nil, err
		}
		out = append(out, entries...)
	}
	return out, nil
}

// ReadList reads a manifest list. Size is its size in bytes as the snapshot has
// it, nil when it has none. The result may be shared: it must not be changed.
func (s *Store) ReadList(ctx context.Context, name string, size *int64) ([]FileMeta, error) {
	if metas, ok := s.cfg.Lists.get(name); ok {
		return metas, nil
	}
	path := s.cfg.Table.ManifestFile(name)
	data, err := fileio.ReadFile(ctx, s.cfg.FileIO, path)
	if err != nil {
		return nil, tarnerr.Trace("reading manifest list", err)
	}
	if size != nil {
		if err := checkSize(data, *size); err != nil {
			return nil, tarnerr.Trace("reading manifest list", err, "path", path)
		}
	}
	metas, err := decodeList(s.schemas, data)
	if err != nil {
		return nil, tarnerr.Trace("reading manifest list", err, "path", path)
	}
	s.cfg.Lists.put(name, metas)
	return metas, nil
}

// ReadIndex reads an index manifest.
func (s *Store) ReadIndex(ctx context.Context, name string) ([]IndexEntry, error) {
	path := s.cfg.Table.ManifestFile(name)
	data, err := fileio.ReadFile(ctx, s.cfg.FileIO, path)
	if err != nil {
		return nil, tarnerr.Trace("reading index manifest", err)
	}
	entries, err := decodeIndex(s.schemas, data)
	return entries, tarnerr.Trace("reading index manifest", err, "path", path)
}

// marker draws the sync marker of a new container.
func (s *Store) marker() ([ocf.MarkerSize]byte, error) {
	id, err := uuid.Parse(s.cfg.Env.UUID())
	if err != nil {
		return [ocf.MarkerSize]byte{}, tarnerr.Wrap(tarnerr.Internal, "drawing sync marker", err)
	}
	return id, nil
}
