package avro

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// op says how a slot's values are read.
type op uint8

const (
	opMissing op = iota // not in the file: all null
	opBool
	opInt // of 1, 2, 4 or 8 bytes
	opFloat
	opDouble
	opWidened // FLOAT as DOUBLE
	opText
	opDecimal
	opStamp
	opRow
	opList   // an array
	opVector // an array of a fixed number of items
	opMap    // Avro's map, whose keys are strings
	opPairs  // a map as an array of records of key and value
)

// slot is a column, member, element, key or value to be read: where its values
// go as records are decoded, one after the other.
type slot struct {
	op   op
	want types.Type
	dt   arrow.DataType
	path string
	memories

	null, branch int64 // branches of the union that are null and the value; −1 without one
	kids         []*slot
	plan         []step // opRow, opPairs: what a record holds, in its order
	scale        scale  // opStamp
	bound        bound  // opDecimal
	items        int    // opVector
	missing      int64  // opRow: what the members take that are not in the file

	out   batch.Column
	room  int    // slots there is room for
	valid []byte // nil while nothing was null
	data  []byte
}

// memories is where values go, and how much of it they may take.
type memories struct {
	mem       memory.Allocator
	allowance *batch.Allowance
}

// step is one member of a record: a slot to fill, or a value to pass over.
type step struct {
	slot *slot
	skip *ocf.Schema
}

// newSlot makes the slot for a part of the file's schema, nil when the file does
// not have it. A part that holds other values than those wanted is Unsupported.
func newSlot(in memories, n *ocf.Schema, want types.Type, dt arrow.DataType, path string) (*slot, error) {
	s := &slot{memories: in, want: want, dt: dt, path: path, null: -1, branch: -1}
	if n == nil {
		return s, nil
	}
	v, null, branch := value(n)
	if v == nil {
		return nil, mismatch(n, want, path)
	}
	s.null, s.branch = null, branch
	width := batch.WidthNone
	var err error
	kid := func(n *ocf.Schema, want types.Type, dt arrow.DataType, name string) *slot {
		if err != nil {
			return nil
		}
		var k *slot
		if k, err = newSlot(in, n, want, dt, path+"."+name); err == nil {
			s.kids = append(s.kids, k)
		}
		return k
	}
	switch {
	case !want.IsNested():
		width, err = s.leaf(v)
	case want.Root == types.Row && v.Kind == ocf.Record:
		s.op = opRow
		for i, m := range want.Fields {
			kid(v.Member(m.Name), m.Type, dt.(*arrow.StructType).Field(i).Type, m.Name)
		}
		if err == nil {
			s.plan = planRecord(v, want.Fields, s.kids)
		}
		for _, k := range s.kids {
			if k.op == opMissing {
				s.missing += batch.SlotBytes(k.dt)
			}
		}
	case want.Root == types.Array && v.Kind == ocf.Array:
		s.op, width = opList, batch.WidthText
		kid(v.Parts[0], *want.Element, dt.(*arrow.ListType).Elem(), "element")
	case want.Root == types.Vector && v.Kind == ocf.Array:
		s.op, s.items = opVector, want.Length
		kid(v.Parts[0], *want.Element, dt.(*arrow.FixedSizeListType).Elem(), "element")
	case want.Root == types.Map || want.Root == types.Multiset:
		width = batch.WidthText
		if e := s.mapped(v, kid); err == nil {
			err = e
		}
	default:
		err = mismatch(n, want, path)
	}
	if err != nil {
		return nil, err
	}
	s.out = batch.Column{Mem: in.mem, Width: width, Allowance: in.allowance}
	return s, nil
}

// mapped makes key and value of a map or a multiset.
func (s *slot) mapped(v *ocf.Schema, kid func(*ocf.Schema, types.Type, arrow.DataType, string) *slot) error {
	key, value := s.want.Key, s.want.Element
	if s.want.Root == types.Multiset {
		key, value = s.want.Element, &types.Type{Root: types.Int}
	}
	m := s.dt.(*arrow.MapType)
	switch {
	case v.Kind == ocf.Map && key.IsString():
		s.op = opMap
		kid(stringSchema, *key, m.KeyType(), "key")
		kid(v.Parts[0], *value, m.ItemType(), "value")
	case v.Kind == ocf.Array:
		s.op = opPairs
		k, x := pair(v.Parts[0])
		if k == nil || x == nil {
			return mismatch(v, s.want, s.path)
		}
		ks, vs := kid(k, *key, m.KeyType(), "key"), kid(x, *value, m.ItemType(), "value")
		s.plan = []step{{slot: ks}, {slot: vs}}
		if v.Parts[0].Names[0] != "key" {
			slices.Reverse(s.plan)
		}
	default:
		return mismatch(v, s.want, s.path)
	}
	return nil
}

// planRecord lines the slots of the columns wanted up with the members of a record.
func planRecord(n *ocf.Schema, want []types.Field, slots []*slot) []step {
	out := make([]step, 0, len(n.Parts))
	for i, p := range n.Parts {
		if j := slices.IndexFunc(want, func(f types.Field) bool { return f.Name == n.Names[i] }); j >= 0 {
			out = append(out, step{slot: slots[j]})
		} else if !p.Empty {
			out = append(out, step{skip: p})
		}
	}
	return out
}

// stringSchema is that of the keys of a map, which have none of their own.
var stringSchema = &ocf.Schema{Kind: ocf.String, Type: "string"}

func mismatch(n *ocf.Schema, want types.Type, path string) error {
	return tarnerr.New(tarnerr.Unsupported, "reading Avro column", "file's type cannot be read as the type asked for",
		"column", path, "file", n.Type, "want", want.String())
}

// grow makes room for more slots, unless the row has had its share: nulls and
// what is made of them take more than the bytes that they are read from.
func (s *slot) grow(c *ocf.Cursor) bool {
	room := max(64, 2*s.room)
	per := int64(max(s.out.Width, 0)+1) + s.missing
	if s.out.Width == batch.WidthText {
		per = 5
	}
	more := int64(room - s.room)
	if !s.allowance.Fits(more * per) {
		c.Fail("row takes too much memory", "column", s.path, "values", s.out.N)
		return false
	}
	s.room = room
	s.allowance.Spend(more * s.missing)
	s.out.Reserve(room)
	if s.out.Data != nil {
		s.data = s.out.Data.Bytes()
	}
	if s.valid != nil {
		s.valid = s.out.Nullable(room)
	}
	return true
}

// append reads one value.
func (s *slot) append(c *ocf.Cursor) {
	if s.op == opMissing {
		return
	}
	if s.branch >= 0 {
		if b := c.Long(); b != s.branch {
			if b != s.null {
				c.Fail("no such branch of a union", "column", s.path)
				return
			}
			s.appendNull(c)
			return
		}
	}
	if s.out.N == s.room && !s.grow(c) {
		return
	}
	s.read(c)
	if s.valid != nil {
		bitutil.SetBit(s.valid, s.out.N)
	}
	s.out.N++
}

// appendNull adds a slot without a value, also to the members of a row.
func (s *slot) appendNull(c *ocf.Cursor) {
	if s.op == opMissing || s.out.N == s.room && !s.grow(c) {
		return
	}
	if s.valid == nil {
		s.valid = s.out.Nullable(s.room)
	}
	i := s.out.N
	switch {
	case s.out.Width > 0:
		clear(s.data[i*s.out.Width : (i+1)*s.out.Width])
	case s.out.Width == batch.WidthText:
		s.end(i)
	}
	switch s.op {
	case opRow:
		for _, k := range s.kids {
			k.appendNull(c)
		}
	case opVector:
		for range s.items {
			s.kids[0].appendNull(c)
		}
	}
	s.out.Nulls++
	s.out.N++
}

// finish gives the array of all n slots and begins anew.
func (s *slot) finish(n int) (arrow.ArrayData, error) {
	if s.op == opMissing {
		return batch.Nulls(s.mem, s.dt, n), nil
	}
	s.room, s.valid, s.data = 0, nil, nil
	var kids []arrow.ArrayData
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	inner := n
	switch s.op {
	case opList, opMap, opPairs:
		inner = s.out.Used
	case opVector:
		inner = n * s.items
	}
	for _, k := range s.kids {
		d, err := k.finish(inner)
		if err != nil {
			return nil, err
		}
		kids = append(kids, d)
	}
	if m, ok := s.dt.(*arrow.MapType); ok {
		if kids[0].NullN() > 0 {
			return nil, tarnerr.New(tarnerr.Unsupported, "reading Avro column", "keys of maps that are null cannot be read", "column", s.path)
		}
		entries := array.NewData(m.Elem(), inner, []*memory.Buffer{nil}, slices.Clone(kids), 0, 0)
		defer entries.Release()
		return s.out.Finish(s.dt, []arrow.ArrayData{entries}), nil
	}
	return s.out.Finish(s.dt, kids), nil
}

// release drops what an unfinished batch has gathered.
func (s *slot) release() {
	s.out.Release()
	s.room, s.valid, s.data = 0, nil, nil
	for _, k := range s.kids {
		k.release()
	}
}
