package systable

import (
	"context"
	"iter"
)

// adviceFields are the columns of $advice, which Java does not have: one row for each
// figure of the table that is beyond its limit.
var adviceFields = fieldsOf(
	column("subject", text),
	column("severity", text),
	column("rule", text),
	column("place", text),
	column("figure", bigint),
	column("figure_limit", bigint),
	column("unit", text),
	column("text", text),
	column("remedy", text),
)

func adviceRows(ctx context.Context, cfg *Config, _ Request) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		if cfg.Advise == nil {
			return
		}
		found, err := cfg.Advise(ctx)
		for _, a := range found {
			if !yield(row{a.Subject, a.Severity, a.Rule, a.Where, a.Figure, a.Limit, a.Unit, a.Text, a.Remedy}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
