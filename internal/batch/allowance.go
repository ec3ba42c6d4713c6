package batch

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// MostBytes is what one batch of a file may take by default. Readers make
// batches a quarter as large, by what they expect.
const MostBytes = 256 << 20

// Allowance bounds the memory that the columns of one batch gather together,
// whatever lengths the bytes claim that they are decoded from: a few bytes can
// stand for any number of nulls, or for a long text many times. Columns count
// what they grow by; who appends to them asks first. Safe for concurrent use;
// without one there are no bounds.
type Allowance struct {
	// Most is the bound in bytes; 0 = MostBytes.
	Most         int64
	slots, texts atomic.Int64
	one          bool
}

// Begin begins a batch. One says that it cannot have fewer rows: then texts,
// which have to be as long as they are, do not count.
func (a *Allowance) Begin(one bool) {
	a.slots.Store(0)
	a.texts.Store(0)
	a.one = one
}

// Used is what the columns have grown by since Begin, in bytes.
func (a *Allowance) Used() int64 { return a.slots.Load() + a.texts.Load() }

// Fits reports that there is room for n bytes of slots: numbers, offsets, nulls.
func (a *Allowance) Fits(n int64) bool {
	return a == nil || n <= a.most()-a.slots.Load() && (a.one || n <= a.most()-a.Used())
}

// FitsText reports that there is room for n bytes of texts.
func (a *Allowance) FitsText(n int64) bool { return a == nil || a.one || n <= a.most()-a.Used() }

func (a *Allowance) most() int64 {
	if a.Most == 0 {
		return MostBytes
	}
	return a.Most
}

// Spend counts bytes of slots that no column counts.
func (a *Allowance) Spend(n int64) {
	if a != nil {
		a.slots.Add(n)
	}
}

func (a *Allowance) spendText(n int64) {
	if a != nil {
		a.texts.Add(n)
	}
}

// SlotBytes is about what a value of a type takes, be it null, without what is
// longer in some values than in others.
func SlotBytes(dt arrow.DataType) int64 {
	const null = 1 // an eighth, rounded up
	switch t := dt.(type) {
	case *arrow.FixedSizeListType:
		return null + int64(t.Len())*SlotBytes(t.Elem())
	case *arrow.StructType:
		n := int64(null)
		for _, f := range t.Fields() {
			n += SlotBytes(f.Type)
		}
		return n
	case arrow.ExtensionType:
		return SlotBytes(t.StorageType())
	case *arrow.NullType:
		return 0
	case arrow.FixedWidthDataType:
		return null + int64(t.BitWidth()+7)/8
	}
	return null + 4 // an offset
}
