package aggregate

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// mergeMap unites maps: later entries replace earlier ones of their key, a retraction
// takes keys out. With a time, a member of the values, the latest entry wins, and an
// entry without a value takes its key out.
type mergeMap struct {
	*column
	time int // the member of the value that is the time, -1 none
}

func newMergeMap(c *column) (Function, error) {
	if c.t.Root != types.Map {
		return nil, c.wants("MAP")
	}
	return &mergeMap{c, -1}, nil
}

func newMergeMapWithKeyTime(c *column) (Function, error) {
	if c.t.Root != types.Map || c.t.Element.Root != types.Row || len(c.t.Element.Fields) < 2 {
		return nil, c.wants("MAP<…, ROW<…>> with two members or more")
	}
	members := c.t.Element.Fields
	f := &mergeMap{c, len(members) - 1}
	if name, ok := c.options[c.key("ts-field")]; ok {
		f.time = slices.IndexFunc(members, func(m types.Field) bool { return m.Name == name })
		if f.time < 0 {
			return nil, c.badOption("ts-field", "the values have no such member")
		}
	}
	if !members[f.time].Type.IsString() {
		return nil, c.invalid("the time must be a STRING", "member", members[f.time].Name).
			WithHint("Name the member that holds the time by %s.", c.key("ts-field"))
	}
	return f, nil
}

func (f *mergeMap) Fold(mem memory.Allocator, sources []arrow.Array, g *Groups) (arrow.Array, error) {
	in := listsOf(sources)
	keys := in.members(0)
	code, err := newCoder([]types.Field{{Name: "key", Type: *f.t.Key}}, [][]arrow.Array{keys})
	if err != nil {
		return nil, err
	}
	defer code.release()
	d := &dictionary{code: code.row, hash: hashes(*f.t.Key, keys), identity: byIdentity(*f.t.Key)}
	var times *clock
	if f.time >= 0 {
		times = newClock(in, f.time)
	}
	out := newList(mem, len(g.Ends))
	var row []batch.Ref
	from := 0
	for _, end := range g.Ends {
		null := true
		d.reset()
		for j := from; j < end; j++ {
			r, o := g.Refs[j], g.op(j)
			missing := in.nulls.at(r)
			if row = row[:0]; !missing {
				row = in.appendRow(row, r)
			}
			switch {
			case o == opSet:
				d.reset()
				d.raw(row)
				null = missing
			case o == opRetract && f.ignoreRetract:
			case o == opRetract && f.time >= 0:
				out.release()
				return nil, f.noRetract()
			case o == opRetract:
				if !null && len(row) > 0 {
					d.settle()
					d.index()
					for _, e := range row {
						d.remove(e)
					}
					d.peak = d.live // Java puts what stays into a new map
					d.settle()
				}
			case missing:
			case null:
				d.raw(row)
				null = false
			default:
				if o == opLate {
					row = d.swap(row)
				}
				d.index()
				for _, e := range row {
					if times == nil {
						d.put(e)
					} else {
						times.put(d, e)
					}
				}
				if d.removed {
					d.settle()
				}
			}
		}
		d.settle()
		out.items = append(out.items, d.refs()...)
		if err := out.end(null); err != nil {
			out.release()
			return nil, err
		}
		from = end
	}
	return out.finish(f.dt, in.kids)
}

// clock decides by the time of entries.
type clock struct {
	values, times nulls
	text          stringsOf
}

func newClock(in *lists, member int) *clock {
	values := in.members(1)
	times := make([]arrow.Array, len(values))
	for i, v := range values {
		if v != nil {
			times[i] = v.(*array.Struct).Field(member)
		}
	}
	return &clock{nullsOf(values), nullsOf(times), bytesOf(times)}
}

func (c *clock) put(d *dictionary, e batch.Ref) {
	switch {
	case c.values.at(e):
		d.remove(e)
		return
	case c.times.at(e):
		return
	}
	if old, ok := d.get(e); !ok || c.values.at(old) || c.times.at(old) || compareText(c.text.at(e), c.text.at(old)) > 0 {
		d.put(e)
	}
}

// compareText is String.compareTo: by units of UTF-16, which sort as the bytes of
// UTF-8 do except for characters beyond the first 65536.
func compareText(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	x, _ := utf8.DecodeRune(a[n:])
	y, _ := utf8.DecodeRune(b[min(n, len(b)):])
	if len(a) == n || len(b) == n || (x < 0x10000) == (y < 0x10000) {
		return bytes.Compare(a, b)
	}
	return int(utf16.AppendRune(nil, x)[0]) - int(utf16.AppendRune(nil, y)[0])
}
