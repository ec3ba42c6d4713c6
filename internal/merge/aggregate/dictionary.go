package aggregate

import (
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/binaryrow"
)

// dictionary is a java.util.HashMap of references by the keys of what they name: it
// yields them in the order in which that would.
type dictionary struct {
	code     func(batch.Ref) binaryrow.Row
	hash     func(batch.Ref) int32 // nil: keys stay in the order in which they came
	identity bool                  // no two keys are equal

	entries []batch.Ref // none where removed
	at      map[string]int
	indexed bool // at holds the entries, and there has been a merge
	removed bool
	live    int
	peak    int
	out     []batch.Ref
}

func (d *dictionary) reset() {
	d.entries, d.indexed, d.removed, d.live, d.peak = d.entries[:0], false, false, 0, 0
}

// raw makes refs the entries, as they are.
func (d *dictionary) raw(refs []batch.Ref) {
	d.entries = append(d.entries, refs...)
	d.live = len(d.entries)
}

// index begins a merge.
func (d *dictionary) index() {
	if d.indexed {
		return
	}
	if d.at == nil {
		d.at = map[string]int{}
	}
	clear(d.at)
	refs := append(d.out[:0], d.entries...)
	d.out = refs
	d.entries, d.live, d.peak, d.indexed, d.removed = d.entries[:0], 0, 0, true, false
	for _, r := range refs {
		d.put(r)
	}
}

func (d *dictionary) get(r batch.Ref) (batch.Ref, bool) {
	if d.identity {
		return none, false
	}
	i, ok := d.at[string(d.code(r))]
	if !ok {
		return none, false
	}
	return d.entries[i], true
}

// put makes r the entry of its key, in the place of the one before.
func (d *dictionary) put(r batch.Ref) {
	if !d.identity {
		key := d.code(r)
		if i, ok := d.at[string(key)]; ok {
			d.entries[i] = r
			return
		}
		d.at[string(key)] = len(d.entries)
	}
	d.entries = append(d.entries, r)
	d.live++
	d.peak = max(d.peak, d.live)
}

// remove takes the entry with the key of r out.
func (d *dictionary) remove(r batch.Ref) {
	if d.identity {
		return
	}
	key := d.code(r)
	if i, ok := d.at[string(key)]; ok {
		delete(d.at, string(key))
		d.entries[i], d.removed = none, true
		d.live--
	}
}

// settle ends a merge: the entries are brought into their order.
func (d *dictionary) settle() {
	if !d.indexed {
		return
	}
	kept := d.entries[:0]
	for _, r := range d.entries {
		if r != none {
			kept = append(kept, r)
		}
	}
	if d.entries = kept; d.hash != nil {
		javaOrder(d.entries, d.peak, d.hash)
	}
	d.indexed, d.removed = false, false
}

// refs are the entries, in order after settle.
func (d *dictionary) refs() []batch.Ref { return d.entries }

// swap makes refs the entries, as they are, and returns those before.
func (d *dictionary) swap(refs []batch.Ref) []batch.Ref {
	d.settle()
	before := append([]batch.Ref(nil), d.entries...)
	d.reset()
	d.raw(refs)
	return before
}
