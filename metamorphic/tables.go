package metamorphic

import "github.com/tarnlake/tarn/schema"

// Table is a table of some values of all axes.
type Table struct {
	Values  string
	Spec    schema.Spec
	Refused string // part of what Tarn says when it is made, "" when it makes it
}

// Tables are some that hold each pair of values that Tarn takes, and one for each pair
// that it refuses.
func Tables() []Table {
	var out []Table
	legal, _ := configs(100, 1)
	for _, c := range legal {
		out = append(out, Table{Values: c.String(), Spec: c.spec()})
	}
	for p, reason := range refused {
		out = append(out, Table{Values: p.String(), Spec: p.config().spec(), Refused: reason})
	}
	return out
}

// config has a pair and the first value of each other axis.
func (p pair) config() (c config) {
	for a := range axes {
		c[a] = axes[a].values[0]
	}
	for _, v := range p {
		c[v.axis] = v.name
	}
	return c
}
