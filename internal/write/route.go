package write

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/tarnerr"
)

// group is one bucket of one partition as far as this writer writes to it.
type group struct {
	partition binaryrow.Row
	bucket    int32
	spec      string // k=v/k=v, for events and errors
	dir       string

	sequence  int64 // number of the next row, once restored
	restored  bool
	files     []*datafile.Meta   // flushed, not yet prepared
	changelog []*datafile.Meta   // as files
	open      *run.RollingWriter // of append tables, between flushes
	tree      *tree              // where the writer compacts, once restored
	owes      bool               // flushed to since its last full compaction that was kept
	replant   bool               // the tree was given up with work left
}

// partition is one partition this writer writes to.
type partition struct {
	row     binaryrow.Row
	spec    string
	buckets []uint32 // group number + 1 by bucket, 0 = none yet
}

// router finds the partition and bucket of each row. Not safe for concurrent use.
type router struct {
	columns []int // of the partition, none in unpartitioned tables
	rows    *binaryrow.Encoder
	buckets *bucket.Assigner // nil: all rows go to bucket 0
	total   int32            // buckets of a partition; −1 when they are unaware
	place   layout.Table
	names   *layout.Partitioner

	known  map[string]*partition
	groups []*group
	// scratch
	row     []byte
	numbers []int32
}

func newRouter(columns []int, b *bucket.Assigner, total int32, place layout.Table, names *layout.Partitioner) *router {
	return &router{
		columns: columns, rows: binaryrow.NewEncoder(names.Fields()), buckets: b, total: total, place: place, names: names,
		known: map[string]*partition{},
	}
}

// route appends the group number of each row to dst.
func (r *router) route(rec arrow.RecordBatch, dst []uint32) ([]uint32, error) {
	n := int(rec.NumRows())
	r.numbers = r.numbers[:0]
	if r.buckets != nil {
		var err error
		if r.numbers, err = r.buckets.Assign(rec, r.numbers); err != nil {
			return nil, tarnerr.Trace("choosing buckets", err)
		}
	}
	if len(r.columns) > 0 {
		if err := r.rows.Bind(rec, r.columns); err != nil {
			return nil, tarnerr.Trace("reading partitions", err)
		}
	}
	var current *partition
	for i := range n {
		if len(r.columns) > 0 || current == nil {
			p, err := r.partitionOf(current, i)
			if err != nil {
				return nil, tarnerr.Trace("reading partitions", err, "row", i)
			}
			current = p
		}
		number := int32(0)
		if r.buckets != nil {
			number = r.numbers[i]
		}
		g := current.buckets[number]
		if g == 0 {
			g = r.add(current, number)
		}
		dst = append(dst, g-1)
	}
	return dst, nil
}

// partitionOf finds the partition of row i; last is that of the row before.
func (r *router) partitionOf(last *partition, i int) (*partition, error) {
	if len(r.columns) == 0 {
		r.row = append(r.row[:0], binaryrow.Empty...)
	} else {
		r.row = r.rows.AppendRow(r.row[:0], i)
	}
	if last != nil && bytes.Equal(last.row, r.row) {
		return last, nil
	}
	return r.partition(r.row)
}

// partition is that of a row of partition columns, which is borrowed.
func (r *router) partition(row binaryrow.Row) (*partition, error) {
	if p := r.known[string(row)]; p != nil {
		return p, nil
	}
	row = bytes.Clone(row)
	spec, err := r.names.Path(row)
	if err != nil {
		return nil, err
	}
	p := &partition{row: row, spec: spec, buckets: make([]uint32, max(1, r.total))}
	r.known[string(row)] = p
	return p, nil
}

// group is a bucket of a partition, that may be new.
func (r *router) group(partition binaryrow.Row, number int32) (*group, error) {
	p, err := r.partition(partition)
	if err != nil {
		return nil, err
	}
	g := p.buckets[number]
	if g == 0 {
		g = r.add(p, number)
	}
	return r.groups[g-1], nil
}

func (r *router) add(p *partition, number int32) uint32 {
	r.groups = append(r.groups, &group{
		partition: p.row, bucket: number, spec: p.spec, dir: r.place.BucketDir(p.spec, number),
	})
	p.buckets[number] = uint32(len(r.groups))
	return p.buckets[number]
}
