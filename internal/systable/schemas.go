package systable

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"unicode/utf16"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

var schemaFields = fieldsOf(
	column("schema_id", bigint),
	column("fields", text),
	column("partition_keys", text),
	column("primary_keys", text),
	column("options", text),
	nullable("comment", text),
	column("update_time", timestamp),
)

var optionFields = fieldsOf(column("key", text), column("value", text))

func schemaRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		ids, err := cfg.Schemas.IDs(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			s, err := cfg.Schemas.Get(ctx, id)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(schemaRow(cfg, s), nil) {
				return
			}
		}
	}
}

func schemaRow(cfg *Config, s *schema.Schema) row {
	fields := []byte{'['}
	for i, f := range s.Fields {
		if i > 0 {
			fields = append(fields, ',')
		}
		fields = f.AppendJSON(fields)
	}
	fields = append(fields, ']')
	return row{
		s.ID, string(fields), stringList(s.PartitionKeys), stringList(s.PrimaryKeys), stringMap(s.Options),
		optional(s.Comment), cfg.wallClock(s.TimeMillis),
	}
}

func stringList(list []string) string {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = types.AppendJSONString(out, s)
	}
	return string(append(out, ']'))
}

// stringMap is a map as flat JSON in Java's order.
func stringMap(m map[string]string) string {
	out := []byte{'{'}
	for i, k := range hashOrder(m) {
		if i > 0 {
			out = append(out, ',')
		}
		out = types.AppendJSONString(out, k)
		out = append(out, ':')
		out = types.AppendJSONString(out, m[k])
	}
	return string(append(out, '}'))
}

// hashOrder is the order in which a java.util.HashMap filled entry by entry
// iterates. Keys that share a bin come by name.
func hashOrder(m map[string]string) []string {
	capacity := uint32(16)
	for len(m) > int(capacity)*3/4 {
		capacity *= 2
	}
	bin := func(key string) uint32 {
		var h uint32 // String.hashCode
		for _, u := range utf16.Encode([]rune(key)) {
			h = 31*h + uint32(u)
		}
		return (h ^ h>>16) & (capacity - 1)
	}
	keys := keysOf(m)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(bin(a), bin(b)) })
	return keys
}

func keysOf(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// optionRows are the options of the latest schema, by name.
func optionRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		s, err := cfg.Schemas.Latest(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, k := range keysOf(s.Options) {
			if !yield(row{k, s.Options[k]}, nil) {
				return
			}
		}
	}
}
