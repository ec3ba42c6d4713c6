package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/types"
)

// Row is a row written, or one that a merge made.
type Row struct {
	Number int64 // sequence number: order of arrival
	Kind   types.RowKind
	Values []types.Value // of the table's columns, nil for null
}

func (r Row) String() string { return fmt.Sprint(r.Kind, " ", r.Number, " ", r.Values) }

// ErrRetract is that an engine does not take rows that take others back.
var ErrRetract = errors.New("the merge engine takes no -U and -D")

// ErrZero is that a product is to be divided by 0, which no table can do.
var ErrZero = errors.New("taking a factor of 0 back")

// Model merges rows of one key. Not safe for concurrent use.
type Model struct {
	s        *schema.Schema
	engine   string
	ignore   bool // ignore-delete
	onDelete bool
	groups   []group
	removing []string
	columns  []column

	row                      []types.Value
	seen                     []bool // of functions that keep what came first: it has come
	began, inserted, removed bool
	number                   int64
}

// group is a sequence group: its sequence fields and the columns that go by them.
type group struct{ sequence, columns []string }

// column is what a column of an aggregation, or of a sequence group, is.
type column struct {
	function  string // "" in a sequence group: the newest value
	ignores   bool   // ignore-retract
	key       bool
	t         types.Type
	distinct  bool
	nestedKey []string
	limit     int // count-limit
	time      int // the member that ts-field names, else the last one
}

// NewModel reads the options of a table that has been created.
func NewModel(s *schema.Schema) *Model {
	m := &Model{s: s, engine: s.Options["merge-engine"], ignore: on(s, "ignore-delete")}
	m.onDelete = on(s, m.engine+".remove-record-on-delete")
	m.removing = list(s.Options["partial-update.remove-record-on-sequence-group"])
	for key, columns := range s.Options {
		rest, isField := strings.CutPrefix(key, "fields.")
		if sequence, ok := strings.CutSuffix(rest, ".sequence-group"); ok && isField {
			m.groups = append(m.groups, group{list(sequence), list(columns)})
		}
	}
	slices.SortFunc(m.groups, func(a, b group) int { return slices.Compare(a.sequence, b.sequence) })
	for _, f := range s.Fields {
		c := columnOf(s, f)
		switch name, ok := s.Options["fields."+f.Name+".aggregate-function"]; {
		case slices.Contains(list(s.Options["sequence.field"]), f.Name):
			c.function = "last_value"
		case ok:
			c.function = name
		case s.Options["fields.default-aggregate-function"] != "":
			c.function = s.Options["fields.default-aggregate-function"]
		case m.engine != "partial-update":
			c.function = "last_non_null_value"
		}
		m.columns = append(m.columns, c)
	}
	return m
}

// columnOf reads the options of a column but its function.
func columnOf(s *schema.Schema, f types.Field) column {
	setting := func(name string) string { return s.Options["fields."+f.Name+"."+name] }
	c := column{key: slices.Contains(s.PrimaryKeys, f.Name), t: f.Type, ignores: setting("ignore-retract") == "true",
		distinct: setting("distinct") == "true", nestedKey: list(setting("nested-key")), limit: math.MaxInt32}
	if n, err := strconv.Atoi(setting("count-limit")); err == nil {
		c.limit = n
	}
	if f.Type.Root == types.Map {
		members := f.Type.Element.Fields
		c.time = len(members) - 1
		if i := slices.IndexFunc(members, func(m types.Field) bool { return m.Name == setting("ts-field") }); i >= 0 {
			c.time = i
		}
	}
	return c
}

func on(s *schema.Schema, option string) bool { return s.Options[option] == "true" }

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Merge merges the rows of one key, at least one, the oldest first: one alone stays as
// it is. It reports false for no row.
func (m *Model) Merge(rows []Row) (Row, bool, error) {
	if len(rows) == 1 {
		return rows[0], true, nil
	}
	return m.Fold(rows)
}

// Fold is Merge, but a row that is alone is merged with nothing, as by compactions
// that look up old rows.
func (m *Model) Fold(rows []Row) (Row, bool, error) {
	m.row, m.seen = make([]types.Value, len(m.s.Fields)), make([]bool, len(m.s.Fields))
	m.began, m.inserted, m.removed, m.number = false, false, false, 0
	var take func(Row) error
	switch m.engine {
	case "first-row":
		return m.first(rows)
	case "aggregation":
		take = m.aggregate
	case "partial-update":
		take = m.update
	default:
		return rows[len(rows)-1], true, nil
	}
	for _, r := range rows {
		if err := take(r); err != nil {
			return Row{}, false, err
		}
	}
	out := Row{Number: m.number, Values: m.row}
	if m.removed || !m.inserted {
		out.Kind = types.Delete
	}
	return out, true, nil
}

func (m *Model) first(rows []Row) (out Row, ok bool, err error) {
	for _, r := range rows {
		switch {
		case r.Kind.IsRetract() && !m.ignore:
			return Row{}, false, ErrRetract
		case !r.Kind.IsRetract() && !ok:
			out, ok = r, true
		}
	}
	return out, ok, nil
}

// groupOf is the group of a column, nil for none, and whether it is one of its
// sequence fields.
func (m *Model) groupOf(name string) (g *group, sequence bool) {
	for i := range m.groups {
		if slices.Contains(m.groups[i].sequence, name) {
			return &m.groups[i], true
		}
		if slices.Contains(m.groups[i].columns, name) {
			return &m.groups[i], false
		}
	}
	return nil, false
}

// says reports a row that has a say in a group: its sequence fields are not all null.
func (m *Model) says(g *group, r Row) bool {
	return slices.ContainsFunc(g.sequence, func(c string) bool { return r.Values[m.s.Index(c)] != nil })
}

// counts reports a row that has a say in a group and is not older than what is there.
func (m *Model) counts(g *group, r Row) bool {
	if !m.says(g, r) {
		return false
	}
	for _, name := range g.sequence {
		i := m.s.Index(name)
		if c := compare(m.s.Fields[i].Type, r.Values[i], m.row[i]); c != 0 {
			return c > 0
		}
	}
	return true
}

// compare orders values, null first.
func compare(t types.Type, a, b types.Value) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return types.Compare(t, a, b)
}

func (m *Model) update(r Row) error {
	m.removed = false
	if !r.Kind.IsRetract() {
		m.number, m.began, m.inserted = r.Number, true, true
		return m.add(r)
	}
	if !m.began {
		m.row, m.began = slices.Clone(r.Values), true
	}
	if m.ignore {
		return nil
	}
	m.number = r.Number
	switch {
	case len(m.groups) > 0:
		return m.takeBack(r)
	case !m.onDelete:
		return ErrRetract
	case r.Kind == types.Delete:
		m.row, m.removed = slices.Clone(r.Values), true
	}
	return nil
}

func (m *Model) add(r Row) error {
	for i, f := range m.s.Fields {
		v := r.Values[i]
		g, sequence := m.groupOf(f.Name)
		switch {
		case g == nil:
			if v != nil {
				m.row[i] = v
			}
		case !sequence && m.columns[i].function != "":
			if err := m.foldLate(i, g, r); err != nil {
				return err
			}
		case !m.counts(g, r):
		case sequence:
			m.advance(g, r)
		default:
			m.row[i] = v
		}
	}
	return nil
}

func (m *Model) advance(g *group, r Row) {
	for _, c := range g.sequence {
		m.row[m.s.Index(c)] = r.Values[m.s.Index(c)]
	}
}

func (m *Model) takeBack(r Row) error {
	for i, f := range m.s.Fields {
		g, sequence := m.groupOf(f.Name)
		switch {
		case g != nil && !sequence && m.columns[i].function != "":
			if err := m.foldLate(i, g, r); err != nil {
				return err
			}
		case g == nil || !m.counts(g, r):
		case !sequence:
			m.row[i] = nil
		case r.Kind == types.Delete && slices.ContainsFunc(g.sequence, func(c string) bool { return slices.Contains(m.removing, c) }):
			m.row, m.removed = slices.Clone(r.Values), true
			return nil
		default:
			m.advance(g, r)
		}
	}
	return nil
}
