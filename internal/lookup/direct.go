package lookup

import (
	"context"
	"io"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/types"
)

const (
	// inMost is up to how many keys a file is asked for by value; more are looked for
	// in one walk over the file that goes on with the next Get.
	inMost = 512
	// directRows are the rows of a batch read of a data file.
	directRows = 16 << 10
	// idleMost is how many batches without a key a walk passes over before it looks
	// for a shorter way.
	idleMost = 2
)

// cursor walks a data file in the order of its keys.
type cursor struct {
	in    batch.Reader
	rec   arrow.RecordBatch // borrowed of in; nil: the next one is to be read
	keys  *merge.Keys
	row   int
	ended bool
	idle  int  // batches read one after the other that had no key
	seeks bool // opening the file anew may pass over rows
	fresh bool // opened, no key was met since
}

func (c *cursor) close() error {
	c.rec = nil
	if c.in == nil {
		return nil
	}
	err := c.in.Close()
	c.in = nil
	return err
}

// direct finds keys in a data file.
func (b *Bucket) direct(ctx context.Context, q *query, in []int, f *file) error {
	if f.cursor == nil && len(in) <= inMost {
		where, err := b.oneOf(q, in)
		if err != nil {
			return err
		}
		c := &cursor{}
		if err = b.open(ctx, c, f, where); err != nil {
			return err
		}
		err = b.walk(ctx, q, in, f, c)
		if e := c.close(); err == nil {
			err = e
		}
		return err
	}
	if f.cursor == nil {
		f.cursor = &cursor{seeks: true, fresh: true}
		if err := b.seek(ctx, q, in[0], f, f.cursor); err != nil {
			return err
		}
	}
	return b.walk(ctx, q, in, f, f.cursor)
}

// seek opens a file for a walk from a key on.
func (b *Bucket) seek(ctx context.Context, q *query, key int, f *file, c *cursor) error {
	if err := c.close(); err != nil {
		return err
	}
	where, err := b.from(q, key)
	if err != nil {
		return err
	}
	return b.open(ctx, c, f, where)
}

func (b *Bucket) open(ctx context.Context, c *cursor, f *file, where *expr.Bound) (err error) {
	c.in, err = b.source.Open(ctx, b.dir, f.meta, run.Request{
		Columns: b.r.cfg.Columns, Where: where, BatchRows: directRows, Workers: 1, Mem: batch.Recycled(b.r.cfg.Mem),
	})
	return err
}

// bounded reports that values of the first column of the key can be asked for. The
// two zeroes of a float are one key and two values.
func (b *Bucket) bounded() bool {
	switch b.r.keyTypes[0].Root {
	case types.Float, types.Double, types.Boolean:
		return false
	}
	return true
}

// oneOf leaves out what cannot be one of the keys, by their first column.
func (b *Bucket) oneOf(q *query, in []int) (*expr.Bound, error) {
	if !b.bounded() {
		return nil, nil
	}
	e := expr.In{Column: b.r.cfg.Key[0].Name}
	for _, i := range in {
		e.Values = append(e.Values, q.value(i, 0))
	}
	return expr.Bind(e, b.source.Table.Fields)
}

// from leaves out what comes before a key or behind the last one there can be.
func (b *Bucket) from(q *query, key int) (*expr.Bound, error) {
	if !b.bounded() {
		return nil, nil
	}
	column := b.r.cfg.Key[0].Name
	e := expr.And{expr.Compare{Column: column, Op: expr.Ge, Value: q.value(key, 0)}}
	if b.last != nil {
		values, err := binaryrow.Decode(b.last, b.r.keyTypes)
		if err != nil {
			return nil, err
		}
		e = append(e, expr.Compare{Column: column, Op: expr.Le, Value: values[0]})
	}
	return expr.Bind(e, b.source.Table.Fields)
}

// walk goes over a file and the keys side by side.
func (b *Bucket) walk(ctx context.Context, q *query, in []int, f *file, c *cursor) error {
	for at := 0; at < len(in) && !c.ended; {
		if c.rec == nil {
			if c.idle >= idleMost && c.seeks {
				// The file was opened anew for nothing before: it cannot be entered amidst.
				c.seeks, c.idle = !c.fresh, 0
				if c.seeks {
					if err := b.seek(ctx, q, in[at], f, c); err != nil {
						return err
					}
					c.fresh = true
				}
			}
			rec, err := c.in.Next(ctx)
			if err == io.EOF {
				c.ended = true
				return c.close()
			}
			if err != nil {
				return err
			}
			if c.keys, err = b.r.rows.Load(rec); err != nil {
				return err
			}
			c.rec, c.row = rec, 0
			c.idle++
		}
		var err error
		if at, err = b.match(q, in, at, c); err != nil {
			return err
		}
	}
	return nil
}

// match goes over the batch that a cursor stands in, for the keys from in[at] on. It
// gives the first key that may lie behind it.
func (b *Bucket) match(q *query, in []int, at int, c *cursor) (int, error) {
	var refs []batch.Ref
	var hit []int
	prefixes := c.keys.Prefix()
	for n := len(prefixes); at < len(in); {
		c.row = seekRow(q, in[at], c.keys, prefixes, c.row)
		if c.row == n {
			break
		}
		if q.compare(in[at], c.keys, c.row) == 0 {
			refs, hit = append(refs, batch.NewRef(0, c.row)), append(hit, in[at])
			c.row++
		}
		c.idle, c.fresh = 0, false
		at++
	}
	rec := c.rec
	if err := q.keep([]arrow.RecordBatch{rec}, refs, hit); err != nil {
		return at, err
	}
	if c.row == len(prefixes) {
		c.rec = nil
	}
	return at, nil
}

// seekRow is the first row from row on that is not before a key: near by with few
// steps, far with few more.
func seekRow(q *query, key int, keys *merge.Keys, prefixes []uint64, row int) int {
	p, n := q.prefix(key), len(prefixes)
	before := func(i int) bool {
		if prefixes[i] != p {
			return prefixes[i] < p
		}
		return q.compare(key, keys, i) > 0
	}
	step := 1
	lo := row
	for hi := row; ; hi += step {
		if hi >= n {
			return lo + sort.Search(n-lo, func(i int) bool { return !before(lo + i) })
		}
		if !before(hi) {
			return lo + sort.Search(hi-lo, func(i int) bool { return !before(lo + i) })
		}
		lo = hi + 1
		step *= 2
	}
}
