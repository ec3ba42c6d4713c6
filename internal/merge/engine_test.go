package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/schema"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// engineTable is a table with key k and columns a to f, of which e is text.
func engineTable(options map[string]string) *schema.Schema {
	s := &schema.Schema{PrimaryKeys: []string{"k"}, Options: options}
	s.Fields = append(s.Fields, types.Field{ID: 0, Name: "k", Type: types.Type{Root: types.Int}})
	for i, name := range []string{"a", "g", "b", "c", "h", "i", "d"} {
		s.Fields = append(s.Fields, types.Field{ID: i + 1, Name: name, Type: types.Type{Root: types.BigInt, Nullable: true}})
	}
	s.Fields = append(s.Fields, types.Field{ID: 8, Name: "e", Type: types.Type{Root: types.VarChar, Length: 9, Nullable: true}})
	return s
}

// erow is a row of a run: values of the table's columns, nil for null.
type erow struct {
	seq    int64
	kind   types.RowKind
	values []types.Value
}

func (r erow) String() string { return fmt.Sprint(r.kind, " ", r.seq, " ", r.values) }

func (r erow) key() int64 { return r.values[0].(int64) }

// engineFields are the columns of the runs: the table's, then system columns.
func engineFields(s *schema.Schema) []types.Field {
	return append(slices.Clone(s.Fields), types.SequenceNumberField(), types.ValueKindField())
}

func engineRun(t failer, mem memory.Allocator, fields []types.Field, rows []erow, size int) batch.Reader {
	as := arrowSchema(t, fields)
	var recs []arrow.RecordBatch
	for part := range slices.Chunk(rows, size) {
		b := array.NewRecordBuilder(mem, as)
		for _, r := range part {
			for i, v := range append(slices.Clone(r.values), types.Value(r.seq), types.Value(int64(r.kind))) {
				if err := types.AppendValue(b.Field(i), fields[i].Type, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		recs = append(recs, b.NewRecordBatch())
		b.Release()
	}
	r := batch.Of(as, recs...)
	for _, rec := range recs {
		rec.Release()
	}
	return r
}

// engineConfig merges whole rows with all system columns.
func engineConfig(t failer, mem memory.Allocator, s *schema.Schema) Config {
	o, err := option.Parse(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := NewRules(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	fields := engineFields(s)
	keys, err := NewOrder([]Column{{0, fields[0].Type}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Keys: keys, SequenceNumber: len(s.Fields), Kind: len(s.Fields) + 1, Mem: mem, Schema: arrowSchema(t, fields)}
	for i := range fields {
		cfg.Output = append(cfg.Output, i)
	}
	if err := rules.Apply(&cfg, fields); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// readRows reads r to its end and closes it.
func readRows(r batch.Reader, fields []types.Field) (out []erow, err error) {
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for i := range int(rec.NumRows()) {
			var e erow
			for c, f := range fields {
				v := types.ValueAt(f.Type, rec.Column(c), i)
				switch f.ID {
				case types.SequenceNumberID:
					e.seq = v.(int64)
				case types.ValueKindID:
					e.kind = types.RowKind(v.(int64))
				default:
					e.values = append(e.values, v)
				}
			}
			out = append(out, e)
		}
	}
}

// model merges the rows of one key, oldest first, one row after the other, as the
// merge functions of Java 1.4.2 do.
type model struct {
	s        *schema.Schema
	engine   string
	ignore   bool // ignore-delete
	onDelete bool
	groups   []namedGroup
	removing []string

	row                      []types.Value
	began, inserted, removed bool
	seq                      int64
}

func newModel(t failer, s *schema.Schema) *model {
	m := &model{s: s, engine: s.Options["merge-engine"], ignore: isTrue(s.Options["ignore-delete"])}
	m.onDelete = isTrue(s.Options[m.engine+".remove-record-on-delete"])
	m.removing = list(s.Options["partial-update.remove-record-on-sequence-group"])
	var err error
	if m.groups, err = sequenceGroups(s); err != nil {
		t.Fatal(err)
	}
	return m
}

// merge gives the row that comes out, false for none.
func (m *model) merge(rows []erow) (erow, bool, error) {
	if len(rows) == 1 {
		return rows[0], true, nil
	}
	m.row, m.began, m.inserted, m.removed, m.seq = make([]types.Value, len(m.s.Fields)), false, false, false, 0
	if m.engine == "first-row" {
		return m.first(rows)
	}
	for _, r := range rows {
		switch m.engine {
		case "aggregation":
			m.aggregate(r)
		default:
			if err := m.update(r); err != nil {
				return erow{}, false, err
			}
		}
	}
	out := erow{seq: m.seq, values: m.row}
	if m.removed || !m.inserted {
		out.kind = types.Delete
	}
	return out, true, nil
}

func (m *model) first(rows []erow) (out erow, ok bool, err error) {
	for _, r := range rows {
		switch {
		case r.kind.IsRetract() && !m.ignore:
			return erow{}, false, errors.New("delete")
		case !r.kind.IsRetract() && !ok:
			out, ok = r, true
		}
	}
	return out, ok, nil
}

// aggregate knows the functions that choose a value.
func (m *model) aggregate(r erow) {
	m.seq, m.inserted = r.seq, true
	if m.removed = m.onDelete && r.kind == types.Delete; m.removed {
		m.row = slices.Clone(r.values)
		return
	}
	for i, f := range m.s.Fields {
		v := r.values[i]
		function := functionOf(m.s, f.Name)
		if slices.Contains(list(m.s.Options["sequence.field"]), f.Name) {
			function = "last_value"
		}
		switch {
		case slices.Contains(m.s.PrimaryKeys, f.Name):
			m.row[i] = v
		case function == "last_value" && r.kind.IsRetract():
			m.row[i] = nil
		case function == "last_value":
			m.row[i] = v
		case v != nil && r.kind.IsRetract():
			m.row[i] = nil
		case v != nil:
			m.row[i] = v
		}
	}
}

func (m *model) at(name string) int { return m.s.Index(name) }

// groupOf is the group of a column, nil for none, and whether it is one of its
// sequence fields.
func (m *model) groupOf(name string) (g *namedGroup, sequence bool) {
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

func (m *model) empty(g *namedGroup, r erow) bool {
	return !slices.ContainsFunc(g.sequence, func(c string) bool { return r.values[m.at(c)] != nil })
}

func (m *model) newer(g *namedGroup, r erow) bool {
	for _, c := range g.sequence {
		a, b := r.values[m.at(c)], m.row[m.at(c)]
		switch {
		case a == nil && b == nil:
		case a == nil:
			return false
		case b == nil:
			return true
		case a.(int64) != b.(int64):
			return a.(int64) > b.(int64)
		}
	}
	return true
}

func (m *model) update(r erow) error {
	m.removed = false
	if !r.kind.IsRetract() {
		m.add(r)
		m.seq, m.began, m.inserted = r.seq, true, true
		return nil
	}
	if !m.began {
		m.row, m.began = slices.Clone(r.values), true
	}
	if m.ignore {
		return nil
	}
	m.seq = r.seq
	switch {
	case len(m.groups) > 0:
		m.takeBack(r)
	case !m.onDelete:
		return errors.New("delete")
	case r.kind == types.Delete:
		m.row, m.removed = slices.Clone(r.values), true
	}
	return nil
}

func (m *model) add(r erow) {
	for i, f := range m.s.Fields {
		v := r.values[i]
		g, sequence := m.groupOf(f.Name)
		switch {
		case g == nil:
			if v != nil {
				m.row[i] = v
			}
		case m.empty(g, r) || !m.newer(g, r):
		case sequence:
			for _, c := range g.sequence {
				m.row[m.at(c)] = r.values[m.at(c)]
			}
		default:
			m.row[i] = v
		}
	}
}

func (m *model) takeBack(r erow) {
	for i, f := range m.s.Fields {
		g, sequence := m.groupOf(f.Name)
		switch {
		case g == nil || m.empty(g, r) || !m.newer(g, r):
		case sequence:
			for _, c := range g.sequence {
				if r.kind == types.Delete && slices.Contains(m.removing, c) {
					m.row, m.removed = slices.Clone(r.values), true
					return
				}
				m.row[m.at(c)] = r.values[m.at(c)]
			}
		default:
			m.row[i] = nil
		}
	}
}

// engineOptions are option sets of the engines without functions that compute.
var engineOptions = []map[string]string{
	{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
	{"merge-engine": "partial-update", "ignore-delete": "true"},
	{"merge-engine": "partial-update"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "g,a,b", "fields.h,i.sequence-group": "c", "ignore-delete": "true"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e", "partial-update.remove-record-on-sequence-group": "g"},
	{"merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.h,i.sequence-group": "c,e", "partial-update.remove-record-on-sequence-group": "i,g"},
	{"merge-engine": "aggregation", "fields.a.aggregate-function": "last_value"},
	{"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value", "fields.e.aggregate-function": "last_non_null_value", "aggregation.remove-record-on-delete": "true"},
	{"merge-engine": "first-row"},
	{"merge-engine": "first-row", "ignore-delete": "true"},
}

// drawRuns draws runs, the oldest first, each with a key once.
func drawRuns(t *rapid.T, s *schema.Schema) (runs [][]erow) {
	seq := int64(0)
	deletes := rapid.SampledFrom([]int{0, 2, 6, 40}).Draw(t, "deletes")
	for range rapid.IntRange(1, 6).Draw(t, "runs") {
		var rows []erow
		key := rapid.Int64Range(0, 20).Draw(t, "first")
		step := rapid.SampledFrom([]int64{1, 3, 20}).Draw(t, "step")
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			seq++
			r := erow{seq: seq, values: []types.Value{key}}
			if deletes > 0 && rapid.IntRange(0, deletes).Draw(t, "delete") == 0 {
				r.kind = rapid.SampledFrom([]types.RowKind{types.Delete, types.UpdateBefore, types.UpdateAfter}).Draw(t, "kind")
			}
			for _, f := range s.Fields[1:] {
				v := rapid.Int64Range(-2, 3).Draw(t, f.Name)
				switch {
				case v < 0:
					r.values = append(r.values, nil)
				case f.Type.Root == types.VarChar:
					r.values = append(r.values, fmt.Sprint(v, "@", seq))
				default:
					r.values = append(r.values, v)
				}
			}
			rows = append(rows, r)
			key += rapid.Int64Range(1, step).Draw(t, "gap")
		}
		runs = append(runs, rows)
	}
	return runs
}

// modelled merges runs by the model.
func modelled(t failer, s *schema.Schema, runs [][]erow, keepDeletes bool) (out []erow, err error) {
	byKey := map[int64][]erow{}
	var keys []int64
	for _, r := range slices.Concat(runs...) {
		if byKey[r.key()] == nil {
			keys = append(keys, r.key())
		}
		byKey[r.key()] = append(byKey[r.key()], r)
	}
	slices.Sort(keys)
	m := newModel(t, s)
	for _, k := range keys {
		r, ok, err := m.merge(byKey[k])
		if err != nil {
			return nil, err
		}
		if ok && (keepDeletes || !r.kind.IsRetract()) {
			r.values = slices.Clone(r.values)
			out = append(out, r)
		}
	}
	return out, nil
}

// TestEnginesEqualTheModel merges random runs by all engines, in the tree and in
// the relay, once at a time and in two steps.
func TestEnginesEqualTheModel(t *testing.T) {
	for i := 0; i < len(engineOptions); i += 4 {
		some := engineOptions[i : i+4]
		t.Run(some[0]["merge-engine"], func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				mergeAsModelled(t, rapid.SampledFrom(some).Draw(t, "options"))
			})
		})
	}
}

func mergeAsModelled(t *rapid.T, options map[string]string) {
	s := engineTable(options)
	fields := engineFields(s)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	cfg := engineConfig(t, mem, s)
	cfg.KeepDeletes = rapid.Bool().Draw(t, "keep")
	cfg.Ranked = rapid.Bool().Draw(t, "ranked")
	cfg.BatchRows = rapid.IntRange(1, 20).Draw(t, "batch rows")
	runs := drawRuns(t, s)
	var readers []batch.Reader
	for _, rows := range runs {
		readers = append(readers, engineRun(t, mem, fields, rows, rapid.IntRange(1, 12).Draw(t, "run batch")))
	}
	got, err := readRows(NewReader(cfg, readers), fields)
	want, wantErr := modelled(t, s, runs, cfg.KeepDeletes)
	if wantErr != nil {
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), "can not accept") {
			t.Fatalf("error %v, want one about deletes", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, want, isTrue(options["ignore-delete"]))
}

// sameRows compares rows; loose leaves out what nobody sees of a key whose rows
// were all ignored: its sequence number.
func sameRows(t failer, got, want []erow, loose bool) {
	t.Helper()
	text := func(rows []erow) string {
		var b strings.Builder
		for _, r := range rows {
			if loose && r.kind.IsRetract() {
				r.seq = 0
			}
			fmt.Fprintln(&b, r)
		}
		return b.String()
	}
	if g, w := text(got), text(want); g != w {
		t.Fatal(fmt.Sprintf("got\n%swant\n%s", g, w))
	}
}
