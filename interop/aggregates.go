package interop

import "context"

// Folded is what Java's aggregate function made of one group of values.
type Folded struct {
	Value string `json:"value"` // canonical JSON
	Error string `json:"error"` // why there is none
}

// Aggregate folds groups of {op, value}, in canonical JSON, by one of Java's aggregate
// functions: op is "+" add, "~" add late in a sequence group, "-" retract, "=" set.
// Options are those of a table with one column named v.
func (j *Judge) Aggregate(ctx context.Context, function, columnType string, options map[string]string, groups any) ([]Folded, error) {
	request := struct {
		Cmd      string            `json:"cmd"`
		Function string            `json:"function"`
		Type     string            `json:"type"`
		Options  map[string]string `json:"options,omitempty"`
		Groups   any               `json:"groups"`
	}{"aggregate", function, columnType, options, groups}
	var reply struct {
		Groups []Folded `json:"groups"`
	}
	err := j.ask(ctx, "aggregate", request, &reply)
	return reply.Groups, err
}

// Sketch says what Java puts into a set or sketch: numbers from From on, Step apart.
type Sketch struct {
	Kind      string `json:"kind"` // the aggregate function that takes it
	From      int64  `json:"from"`
	Step      int64  `json:"step"`
	Count     int    `json:"count"`
	LgK       int    `json:"lgK,omitempty"`  // 0 for 12
	Packing   string `json:"pack,omitempty"` // HLL_4, HLL_6 or HLL_8
	Updatable bool   `json:"-"`              // in the form that Java goes on updating
	Unordered bool   `json:"-"`
}

// Sketch is the bytes of a set or sketch, in hex.
func (j *Judge) Sketch(ctx context.Context, s Sketch) (string, error) {
	request := struct {
		Cmd string `json:"cmd"`
		Sketch
		Compact bool `json:"compact"`
		Ordered bool `json:"ordered"`
	}{"sketch", s, !s.Updatable, !s.Unordered}
	var reply struct {
		Bytes string `json:"bytes"`
	}
	err := j.ask(ctx, "sketch", request, &reply)
	return reply.Bytes, err
}

// Estimate is how many numbers Java takes a sketch, in hex, to hold.
func (j *Judge) Estimate(ctx context.Context, kind, sketch string) (float64, error) {
	request := struct {
		Cmd   string `json:"cmd"`
		Kind  string `json:"kind"`
		Bytes string `json:"bytes"`
	}{"estimate", kind, sketch}
	var reply struct {
		Estimate float64 `json:"estimate"`
	}
	err := j.ask(ctx, "estimate", request, &reply)
	return reply.Estimate, err
}
