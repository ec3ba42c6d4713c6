package bucket

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Values of the option bucket-function.type.
const (
	Default = "default" // hash of the bucket key's binary row
	Mod     = "mod"     // the one INT or BIGINT key itself
	Hive    = "hive"    // not supported
)

// Of is the bucket of a bucket key by the default function: |hash mod n|.
func Of(key binaryrow.Row, n int) int32 { return of(key.Hash(), n) }

// of takes the remainder as Java does, with the sign of the hash, and drops the sign.
func of(hash int32, n int) int32 {
	r := hash % int32(n)
	if r < 0 {
		return -r
	}
	return r
}

// Assigner computes the buckets of Arrow batches. Not safe for concurrent use.
type Assigner struct {
	mod  bool
	keys []types.Field
	n    int
	rows *binaryrow.Encoder
	cols []int
	key  []byte // scratch: the bucket key of one row
}

// New returns the assigner of a table with n buckets and the bucket function
// fn ("" = default). Keys are the bucket key columns in the order of the option
// bucket-key, else of the trimmed primary key.
func New(fn string, keys []types.Field, n int) (*Assigner, error) {
	const op = "choosing bucket function"
	if n < 1 || n > 1<<31-1 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "number of buckets must be at least 1", "bucket", n)
	}
	if len(keys) == 0 {
		return nil, tarnerr.New(tarnerr.Invalid, op, "no bucket key").WithHint("Set bucket-key or a primary key.")
	}
	a := &Assigner{keys: slices.Clone(keys), n: n, cols: make([]int, len(keys))}
	switch fn {
	case "", Default:
		a.rows = binaryrow.NewEncoder(a.keys)
	case Mod:
		if len(keys) != 1 || keys[0].Type.Root != types.Int && keys[0].Type.Root != types.BigInt {
			return nil, tarnerr.New(tarnerr.Invalid, op, "mod takes one bucket key of type INT or BIGINT", "keys", names(keys)).
				WithHint("Use bucket-function.type=default, or another bucket-key.")
		}
		a.mod = true
	case Hive:
		return nil, tarnerr.New(tarnerr.Unsupported, op, "the bucket function of Hive", "bucket-function.type", fn)
	default:
		return nil, tarnerr.New(tarnerr.Invalid, op, "no such bucket function", "bucket-function.type", fn).
			WithHint("Use default or mod.")
	}
	return a, nil
}

func names(fields []types.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// Buckets is the number of buckets.
func (a *Assigner) Buckets() int { return a.n }

// Assign appends to dst the bucket of every row of rec, whose key columns are
// found by name. It allocates nothing per row.
func (a *Assigner) Assign(rec arrow.RecordBatch, dst []int32) ([]int32, error) {
	for i, f := range a.keys {
		at := rec.Schema().FieldIndices(f.Name)
		if len(at) != 1 {
			return dst, tarnerr.New(tarnerr.Invalid, "assigning buckets", "batch must have the bucket key column once", "column", f.Name, "found", len(at))
		}
		a.cols[i] = at[0]
	}
	dst = slices.Grow(dst, int(rec.NumRows()))
	if a.mod {
		return a.assignMod(rec.Column(a.cols[0]), dst)
	}
	if err := a.rows.Bind(rec, a.cols); err != nil {
		return dst, tarnerr.Trace("assigning buckets", err)
	}
	for i := range int(rec.NumRows()) {
		a.key = a.rows.AppendRow(a.key[:0], i)
		dst = append(dst, Of(a.key, a.n))
	}
	return dst, nil
}

// OfRow is the bucket of one bucket key, for pruning. Row holds the key columns
// in their order.
func (a *Assigner) OfRow(row binaryrow.Row) (int32, error) {
	if err := row.Check(len(a.keys)); err != nil {
		return 0, tarnerr.Trace("assigning buckets", err)
	}
	if !a.mod {
		return Of(row, a.n), nil
	}
	v, err := row.Value(0, a.keys[0].Type)
	if err != nil {
		return 0, tarnerr.Trace("assigning buckets", err)
	}
	k, _ := v.(int64) // a null counts as 0
	return floorMod(k, int64(a.n)), nil
}

func floorMod(v, n int64) int32 {
	r := v % n
	if r < 0 {
		r += n
	}
	return int32(r)
}

// assignMod takes the floor modulus; a null counts as 0, which is what its slot holds.
func (a *Assigner) assignMod(col arrow.Array, dst []int32) ([]int32, error) {
	n := int64(a.n)
	var at func(i int) int64
	switch c := col.(type) {
	case *array.Int32:
		at = func(i int) int64 { return int64(c.Value(i)) }
	case *array.Int64:
		at = c.Value
	default:
		return dst, tarnerr.New(tarnerr.Invalid, "assigning buckets", "bucket key column has another Arrow type than its field",
			"column", a.keys[0].Name, "type", a.keys[0].Type, "got", col.DataType())
	}
	for i := range col.Len() {
		if col.IsNull(i) {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, floorMod(at(i), n))
	}
	return dst, nil
}
