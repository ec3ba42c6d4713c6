package systable

import (
	"strings"

	"github.com/tarnlake/tarn/expr"
	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/layout"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/types"
)

// naming is how a system table shows partitions in its column "partition".
type naming struct {
	show   func(partition binaryrow.Row) (types.Value, error)
	before func(i int) string // what stands before the value of column i
	end    string
	null   string // how null is shown, and texts that read so
	blank  bool   // blank texts are shown as null is
}

// braces shows partitions as $files does: {1, a, null}.
func (c *Config) braces() naming {
	return naming{show: c.partitionText, end: "}", null: "null", before: func(i int) string {
		if i == 0 {
			return "{"
		}
		return ", "
	}}
}

// paths shows partitions as $partitions does: a=1/b=x, null by its name.
func (c *Config) paths() naming {
	keys, null := c.Schema.PartitionKeys, c.Options.PartitionDefault
	if null == "" {
		null = layout.DefaultPartitionName
	}
	parts := layout.NewPartitioner(c.Schema.Select(keys), null, false)
	return naming{
		show: func(partition binaryrow.Row) (types.Value, error) {
			values, err := parts.Values(partition)
			if err != nil {
				return nil, err
			}
			texts := make([]string, len(values))
			for i, v := range values {
				texts[i] = v.Name + "=" + v.Value
			}
			return strings.Join(texts, "/"), nil
		},
		before: func(i int) string {
			if i == 0 {
				return keys[0] + "="
			}
			return "/" + keys[i] + "="
		},
		null: null, blank: true,
	}
}

// narrowed is a request for the files that rows where req.Where is true can be
// about. What it says of partitions, buckets and levels is judged exactly; what of
// partitions is a list of texts leaves manifests out, too.
func narrowed(cfg *Config, req Request, n naming) plan.Request {
	out := plan.Request{SnapshotID: req.SnapshotID, Level: anyLevel, Where: n.partitions(cfg, req.Where)}
	if p := about(req.Where, "partition"); p != nil {
		out.Partition = func(partition binaryrow.Row) bool {
			text, err := n.show(partition)
			// One that cannot be shown is left to who wants to show it.
			return err != nil || p.Match(func(string) types.Value { return text })
		}
	}
	if b := about(req.Where, "bucket"); b != nil {
		out.Bucket = takes(b)
	}
	if l := about(req.Where, "level"); l != nil {
		out.Level = takes(l)
	}
	return out
}

// about is what a predicate says of one column, nil for nothing.
func about(where *expr.Bound, column string) *expr.Bound {
	return where.Project(func(c string) bool { return c == column })
}

func takes(b *expr.Bound) func(int32) bool {
	return func(v int32) bool { return b.Match(func(string) types.Value { return int64(v) }) }
}

// partitions is a predicate over the partition columns that holds for all
// partitions whose texts where asks for; nil when it does not list them.
func (n naming) partitions(cfg *Config, where *expr.Bound) *expr.Bound {
	fields := cfg.Schema.Select(cfg.Schema.PartitionKeys)
	texts, ok := where.Points("partition")
	if !ok || len(fields) == 0 {
		return nil
	}
	places := expr.Or{}
	for _, t := range texts {
		parts, known := n.split(t.(string), len(fields))
		switch {
		case !known:
			return nil
		case parts == nil:
			continue
		}
		all := expr.And{}
		for i, p := range parts {
			if e := n.value(fields[i], p); e != nil {
				all = append(all, e)
			}
		}
		places = append(places, all)
	}
	bound, err := expr.Bind(places, cfg.Schema.Fields)
	if err != nil {
		return nil
	}
	return bound
}

// split takes a text apart into those of the columns: none when no partition is
// shown so, and known is false where values could be cut in several ways.
func (n naming) split(text string, columns int) (parts []string, known bool) {
	rest, ok := strings.CutPrefix(text, n.before(0))
	if ok {
		rest, ok = strings.CutSuffix(rest, n.end)
	}
	if !ok {
		return nil, true
	}
	used := map[string]int{}
	for i := 1; i < columns; i++ {
		used[n.before(i)]++
	}
	for between, times := range used {
		if occurrences(rest, between) > times {
			return nil, false
		}
	}
	for i := 1; i < columns; i++ {
		part, after, ok := strings.Cut(rest, n.before(i))
		if !ok {
			return nil, true
		}
		parts, rest = append(parts, part), after
	}
	return append(parts, rest), true
}

// occurrences counts where part begins in s, in another one too.
func occurrences(s, part string) (n int) {
	for i := range s {
		if strings.HasPrefix(s[i:], part) {
			n++
		}
	}
	return n
}

// value is what a column must be to be shown as text, nil where that is not known.
func (n naming) value(f types.Field, text string) expr.Expr {
	if text == n.null && n.blank {
		return nil
	}
	e := expr.Or{}
	switch f.Type.Root {
	case types.Char, types.VarChar:
		e = append(e, expr.Compare{Column: f.Name, Op: expr.Eq, Value: text})
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Decimal, types.Date:
		// Each value has one text, which gives it back.
		v, err := types.ParseValue(f.Type, text)
		switch {
		case err == nil:
			e = append(e, expr.Compare{Column: f.Name, Op: expr.Eq, Value: v})
		case text != n.null:
			return nil
		}
	default:
		return nil
	}
	if text == n.null {
		e = append(e, expr.IsNull{Column: f.Name})
	}
	return e
}
