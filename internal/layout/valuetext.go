package layout

import "github.com/tarnlake/tarn/types"

// ValueText is the text of a value that is not null, as partition paths and
// system tables show it: Java's toString of its internal form (legacy), in which
// a DATE is a number of days, or what CAST to STRING gives.
func ValueText(f types.Field, v types.Value, legacy bool) (string, error) {
	return valueText(f, v, legacy)
}
