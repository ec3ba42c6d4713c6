package batch

// Ref names one row of one of the sources of a gather: the number of the source
// in the upper 32 bits, the row in the lower ones. Consecutive rows of a source
// are consecutive numbers.
type Ref uint64

// NewRef names row row of source source.
func NewRef(source, row int) Ref { return Ref(uint64(source)<<32 | uint64(uint32(row))) }

// Source is the number of the source.
func (r Ref) Source() int { return int(r >> 32) }

// Row is the row within the source.
func (r Ref) Row() int { return int(uint32(r)) }

// AppendRange appends the rows [from, to) of a source to refs.
func AppendRange(refs []Ref, source, from, to int) []Ref {
	r := NewRef(source, from)
	for range to - from {
		refs = append(refs, r)
		r++
	}
	return refs
}

// run is the number of refs from the first on that are consecutive rows of one source.
func run(refs []Ref) int {
	n := 1
	for n < len(refs) && refs[n] == refs[0]+Ref(n) {
		n++
	}
	return n
}
