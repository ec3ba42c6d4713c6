package merge

import (
	"cmp"
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// leaf is one sorted run under the tree, standing on one of its rows.
type leaf struct {
	reader batch.Reader
	level  int32             // of the batch, where the merge asks for it
	rank   int               // its age among the runs, where these are ranked
	rec    arrow.RecordBatch // borrowed until the next batch
	source int               // its number among the sources of the output, -1 none yet
	row    int
	head   uint64 // prefix of the row
	done   bool

	keys keys
	last uint64 // prefix of the last row of the batch before
	any  bool   // there was a batch before
	user []column
	seq  []int64 // nil where runs are ranked
	kind []int8
}

func (l *leaf) rows() int { return len(l.keys.prefix) }

// skip moves n rows on, at most to the end of the batch, and from there to the
// first row of the next one.
func (l *leaf) skip(ctx context.Context, cfg *Config, n int) error {
	if l.row += n; l.row < l.rows() {
		l.head = l.keys.prefix[l.row]
		return nil
	}
	return l.load(ctx, cfg)
}

// load reads the next batch.
func (l *leaf) load(ctx context.Context, cfg *Config) error {
	if l.rec != nil {
		l.last, l.any = l.keys.prefix[l.rows()-1], true
	}
	l.rec, l.source = nil, -1
	rec, err := l.reader.Next(ctx)
	if err == io.EOF {
		l.done = true
		return l.reader.Close()
	}
	if err != nil {
		return err
	}
	if err := l.system(rec, cfg); err != nil {
		return err
	}
	if err := l.keys.load(cfg.Keys, rec); err != nil {
		return err
	}
	if l.user == nil && len(cfg.Sequence) > 0 {
		l.user = make([]column, len(cfg.Sequence))
	}
	for i, c := range cfg.Sequence {
		if err := l.user[i].load(rec.Column(c.Index)); err != nil {
			return err
		}
	}
	// A run out of order would lose rows silently. The prefix sees most of it.
	prev := l.keys.prefix[0]
	if l.any {
		prev = l.last
	}
	for i, p := range l.keys.prefix {
		if p < prev {
			return tarnerr.New(tarnerr.Corrupt, "merging sorted runs", "keys of a run are out of order", "row", i)
		}
		prev = p
	}
	if cfg.Level != nil {
		l.level = cfg.Level(l.rank)
	}
	l.rec, l.row, l.head = rec, 0, l.keys.prefix[0]
	return nil
}

// system takes the sequence numbers and the kinds out of a batch.
func (l *leaf) system(rec arrow.RecordBatch, cfg *Config) (err error) {
	if !cfg.Ranked {
		seq, ok := rec.Column(cfg.SequenceNumber).(*array.Int64)
		if !ok || seq.NullN() > 0 {
			return tarnerr.New(tarnerr.Corrupt, "reading sorted run", "sequence numbers are missing", "column", types.SequenceNumberName)
		}
		l.seq = seq.Int64Values()
	}
	l.kind, err = kindsOf(rec, cfg.Kind)
	return err
}

func kindsOf(rec arrow.RecordBatch, column int) ([]int8, error) {
	a, ok := rec.Column(column).(*array.Int8)
	if !ok || a.NullN() > 0 {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading sorted run", "row kinds are missing", "column", types.ValueKindName)
	}
	var bad int8
	for _, k := range a.Int8Values() {
		bad |= k &^ 3
	}
	if bad != 0 {
		return nil, tarnerr.New(tarnerr.Corrupt, "reading sorted run", "no such row kind", "column", types.ValueKindName)
	}
	return a.Int8Values(), nil
}

// retracts reports a -U or -D among kinds.
func retracts(kinds []int8) bool {
	for _, k := range kinds {
		if k&1 == 1 { // -U is 1, -D is 3
			return true
		}
	}
	return false
}

// seqOrder orders rows of one key: by the sequence fields where there are any,
// then by the sequence number, which the rank stands for in ranked runs. Nulls
// come first, also in descending order.
type seqOrder struct{ descending, ranked bool }

func (c *Config) order() seqOrder { return seqOrder{c.Descending, c.Ranked} }

func (o seqOrder) compare(a, b *leaf) int {
	for k := range a.user {
		x, y := &a.user[k], &b.user[k]
		c, done := compareNulls(x, a.row, y, b.row)
		if !done {
			if c = compareValues(x, a.row, y, b.row); o.descending {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	if o.ranked {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Compare(a.seq[a.row], b.seq[b.row])
}
