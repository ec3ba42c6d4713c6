package orc

import (
	"errors"
	"math"
	"slices"

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
	dt   arrow.DataType
	file *fileNode // nil: the file does not have it
	in   *File
	mem  memory.Allocator
	kids []*readNode
	dec  decoder // of a leaf
	out  batch.Column

	// Of the stripe at hand.
	stripe  int
	present *bitRuns // nil: nothing is null
	lengths *intRuns // of lists and maps
	vals    []int64
	bits    []byte
}

// stepSlots is how many slots are read at a time: buffers grow with what the
// streams really hold, whatever lengths they claim.
const stepSlots = 64 << 10

func (f *File) readNode(n *fileNode, want types.Type, dt arrow.DataType, allowance *batch.Allowance) (*readNode, error) {
	out := &readNode{dt: dt, file: n, in: f, mem: f.mem, out: batch.Column{Mem: f.mem, Allowance: allowance}}
	if n == nil {
		return out, nil
	}
	var err error
	out.out.Width = batch.WidthNone
	kid := func(n *fileNode, want types.Type, dt arrow.DataType) {
		if err != nil {
			return
		}
		var k *readNode
		k, err = f.readNode(n, want, dt, allowance)
		out.kids = append(out.kids, k)
	}
	switch {
	case !want.IsNested():
		out.dec, out.out.Width, err = leafDecoder(n, want)
	case want.Root == types.Row && n.kind == kindStruct:
		for i, m := range want.Fields {
			kid(n.child(m), m.Type, dt.(*arrow.StructType).Field(i).Type)
		}
	case want.Root == types.Array && n.kind == kindList:
		out.out.Width = batch.WidthText
		kid(n.children[0], *want.Element, dt.(*arrow.ListType).Elem())
	case (want.Root == types.Map || want.Root == types.Multiset) && n.kind == kindMap:
		out.out.Width = batch.WidthText
		k, v := want.Key, want.Element
		if want.Root == types.Multiset {
			k, v = want.Element, &types.Type{Root: types.Int}
		}
		m := dt.(*arrow.MapType)
		kid(n.children[0], *k, m.KeyType())
		kid(n.children[1], *v, m.ItemType())
	default:
		err = mismatch(n, want)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// columns are the numbers of the nodes read.
func (r *readNode) columns(dst []int) []int {
	if r.file == nil {
		return dst
	}
	dst = append(dst, r.file.column)
	for _, k := range r.kids {
		dst = k.columns(dst)
	}
	return dst
}

// start begins a stripe, or a run of its row groups.
func (r *readNode) start(s *stripe) error {
	if r.file == nil {
		return nil
	}
	r.stripe = s.index
	r.lengths = nil
	var err error
	if r.present, err = s.bits(r.file.column, streamPresent); err != nil {
		return r.place(err)
	}
	switch {
	case r.dec != nil:
		err = r.dec.start(s, r.file)
	case r.out.Width == batch.WidthText:
		r.lengths, err = s.ints(r.file.column, streamLength, false)
	}
	if err != nil {
		return r.place(err)
	}
	for _, k := range r.kids {
		if err := k.start(s); err != nil {
			return err
		}
	}
	return nil
}

// place says where broken bytes are.
func (r *readNode) place(err error) error {
	kv := []any{"path", r.in.Path, "stripe", r.stripe}
	var broken dataError
	if !errors.As(err, &broken) {
		return tarnerr.Trace("reading ORC file", err, kv...)
	}
	if r.file != nil {
		kv = append(kv, "column", r.file.path)
	}
	kind := tarnerr.Corrupt
	if broken == errTexts {
		kind = tarnerr.Unsupported
	}
	return tarnerr.Wrap(kind, "reading ORC file", broken, kv...)
}

// read makes the array of the next n slots. The streams hold those that mask
// marks; nil marks all.
func (r *readNode) read(n int, mask []byte) (arrow.ArrayData, error) {
	if size := int64(n) * batch.SlotBytes(r.dt); r.file == nil {
		if !r.out.Allowance.Fits(size) {
			return nil, r.place(errTooLarge)
		}
		r.out.Allowance.Spend(size)
		return batch.Nulls(r.mem, r.dt, n), nil
	}
	for r.out.N < n {
		if err := r.step(min(n-r.out.N, stepSlots), mask); err != nil {
			r.out.Release()
			return nil, r.place(err)
		}
	}
	if r.dec != nil {
		return r.out.Finish(r.dt, nil), nil
	}
	kids, err := r.readKids(n)
	if err != nil {
		r.out.Release()
		return nil, err
	}
	defer releaseAll(kids)
	return r.out.Finish(r.dt, kids), nil
}

// step reads the node's own part of k slots.
func (r *readNode) step(k int, mask []byte) error {
	// What grows doubles.
	if !r.out.Allowance.Fits(int64(max(r.out.N, k)) * int64(max(r.out.Width, 0)+5)) {
		return errTooLarge
	}
	valid, err := r.validity(k, mask)
	if err != nil {
		return err
	}
	r.out.Reserve(r.out.N + k)
	switch {
	case r.dec != nil:
		err = r.dec.read(&r.out, valid)
	case r.lengths != nil:
		err = r.readLengths(valid)
	}
	if err != nil {
		return err
	}
	r.out.Spread(k, valid)
	return nil
}

// validity reads which of the next k slots have a value.
func (r *readNode) validity(k int, mask []byte) (valid int, err error) {
	from := r.out.N
	if r.present == nil && mask == nil {
		if r.out.Validity != nil {
			bitutil.SetBitsTo(r.out.Nullable(from+k), int64(from), int64(k), true)
		}
		return k, nil
	}
	bits := r.out.Nullable(from + k)
	if mask == nil {
		return r.present.read(bits, from, k)
	}
	held := bitutil.CountSetBits(mask, from, k)
	if r.present == nil {
		bitutil.CopyBitmap(mask, from, k, bits, from)
		return held, nil
	}
	r.bits = sized(r.bits, held/8+1)
	clear(r.bits)
	if valid, err = r.present.read(r.bits, 0, held); err != nil {
		return 0, err
	}
	at := 0
	for i := from; i < from+k; i++ {
		if bitutil.BitIsSet(mask, i) {
			if bitutil.BitIsSet(r.bits, at) {
				bitutil.SetBit(bits, i)
			}
			at++
		}
	}
	return valid, nil
}

// readLengths appends k lists: their ends are the offsets, c.Used their elements.
func (r *readNode) readLengths(k int) error {
	from := r.out.N
	r.vals = sizedOf(r.vals, min(max(k, 1), scratchValues))
	for k > 0 {
		vals := r.vals[:min(k, len(r.vals))]
		if err := r.lengths.read(vals); err != nil {
			return err
		}
		offsets := valuesOf[int32](r.out.Offsets.Bytes())[from:]
		for i, n := range vals {
			if n < 0 {
				return errLength
			}
			if n > int64(math.MaxInt32-r.out.Used) {
				return errTooLarge
			}
			r.out.Used += int(n)
			offsets[i+1] = int32(r.out.Used)
		}
		from, k = from+len(vals), k-len(vals)
	}
	return nil
}

func (r *readNode) readKids(n int) ([]arrow.ArrayData, error) {
	var mask []byte
	if r.lengths != nil {
		n = r.out.Used
	} else if r.out.Nulls > 0 {
		mask = r.out.Validity.Bytes()
	}
	var kids []arrow.ArrayData
	for _, k := range r.kids {
		d, err := k.read(n, mask)
		if err != nil {
			releaseAll(kids)
			return nil, err
		}
		kids = append(kids, d)
	}
	m, ok := r.dt.(*arrow.MapType)
	if !ok {
		return kids, nil
	}
	defer releaseAll(kids)
	if kids[0].NullN() > 0 {
		return nil, tarnerr.New(tarnerr.Unsupported, "reading ORC column", "keys of maps that are null cannot be read",
			"path", r.in.Path, "stripe", r.stripe, "column", r.file.path)
	}
	return []arrow.ArrayData{array.NewData(m.Elem(), n, []*memory.Buffer{nil}, slices.Clone(kids), 0, 0)}, nil
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

// forget is for batches of fewer rows than the last one had.
func (r *readNode) forget() {
	r.out.Forget()
	for _, k := range r.kids {
		k.forget()
	}
}

// release drops what an unfinished batch has gathered.
func (r *readNode) release() {
	r.out.Release()
	for _, k := range r.kids {
		k.release()
	}
}
