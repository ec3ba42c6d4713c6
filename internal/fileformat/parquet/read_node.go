package parquet

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// readNode is a column, member, element, key or value to be read.
type readNode struct {
	dt     arrow.DataType
	file   *fileNode   // nil: the file does not have it
	leaf   *leafReader // of a leaf
	levels *leafReader // of a group: some leaf below, whose levels tell nulls and lengths
	kids   []*readNode
	mem    memory.Allocator

	allowance *batch.Allowance
}

// readBuilder makes the nodes of one top-level column.
type readBuilder struct {
	file   *File
	mem    memory.Allocator
	nested bool
	leaves []*leafReader

	allowance *batch.Allowance
}

func (b *readBuilder) node(n *fileNode, want types.Type, dt arrow.DataType) (*readNode, error) {
	out := &readNode{dt: dt, file: n, mem: b.mem, allowance: b.allowance}
	if n == nil {
		return out, nil
	}
	if !want.IsNested() {
		if n.leaf < 0 {
			return nil, mismatch(n, want)
		}
		dec, width, err := leafDecoder(n, want)
		if err != nil {
			return nil, err
		}
		out.leaf = b.reader(n, dec, width)
		return out, nil
	}
	if n.leaf >= 0 {
		return nil, mismatch(n, want)
	}
	var err error
	switch want.Root {
	case types.Row:
		err = b.members(out, n, want.Fields, dt.(*arrow.StructType), n.child)
	case types.Variant:
		if len(n.children) != len(variantFields) {
			return nil, tarnerr.New(tarnerr.Unsupported, "reading Parquet column", "shredded VARIANT cannot be read yet", "column", n.path)
		}
		err = b.members(out, n, variantFields, dt.(*arrow.StructType), func(f types.Field) *fileNode {
			for _, c := range n.children {
				if c.element.name == f.Name {
					return c
				}
			}
			return nil
		})
	case types.Array:
		element := n.listElement()
		if element == nil {
			return nil, mismatch(n, want)
		}
		err = b.kid(out, element, *want.Element, dt.(*arrow.ListType).Elem())
	case types.Map, types.Multiset:
		key, value := n.mapEntry()
		if key == nil || value == nil {
			return nil, mismatch(n, want)
		}
		k, v := want.Key, want.Element
		if want.Root == types.Multiset {
			k, v = want.Element, &types.Type{Root: types.Int}
		}
		m := dt.(*arrow.MapType)
		if err = b.kid(out, key, *k, m.KeyType()); err == nil {
			err = b.kid(out, value, *v, m.ItemType())
		}
	default:
		return nil, tarnerr.New(tarnerr.Unsupported, "reading Parquet column", "type cannot be read from Parquet yet",
			"column", n.path, "type", want.String())
	}
	if err != nil {
		return nil, err
	}
	if out.levels = out.anyLeaf(); out.levels == nil {
		first := n.firstLeaf()
		if first == nil {
			return nil, mismatch(n, want)
		}
		// None of the members asked for is there: read one for its levels.
		dec, width, err := leafDecoder(first, leafType(first.element))
		if err != nil {
			return nil, err
		}
		out.levels = b.reader(first, dec, width)
	}
	return out, nil
}

func (b *readBuilder) members(out *readNode, n *fileNode, fields []types.Field, dt *arrow.StructType, find func(types.Field) *fileNode) error {
	for i, f := range fields {
		child := find(f)
		if child != nil && child.element.repetition == repeated {
			return mismatch(child, f.Type)
		}
		if err := b.kid(out, child, f.Type, dt.Field(i).Type); err != nil {
			return err
		}
	}
	return nil
}

func (b *readBuilder) kid(out *readNode, n *fileNode, want types.Type, dt arrow.DataType) error {
	kid, err := b.node(n, want, dt)
	out.kids = append(out.kids, kid)
	return err
}

func (b *readBuilder) reader(n *fileNode, dec decoder, width int) *leafReader {
	l := newLeafReader(b.file, n, dec, batch.Column{Mem: b.mem, Width: width, Allowance: b.allowance}, b.nested)
	b.leaves = append(b.leaves, l)
	return l
}

func (r *readNode) anyLeaf() *leafReader {
	if r.leaf != nil {
		return r.leaf
	}
	for _, k := range r.kids {
		if l := k.anyLeaf(); l != nil {
			return l
		}
	}
	return nil
}

// errNullKey is met in files of writers that declare keys optional: Arrow has no place
// for such a map.
var errNullKey = tarnerr.New(tarnerr.Unsupported, "reading map", "keys of maps that are null cannot be read")

// build makes the array of n values from what the leaves below have read.
func (r *readNode) build(n int) (arrow.ArrayData, error) {
	if r.file == nil {
		if !r.spend(int64(n) * batch.SlotBytes(r.dt)) {
			return nil, errMemory
		}
		return batch.Nulls(r.mem, r.dt, n), nil
	}
	if r.leaf != nil {
		if r.leaf.out.N != n {
			return nil, r.leaf.place(pageError("columns of one group differ in length"))
		}
		return r.leaf.out.Finish(r.dt, nil), nil
	}
	switch dt := r.dt.(type) {
	case *arrow.StructType:
		return r.buildStruct(dt, n)
	case *arrow.MapType:
		return r.buildList(n, func(count int) (arrow.ArrayData, error) {
			entries := dt.Elem().(*arrow.StructType)
			kids, err := r.buildKids(count)
			if err != nil {
				return nil, err
			}
			defer releaseAll(kids)
			if kids[0].NullN() > 0 {
				return nil, r.levels.place(errNullKey)
			}
			return array.NewData(entries, count, []*memory.Buffer{nil}, kids, 0, 0), nil
		})
	default:
		return r.buildList(n, func(count int) (arrow.ArrayData, error) { return r.kids[0].build(count) })
	}
}

// spend takes memory for what no leaf gathers, if there is as much.
func (r *readNode) spend(n int64) bool {
	fits := r.allowance.Fits(n)
	if fits {
		r.allowance.Spend(n)
	}
	return fits
}

func (r *readNode) buildKids(n int) ([]arrow.ArrayData, error) {
	var out []arrow.ArrayData
	for _, k := range r.kids {
		d, err := k.build(n)
		if err != nil {
			releaseAll(out)
			if err == errMemory { // of a member that is not in the file
				err = r.levels.place(err)
			}
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

func (r *readNode) buildStruct(dt *arrow.StructType, n int) (arrow.ArrayData, error) {
	bits := newBitmap(r.mem, n)
	l, i := r.levels, 0
	for k, def := range l.batchDefs {
		if def < r.file.ancestor || l.rep(k) > r.file.rep {
			continue
		}
		if i == n {
			i++
			break
		}
		bits.put(i, def >= r.file.def)
		i++
	}
	if i != n {
		bits.release()
		return nil, l.place(pageError("columns of one group differ in length"))
	}
	kids, err := r.buildKids(n)
	if err != nil {
		bits.release()
		return nil, err
	}
	defer releaseAll(kids)
	validity := bits.finish()
	out := array.NewData(dt, n, []*memory.Buffer{validity}, kids, bits.nulls, 0)
	if validity != nil {
		validity.Release()
	}
	return out, nil
}

// buildList makes a list or map whose elements child makes.
func (r *readNode) buildList(n int, child func(count int) (arrow.ArrayData, error)) (arrow.ArrayData, error) {
	inner := r.file.children[0] // the repeated node
	if !r.spend(int64(n) * batch.SlotBytes(r.dt)) {
		return nil, r.levels.place(errMemory)
	}
	bits := newBitmap(r.mem, n)
	offsets := memory.NewResizableBuffer(r.mem)
	offsets.Resize((n + 1) * 4)
	defer offsets.Release()
	at := valuesOf[int32](offsets.Bytes())
	l, i, count := r.levels, 0, 0
	for k, def := range l.batchDefs {
		rep := l.rep(k)
		if rep <= r.file.rep && def >= r.file.ancestor {
			if i == n {
				i++
				break
			}
			at[i] = int32(count)
			bits.put(i, def >= r.file.def)
			i++
		}
		if def >= inner.def && rep <= inner.rep {
			count++
		}
	}
	if i != n || count > math.MaxInt32 {
		bits.release()
		return nil, l.place(pageError("columns of one group differ in length"))
	}
	at[n] = int32(count)
	values, err := child(count)
	if err != nil {
		bits.release()
		return nil, err
	}
	defer values.Release()
	validity := bits.finish()
	out := array.NewData(r.dt, n, []*memory.Buffer{validity, offsets}, []arrow.ArrayData{values}, bits.nulls, 0)
	if validity != nil {
		validity.Release()
	}
	return out, nil
}

func (l *leafReader) rep(k int) uint8 {
	if l.node.rep == 0 {
		return 0
	}
	return l.batchReps[k]
}

// bitmap is the validity of an array being built.
type bitmap struct {
	buf   *memory.Buffer
	nulls int
}

func newBitmap(mem memory.Allocator, n int) *bitmap {
	b := &bitmap{buf: memory.NewResizableBuffer(mem)}
	b.buf.Resize(int(bitutil.BytesForBits(int64(n))))
	clear(b.buf.Bytes())
	return b
}

func (b *bitmap) put(i int, valid bool) {
	if valid {
		bitutil.SetBit(b.buf.Bytes(), i)
	} else {
		b.nulls++
	}
}

// finish gives the buffer, nil when nothing is null.
func (b *bitmap) finish() *memory.Buffer {
	if b.nulls == 0 {
		b.release()
		return nil
	}
	return b.buf
}

func (b *bitmap) release() { b.buf.Release() }
