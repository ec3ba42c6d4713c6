package parquet

import (
	"bufio"
	"maps"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// shape is what files of the same columns and options have in common, with what
// encoded one of them and is free for the next: a file of a few hundred rows
// costs more to set up than to encode.
type shape struct {
	fields  []types.Field
	opts    fileformat.WriteOptions
	set     settings
	schema  []schemaElement
	columns []*column
	arrow   *arrow.Schema
	kits    sync.Pool // of *kit
}

func newShape(fields []types.Field, opts fileformat.WriteOptions) (*shape, error) {
	s := &shape{fields: slices.Clone(fields), opts: opts}
	s.opts.Options = maps.Clone(opts.Options)
	var err error
	if s.set, err = newSettings(opts); err != nil {
		return nil, err
	}
	if s.schema, s.columns, err = messageType(fields); err != nil {
		return nil, err
	}
	if s.arrow, err = types.ArrowSchema(fields); err != nil {
		return nil, err
	}
	for _, c := range s.columns {
		leaves := 0
		c.eachLeaf(func(*column) { leaves++ })
		if leaves == 0 {
			return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "a ROW without members cannot be written to Parquet", "column", c.name)
		}
	}
	if len(s.columns) == 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "writing Parquet schema", "a file without columns cannot be written to Parquet")
	}
	return s, nil
}

// fits reports that s is the shape of files of these columns and options.
func (s *shape) fits(fields []types.Field, opts *fileformat.WriteOptions) bool {
	o := &s.opts
	return o.Compression == opts.Compression && o.ZstdLevel == opts.ZstdLevel && maps.Equal(o.Options, opts.Options) &&
		slices.EqualFunc(s.fields, fields, func(a, b types.Field) bool {
			return a.ID == b.ID && a.Name == b.Name && a.Type.Equal(b.Type)
		})
}

// shapes remembers the shapes of files written lately. Safe for concurrent use.
type shapes struct {
	mu  sync.Mutex
	all []*shape // the youngest first
}

// mostShapes is how many are remembered: of a few tables and levels.
const mostShapes = 16

func (s *shapes) find(fields []types.Field, opts fileformat.WriteOptions) (*shape, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.all {
		if known.fits(fields, &opts) {
			return known, nil
		}
	}
	young, err := newShape(fields, opts)
	if err != nil {
		return nil, err
	}
	s.all = slices.Insert(s.all[:min(len(s.all), mostShapes-1)], 0, young)
	return young, nil
}

// kit is what encodes a file, and then another one of the same shape.
type kit struct {
	set     settings
	columns []*columnWriter
	chunks  []*chunkWriter // of all leaves, in file order
	out     *bufio.Writer
	thrift  thriftOut
}

// outBytes is how much is gathered before it goes to the storage.
const outBytes = 64 << 10

// take gives a kit that has written nothing.
func (s *shape) take(opts *fileformat.WriteOptions) *kit {
	k, _ := s.kits.Get().(*kit)
	if k == nil {
		k = &kit{set: s.set, out: bufio.NewWriterSize(nil, outBytes)}
		for _, c := range s.columns {
			cw := &columnWriter{column: c}
			c.eachLeaf(func(l *column) { cw.leaves = append(cw.leaves, newChunkWriter(l, &k.set)) })
			k.columns = append(k.columns, cw)
			k.chunks = append(k.chunks, cw.leaves...)
		}
	}
	k.set = s.set
	k.set.workers, k.set.hold = max(opts.Workers, 1), opts.Hold
	for _, c := range k.columns {
		c.step = firstStep
	}
	for _, c := range k.chunks {
		c.begin()
	}
	return k
}

// give keeps a kit for the next file of the shape. Nobody may use it any more.
func (s *shape) give(k *kit) {
	k.out.Reset(nil)
	for _, c := range k.columns {
		c.shred.forget()
	}
	s.kits.Put(k)
}
