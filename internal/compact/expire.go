package compact

import (
	"context"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/env"
	"github.com/tarnlake/tarn/internal/run"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// expiry says which rows are too old to be kept: compactions read them as if they
// were not there, deletes too. A row without a time never expires. Immutable.
// Source: paimon-core io/RecordLevelExpire.
type expiry struct {
	field  types.Field
	column int   // among the table's
	after  int64 // seconds
	now    func() int64
}

// newExpiry returns nil where rows do not expire.
func newExpiry(s *schema.Schema, o option.RecordExpire, e env.Env) (*expiry, error) {
	if !o.Set || !s.HasPrimaryKey() {
		return nil, nil
	}
	const op = "choosing rows that expire"
	at := s.Index(o.Field)
	if at < 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "record-level.time-field names no column", "column", o.Field).
			WithHint("Set it to a column of type INT, BIGINT or TIMESTAMP, or unset record-level.expire-time.")
	}
	switch t := s.Fields[at].Type; t.Root {
	case types.Int, types.BigInt, types.Timestamp, types.TimestampLTZ:
	default:
		return nil, tarnerr.New(tarnerr.Invalid, op, "the column of record-level.time-field must be INT, BIGINT or a timestamp", "column", o.Field, "type", t)
	}
	return &expiry{
		field: s.Fields[at], column: at, after: int64(o.After / time.Second),
		now: func() int64 { return e.Now().UnixMilli() / 1000 },
	}, nil
}

// fromMillis is from which number on a BIGINT counts milliseconds, not seconds.
const fromMillis = 1_000_000_000_000

func secondsOf(n int64) int64 {
	if n >= fromMillis {
		return n / 1000
	}
	return n
}

// seconds is a time of the column as Java has it: parts of a second are cut off
// towards 1970.
func (x *expiry) seconds(v types.Value) (int64, bool) {
	switch v := v.(type) {
	case types.Instant:
		return v.Millis / 1000, true
	case int64:
		if x.field.Type.Root == types.BigInt {
			v = secondsOf(v)
		}
		return v, true
	}
	return 0, false
}

// oldest reports that a file holds rows that have expired, as far as its statistics
// tell; written is the schema it was written under.
func (x *expiry) oldest(f *datafile.Meta, written *schema.Schema) bool {
	at := slices.IndexFunc(written.Fields, func(w types.Field) bool { return w.ID == x.field.ID })
	if at < 0 {
		return false
	}
	field := written.Fields[at]
	if f.ValueStatsCols != nil {
		at = slices.Index(f.ValueStatsCols, field.Name)
	}
	if min := f.ValueStats.Min; at < 0 || at >= min.Arity() || min.Check(-1) != nil {
		return false
	}
	v, err := f.ValueStats.Min.Value(at, field.Type.WithNull(true))
	if err == nil && v != nil && !field.Type.EqualIgnoringNull(x.field.Type) {
		var rule *cast.Cast
		if rule, err = cast.New(field.Type, x.field.Type); err == nil {
			v, err = rule.Value(v)
		}
	}
	if err != nil {
		return false
	}
	n, ok := x.seconds(v)
	return ok && x.now()-x.after > n
}

// expiring leaves out the rows of a file that have expired.
type expiring struct {
	batch.Reader
	x    *expiry
	mem  memory.Allocator
	now  int64
	keep []bool
	out  arrow.RecordBatch
}

func (x *expiry) wrap(in batch.Reader, mem memory.Allocator) batch.Reader {
	return &expiring{Reader: in, x: x, mem: mem, now: x.now()}
}

func (r *expiring) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	for {
		rec, err := r.Reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		if !r.mark(rec.Column(r.x.column)) {
			return rec, nil
		}
		if r.out, err = batch.Filter(r.mem, rec, r.keep); err != nil {
			return nil, err
		}
		if r.out != nil {
			return r.out, nil
		}
	}
}

// mark sets keep by the times of a batch. It reports rows that have expired.
func (r *expiring) mark(times arrow.Array) (some bool) {
	n := times.Len()
	r.keep = slices.Grow(r.keep[:0], n)[:n]
	for i := range n {
		var seconds int64
		known := times.IsValid(i)
		switch a := times.(type) {
		case *array.Int32:
			if known {
				seconds = int64(a.Value(i))
			}
		case *array.Int64:
			if known {
				seconds = secondsOf(a.Value(i))
			}
		default:
			seconds, known = r.x.seconds(types.ValueAt(r.x.field.Type, times, i))
		}
		r.keep[i] = !known || r.now <= seconds+r.x.after
		some = some || !r.keep[i]
	}
	return some
}

func (r *expiring) drop() {
	if r.out != nil {
		r.out.Release()
		r.out = nil
	}
}

func (r *expiring) Close() error {
	r.drop()
	return r.Reader.Close()
}

// MustRewrite says which of some files no compaction leaves as they are.
func (r *Rewriter) MustRewrite(ctx context.Context, files []*datafile.Meta) (func(*datafile.Meta) bool, error) {
	if all := r.cfg.Options.Compaction.ForceRewriteAll; all || r.expiry == nil {
		return func(*datafile.Meta) bool { return all }, nil
	}
	written := map[int64]*schema.Schema{r.cfg.Schema.ID: r.cfg.Schema}
	for _, f := range files {
		if written[f.SchemaID] == nil {
			s, err := r.cfg.SchemaByID(ctx, f.SchemaID)
			if err != nil {
				return nil, tarnerr.Trace("choosing files with expired rows", err, "file", f.FileName)
			}
			written[f.SchemaID] = s
		}
	}
	return func(f *datafile.Meta) bool { return r.expiry.oldest(f, written[f.SchemaID]) }, nil
}

// open reads the rows of a file that have not expired.
func (r *Rewriter) open(ctx context.Context, dir string, f *datafile.Meta, req run.Request) (batch.Reader, error) {
	in, err := r.source.Open(ctx, dir, f, req)
	if err != nil || r.expiry == nil {
		return in, err
	}
	return r.expiry.wrap(in, req.Mem), nil
}

// live marks the rows of a batch that have not expired; nil: none has.
func (x *expiry) live(rec arrow.RecordBatch) []bool {
	r := &expiring{x: x, now: x.now()}
	if !r.mark(rec.Column(x.column)) {
		return nil
	}
	return r.keep
}
