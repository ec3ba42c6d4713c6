package metamorphic

import (
	"fmt"

	"github.com/tarnlake/tarn/schema"
)

// Pair is a table with two values of options.
type Pair struct {
	Name    string
	Spec    schema.Spec
	Refused string // part of what Tarn says when it is made, "" when it makes it
}

// Pairs are the tables of all pairs of values, those that differ from others once,
// with the first value of each other axis.
func Pairs() []Pair {
	var out []Pair
	seen := map[string]bool{}
	for _, p := range allPairs() {
		s := p.config().spec()
		if text := fmt.Sprint(s); !seen[text] {
			seen[text] = true
			out = append(out, Pair{Name: p.String(), Spec: s, Refused: refused[p]})
		}
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
