package merge

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/merge/aggregate"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// Rules are what a table's schema and options say about merging its rows.
// Immutable and safe for concurrent use.
type Rules struct {
	Engine       Engine
	IgnoreDelete bool

	// removeOnDelete: a -D takes the whole row away, and its values are what a later
	// row begins with.
	removeOnDelete bool
	groups         []group // of partial-update
	columns        []rule  // of the table's fields, in their order; nil where an engine has none
	fields         []types.Field
	folds          bool // a column has a function of its own
	// foldsLone: a +I that is folded alone may come out as another row.
	foldsLone bool
}

// group is a sequence group: its fields say which row is the newer one for the
// columns that stand in it.
type group struct {
	sequence []int // columns of the table
	removes  bool  // a -D that is not old takes the whole row away
}

// rule says what a merge makes of one column.
type rule struct {
	class    class
	group    int                // of grouped classes
	nonNull  bool               // values that are null say nothing
	function aggregate.Function // nil: one of the values is chosen
}

// class is what rows say about a column, see events.
type class uint8

const (
	ofLast     class = iota // the same in all rows of a key, or from the last one
	ofRow                   // each row says something
	ofSequence              // a sequence field of a group
	ofGroup                 // a column in a sequence group
	classes
)

// NewRules reads the rules of a table, o being the typed view of its options.
// Options that contradict the columns are Invalid, as in Java. Source:
// PartialUpdateMergeFunction and AggregateMergeFunction of paimon-core,
// mergetree/compact.
func NewRules(s *schema.Schema, o *option.Options) (*Rules, error) {
	const op = "reading merge rules"
	r := &Rules{IgnoreDelete: o.IgnoreDelete, fields: s.Fields}
	var err error
	if r.Engine, err = ParseEngine(o.MergeEngine); err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	switch r.Engine {
	case PartialUpdate:
		err = r.partialUpdate(s)
	case Aggregation:
		err = r.aggregation(s, o.SequenceFields)
	}
	if err != nil {
		return nil, tarnerr.Trace(op, err)
	}
	return r, nil
}

// Functions that choose one of the values need not be called.
const lastValue, lastNonNullValue = "last_value", "last_non_null_value"

func (r *Rules) aggregation(s *schema.Schema, sequence []string) error {
	r.removeOnDelete = isTrue(s.Options["aggregation.remove-record-on-delete"])
	r.columns = make([]rule, len(s.Fields))
	for i, f := range s.Fields {
		c := &r.columns[i]
		name := functionOf(s, f.Name)
		switch {
		case slices.Contains(sequence, f.Name):
			name = lastValue
		case slices.Contains(s.PrimaryKeys, f.Name):
			c.class = ofLast
			continue
		case name == "":
			name = lastNonNullValue
		}
		c.class = ofRow
		// Whether rows are taken back is a setting of the column, also where one of its
		// values is chosen without asking a function.
		ignores := isTrue(s.Options["fields."+f.Name+".ignore-retract"])
		if !ignores && (name == lastValue || name == lastNonNullValue) {
			c.nonNull = name == lastNonNullValue
			continue
		}
		if err := r.fold(c, name, f, s.Options); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) fold(c *rule, name string, f types.Field, options map[string]string) (err error) {
	c.function, err = aggregate.New(name, f, options)
	r.folds = true
	r.foldsLone = r.foldsLone || !slices.Contains(keepLone, name)
	return err
}

// keepLone are the functions that make of one value that value.
var keepLone = []string{
	lastValue, lastNonNullValue, "first_value", "first_non_null_value", "first_not_null_value", "max", "min", "sum", "product", "bool_and", "bool_or",
}

// FoldsLone reports that a +I that is alone with its key may come out as another row
// where it is folded nevertheless, see [Config]: elements of an array are there
// twice, or the fields of a sequence group are null, so that its columns say nothing.
func (r *Rules) FoldsLone() bool { return r.foldsLone }

func (r *Rules) partialUpdate(s *schema.Schema) error {
	r.removeOnDelete = isTrue(s.Options["partial-update.remove-record-on-delete"])
	r.columns = make([]rule, len(s.Fields))
	for i := range r.columns {
		r.columns[i] = rule{class: ofRow, nonNull: true}
	}
	groups, err := sequenceGroups(s)
	if err != nil {
		return err
	}
	removing := list(s.Options["partial-update.remove-record-on-sequence-group"])
	for g, sg := range groups {
		in := group{}
		for _, name := range sg.sequence {
			i := s.Index(name)
			r.columns[i] = rule{class: ofSequence, group: g}
			in.sequence = append(in.sequence, i)
			in.removes = in.removes || slices.Contains(removing, name)
		}
		for _, name := range sg.columns {
			r.columns[s.Index(name)] = rule{class: ofGroup, group: g}
		}
		r.groups = append(r.groups, in)
		r.foldsLone = true
	}
	for i, f := range s.Fields {
		c := &r.columns[i]
		if slices.Contains(s.PrimaryKeys, f.Name) {
			*c = rule{class: ofLast}
			continue
		}
		name := functionOf(s, f.Name)
		switch {
		case name == "" || c.class == ofSequence:
		case c.class == ofGroup:
			if err := r.fold(c, name, f, s.Options); err != nil {
				return err
			}
		case name != lastNonNullValue:
			return tarnerr.New(tarnerr.Invalid, "choosing aggregate functions", "an aggregated column of partial-update must stand in a sequence group",
				"column", f.Name, "function", name).WithHint("Add fields.<sequence column>.sequence-group=%s.", f.Name)
		}
	}
	return nil
}

// namedGroup is a sequence group as an option has it.
type namedGroup struct{ sequence, columns []string }

// sequenceGroups reads the options fields.<f>,<f>….sequence-group, in the order
// of their keys.
func sequenceGroups(s *schema.Schema) ([]namedGroup, error) {
	const prefix, suffix = "fields.", ".sequence-group"
	var keys []string
	for k := range s.Options {
		if len(k) > len(prefix)+len(suffix) && strings.HasPrefix(k, prefix) && strings.HasSuffix(k, suffix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	const op = "reading sequence groups"
	taken := map[string]string{} // columns, by the option that has them
	var out []namedGroup
	for _, k := range keys {
		g := namedGroup{list(k[len(prefix) : len(k)-len(suffix)]), list(s.Options[k])}
		// A sequence field may be named among the columns of its group, too.
		g.columns = slices.DeleteFunc(g.columns, func(c string) bool { return slices.Contains(g.sequence, c) })
		for _, c := range slices.Concat(g.sequence, g.columns) {
			if s.Index(c) < 0 {
				return nil, tarnerr.New(tarnerr.Invalid, op, "a sequence group names no column", "option", k, "column", c)
			}
			if other, ok := taken[c]; ok {
				return nil, tarnerr.New(tarnerr.Invalid, op, "a column stands in several sequence groups", "option", k, "column", c, "also in", other)
			}
			taken[c] = k
		}
		out = append(out, g)
	}
	return out, nil
}

// functionOf is the aggregate function that options give a column, "" for none.
func functionOf(s *schema.Schema, column string) string {
	if name, ok := s.Options["fields."+column+".aggregate-function"]; ok {
		return name
	}
	return s.Options["fields.default-aggregate-function"]
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func isTrue(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// Needs are the columns of the table that a merge must see to give those wanted:
// these, then what it needs beside them to know how they are merged.
func (r *Rules) Needs(wanted []types.Field) []types.Field {
	out := slices.Clone(wanted)
	for g, in := range r.groups {
		member := func(f types.Field) bool {
			i := r.column(f)
			return i >= 0 && r.columns[i].class >= ofSequence && r.columns[i].group == g
		}
		if !in.removes && !slices.ContainsFunc(wanted, member) {
			continue
		}
		for _, i := range in.sequence {
			if !slices.ContainsFunc(out, func(f types.Field) bool { return f.ID == r.fields[i].ID }) {
				out = append(out, r.fields[i])
			}
		}
	}
	return out
}

// column is the number of a field among the table's, -1 for system columns.
func (r *Rules) column(f types.Field) int {
	return slices.IndexFunc(r.fields, func(t types.Field) bool { return t.ID == f.ID })
}

// bound are rules for the columns of some runs.
type bound struct {
	*Rules
	columns []rule     // of the runs' columns
	table   []int      // their numbers among the table's
	order   [][]Column // of groups: their fields among the runs' columns, nil where nobody asks
}

// Apply sets the engine of a merge whose runs have the columns given: the table's,
// known by their ids, and system columns. What Needs names must be among them.
// A folded row has the sequence number and the key of the last row that counted.
func (r *Rules) Apply(cfg *Config, columns []types.Field) error {
	cfg.Engine, cfg.IgnoreDelete = r.Engine, r.IgnoreDelete
	if !r.Engine.folds() {
		return nil
	}
	b := &bound{Rules: r, columns: make([]rule, len(columns)), table: make([]int, len(columns)), order: make([][]Column, len(r.groups))}
	asked := make([]bool, len(r.groups))
	for i, f := range columns {
		if b.table[i] = r.column(f); b.table[i] >= 0 && r.columns != nil {
			b.columns[i] = r.columns[b.table[i]]
			if b.columns[i].class >= ofSequence {
				asked[b.columns[i].group] = true
			}
		}
	}
	for g, in := range r.groups {
		if !asked[g] && !in.removes {
			continue
		}
		for _, i := range in.sequence {
			at := slices.Index(b.table, i)
			if at < 0 {
				return tarnerr.New(tarnerr.Internal, "merging rows", "a sequence field is not among the columns", "column", r.fields[i].Name)
			}
			b.order[g] = append(b.order[g], Column{Index: at, Type: r.fields[i].Type})
		}
	}
	cfg.bound = b
	return nil
}
