package plan

import (
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/bucket"
	"github.com/tarnlake/tarn/types"
)

// maxBucketKeys is up to how many bucket keys a predicate may name to be used.
const maxBucketKeys = 1000

// bucketFilter leaves out buckets that the rows asked for do not hash to. An
// entry is judged by its own bucket count: changing the table's rewrites nothing.
type bucketFilter struct {
	function string
	fields   []types.Field
	values   [][]types.Value // per field

	mu   sync.Mutex
	sets map[int32]map[int32]bool // by bucket count; nil: cannot tell
}

// newBucketFilter returns nil when the predicate does not limit every bucket
// key to few values, and for a hash this version does not know.
func newBucketFilter(where *expr.Bound, function string, fields []types.Field) *bucketFilter {
	if where == nil || len(fields) == 0 || function == bucket.Hive {
		return nil
	}
	f := &bucketFilter{function: function, fields: fields, sets: map[int32]map[int32]bool{}}
	keys := 1
	for _, k := range fields {
		vs, ok := where.Points(k.Name)
		if !ok {
			return nil
		}
		if vs, ok = spellings(vs); !ok {
			return nil
		}
		f.values = append(f.values, vs)
		if keys *= len(vs); keys > maxBucketKeys {
			return nil
		}
	}
	return f
}

// spellings adds what compares equal and hashes otherwise: both zeroes of a
// float. The many forms of NaN cannot be listed.
func spellings(vs []types.Value) ([]types.Value, bool) {
	out := slices.Clone(vs)
	for _, v := range vs {
		switch x := v.(type) {
		case float32:
			if x != x {
				return nil, false
			}
			if x == 0 {
				out = append(out, float32(0), float32(math.Copysign(0, -1)))
			}
		case float64:
			if x != x {
				return nil, false
			}
			if x == 0 {
				out = append(out, 0.0, math.Copysign(0, -1))
			}
		}
	}
	return out, true
}

// keep reports whether a bucket of total ones can hold rows asked for.
func (f *bucketFilter) keep(number, total int32) bool {
	if f == nil || total <= 0 || number < 0 {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	set, ok := f.sets[total]
	if !ok {
		// A value that cannot be hashed prunes nothing; the residual filter judges it.
		if s, err := f.buckets(int(total)); err == nil {
			set = s
		}
		f.sets[total] = set
	}
	return set == nil || set[number]
}

// buckets hashes every combination of the values.
func (f *bucketFilter) buckets(total int) (map[int32]bool, error) {
	a, err := bucket.New(f.function, f.fields, total)
	if err != nil {
		return nil, err
	}
	schema, err := types.ArrowSchema(f.fields)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	pick := make([]int, len(f.fields))
	for _, vs := range f.values {
		if len(vs) == 0 {
			return map[int32]bool{}, nil // no row can match
		}
	}
	for {
		for i, p := range pick {
			if err := types.AppendValue(b.Field(i), f.fields[i].Type, f.values[i][p]); err != nil {
				return nil, err
			}
		}
		i := 0
		for ; i < len(pick); i++ {
			if pick[i]++; pick[i] < len(f.values[i]) {
				break
			}
			pick[i] = 0
		}
		if i == len(pick) {
			break
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	numbers, err := a.Assign(rec, nil)
	if err != nil {
		return nil, err
	}
	out := map[int32]bool{}
	for _, n := range numbers {
		out[n] = true
	}
	return out, nil
}
