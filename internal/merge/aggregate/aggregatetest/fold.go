package aggregatetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge/aggregate"
	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/types"
)

// Column is the name that the column has in [Call.Options].
const Column = "v"

// Row is what one row does: Op is "+" add, "~" add late, "-" retract, "=" set; Value is
// canonical JSON.
type Row struct {
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value"`
}

// Call is groups of rows to be folded by a function.
type Call struct {
	Function string            `json:"function"`
	Type     string            `json:"type"` // Paimon's text
	Options  map[string]string `json:"options,omitempty"`
	Groups   [][]Row           `json:"groups"`
}

// Folded is a call with the value of each group.
type Folded struct {
	Call
	Values []string `json:"values"`
}

// Fold folds a call's groups: their values come as canonical JSON. The rows lie in as
// many sources, whose rows begin in the middle of their memory.
func (c *Call) Fold(mem memory.Allocator, sources int) ([]string, error) {
	f, fn, err := c.function()
	if err != nil {
		return nil, err
	}
	return c.fold(mem, f, fn, sources, c.Groups)
}

// FoldEach folds each group by itself: it gives a value or an error for each.
func (c *Call) FoldEach(mem memory.Allocator, sources int) (values []string, errs []error, err error) {
	f, fn, err := c.function()
	if err != nil {
		return nil, nil, err
	}
	for _, g := range c.Groups {
		v, err := c.fold(mem, f, fn, sources, [][]Row{g})
		if err != nil {
			v = []string{""}
		}
		values, errs = append(values, v[0]), append(errs, err)
	}
	return values, errs, nil
}

func (c *Call) function() (types.Field, aggregate.Function, error) {
	t, err := types.Parse(c.Type)
	if err != nil {
		return types.Field{}, nil, err
	}
	f := types.Field{ID: 1, Name: Column, Type: t}
	fn, err := aggregate.New(c.Function, f, c.Options)
	return f, fn, err
}

func (c *Call) fold(mem memory.Allocator, f types.Field, fn aggregate.Function, sources int, groups [][]Row) ([]string, error) {
	all, err := parse(mem, f, groups)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	arrays, refs := scatter(all, sources)
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	g := aggregate.Groups{Refs: refs}
	plain := true
	for _, rows := range groups {
		for _, r := range rows {
			kind, late := int8(0), false
			switch r.Op {
			case "+":
			case "~":
				late = true
			case "-":
				kind = int8(types.Delete)
			case "=":
				kind = aggregate.Set
			default:
				return nil, fmt.Errorf("no such operation: %q", r.Op)
			}
			plain = plain && kind == 0 && !late
			g.Kinds, g.Reversed = append(g.Kinds, kind), append(g.Reversed, late)
		}
		g.Ends = append(g.Ends, len(g.Kinds))
	}
	if plain {
		g.Kinds, g.Reversed = nil, nil
	}
	out, err := fn.Fold(mem, arrays, &g)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return print(f, out)
}

// parse makes the column of the values of all rows, with one more before and behind.
func parse(mem memory.Allocator, f types.Field, groups [][]Row) (arrow.Array, error) {
	var text strings.Builder
	line := func(v string) { fmt.Fprintf(&text, "{%q:%s}\n", Column, v) }
	n := 0
	line("null")
	for _, rows := range groups {
		for _, r := range rows {
			line(string(r.Value))
			n++
		}
	}
	line("null")
	nullable := f
	nullable.Type.Nullable = true
	in, err := rowtext.ReadJSONL(strings.NewReader(text.String()), []types.Field{nullable}, rowtext.ReadOptions{BatchRows: n + 2, Mem: mem})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	rec, err := in.Next(context.Background())
	if err != nil {
		return nil, err
	}
	col := rec.Column(0)
	if col.Len() != n+2 {
		return nil, errors.New("the values came in several batches")
	}
	return array.NewSlice(col, 1, int64(n+1)), nil
}

// scatter cuts a column into sources.
func scatter(all arrow.Array, sources int) ([]arrow.Array, []batch.Ref) {
	n := all.Len()
	cut := func(s int) int { return s * n / sources }
	arrays := make([]arrow.Array, sources)
	for s := range arrays {
		arrays[s] = array.NewSlice(all, int64(cut(s)), int64(cut(s+1)))
	}
	refs := make([]batch.Ref, 0, n)
	for s := range arrays {
		refs = batch.AppendRange(refs, s, 0, cut(s+1)-cut(s))
	}
	return arrays, refs
}

func print(f types.Field, out arrow.Array) ([]string, error) {
	schema, err := types.ArrowSchema([]types.Field{f})
	if err != nil {
		return nil, err
	}
	if !arrow.TypeEqual(out.DataType(), schema.Field(0).Type) {
		return nil, fmt.Errorf("a column of type %s came, not %s", out.DataType(), schema.Field(0).Type)
	}
	rec := array.NewRecordBatch(schema, []arrow.Array{out}, int64(out.Len()))
	defer rec.Release()
	var text strings.Builder
	w := rowtext.NewJSONL(&text, []types.Field{f}, false)
	if err := errors.Join(w.Write(rec), w.Flush()); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimPrefix(l, `{"`+Column+`":`), "}")
	}
	if out.Len() == 0 {
		lines = nil
	}
	return lines, nil
}
