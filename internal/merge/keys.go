package merge

import "github.com/apache/arrow-go/v18/arrow"

// Keys are the ordering columns of one batch, made ready to compare, for those
// who sort rows before there is a run to merge. They borrow the batch.
type Keys struct{ k keys }

// Load makes the keys of a batch ready.
func (o *Order) Load(rec arrow.RecordBatch) (*Keys, error) {
	k := &Keys{}
	if err := k.k.load(o, rec); err != nil {
		return nil, err
	}
	return k, nil
}

// Prefix is a number per row whose order never contradicts the order of the
// rows; when the order is exact, equal numbers mean equal rows.
func (k *Keys) Prefix() []uint64 { return k.k.prefix }

// CompareKeys orders row i of a and row j of b, keys of one order.
func CompareKeys(a *Keys, i int, b *Keys, j int) int {
	return compareColumns(a.k.cols, i, b.k.cols, j)
}

// Sequences are the sequence fields of one batch, made ready to compare. They
// borrow the batch.
type Sequences struct {
	cols       []column
	descending bool
}

// LoadSequences makes the sequence fields of a batch ready.
func LoadSequences(cols []Column, descending bool, rec arrow.RecordBatch) (*Sequences, error) {
	s := &Sequences{cols: make([]column, len(cols)), descending: descending}
	for i, c := range cols {
		if err := s.cols[i].load(rec.Column(c.Index)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// null reports that all fields of row i are null.
func (s *Sequences) null(i int) bool {
	for k := range s.cols {
		if !s.cols[k].isNull(i) {
			return false
		}
	}
	return true
}

// CompareSequences orders row i of a and row j of b by age, nulls first: the
// larger one wins, in descending order the one with the smaller value.
func CompareSequences(a *Sequences, i int, b *Sequences, j int) int {
	for k := range a.cols {
		c, done := compareNulls(&a.cols[k], i, &b.cols[k], j)
		if !done {
			if c = compareValues(&a.cols[k], i, &b.cols[k], j); a.descending {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
