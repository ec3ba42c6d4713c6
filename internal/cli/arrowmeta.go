package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// checkMetadata checks the vectors of a message's header, a flatbuffer: arrow-go takes
// memory for as many columns, children, attributes and buffers as they say to hold,
// and a damaged length would end the process. Everything else that is damaged arrow-go
// meets as an index out of range, and makes an error of. The slots are those of
// Message.fbs and Schema.fbs of the Arrow format.
func checkMetadata(b []byte, views viewColumns) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("a message whose header points outside of itself")
		}
	}()
	f := flatbuffer{b: b, tables: len(b) / 4}
	msg := f.at(0)
	if err := f.vector(msg, 4, 4); err != nil { // custom_metadata
		return err
	}
	header, ok := f.slot(msg, 2)
	if !ok {
		return errors.New("a message without header")
	}
	kind, typed := f.slot(msg, 1)
	if !typed {
		return errors.New("a message of no type")
	}
	const schema, dictionary, record = 1, 2, 3
	switch t := f.at(header); b[kind] {
	case schema:
		return errors.Join(f.vector(t, 2, 4), f.columns(t, 1))
	case dictionary:
		data, ok := f.slot(t, 1)
		if !ok {
			return errors.New("a dictionary without values")
		}
		return f.record(f.at(data), views.dictionary)
	case record:
		return f.record(t, views.record)
	}
	return nil
}

// flatbuffer reads one; what is outside of it panics.
type flatbuffer struct {
	b      []byte
	tables int // that may be met yet: more than fit in only a loop of them has
}

// at follows the offset at pos.
func (f *flatbuffer) at(pos int) int { return pos + int(binary.LittleEndian.Uint32(f.b[pos:])) }

// slot is where a table has its member i; not ok where it has none, or none but the
// default.
func (f *flatbuffer) slot(table, i int) (pos int, ok bool) {
	slots := table - int(int32(binary.LittleEndian.Uint32(f.b[table:])))
	at := 4 + 2*i
	if at >= int(binary.LittleEndian.Uint16(f.b[slots:])) {
		return 0, false
	}
	off := int(binary.LittleEndian.Uint16(f.b[slots+at:]))
	return table + off, off != 0
}

// vector checks that the elements of member i, of size bytes each, are there.
func (f *flatbuffer) vector(table, i, size int) error {
	_, _, err := f.elements(table, i, size)
	return err
}

func (f *flatbuffer) elements(table, i, size int) (first, n int, err error) {
	pos, ok := f.slot(table, i)
	if !ok {
		return 0, 0, nil
	}
	first = f.at(pos) + 4
	n = int(binary.LittleEndian.Uint32(f.b[first-4:]))
	if n > (len(f.b)-first)/size {
		return 0, 0, fmt.Errorf("a message whose header says to hold %d parts, and does not", n)
	}
	return first, n, nil
}

// columns checks the fields that are member i of a table, and the fields in them.
func (f *flatbuffer) columns(table, i int) error {
	first, n, err := f.elements(table, i, 4)
	if err != nil {
		return err
	}
	for c := range n {
		if f.tables--; f.tables < 0 {
			return errors.New("columns that hold themselves")
		}
		field := f.at(first + 4*c)
		if err := errors.Join(f.vector(field, 6, 4), f.columns(field, 5)); err != nil {
			return err
		}
	}
	return nil
}

// record checks a table of the nodes and buffers of a batch, which has at least so many
// columns of views: arrow-go reads a number of buffers for each, be it there or not.
func (f *flatbuffer) record(table, views int) error {
	if err := f.vector(table, 1, 16); err != nil {
		return err
	}
	_, buffers, err := f.elements(table, 2, 16)
	if err != nil {
		return err
	}
	first, n, err := f.elements(table, 4, 8) // buffers per column of views
	if err == nil && n < views {
		return fmt.Errorf("a batch that tells the buffers of %d columns, and has %d", n, views)
	}
	for c := range n {
		if views := binary.LittleEndian.Uint64(f.b[first+8*c:]); views > uint64(buffers) {
			return fmt.Errorf("a column of %d buffers in a batch of %d", views, buffers)
		}
	}
	return err
}

// viewColumns are how many columns of views a batch has, and the fewest that the values
// of a dictionary have.
type viewColumns struct{ record, dictionary int }

func viewsOf(s *arrow.Schema) (v viewColumns) {
	var dictionaries []int
	var count func(t arrow.DataType) int
	count = func(t arrow.DataType) (n int) {
		switch t := t.(type) {
		case arrow.BinaryViewDataType:
			return 1
		case *arrow.DictionaryType:
			dictionaries = append(dictionaries, count(t.ValueType))
		case arrow.NestedType:
			for _, f := range t.Fields() {
				n += count(f.Type)
			}
		}
		return n
	}
	for _, f := range s.Fields() {
		v.record += count(f.Type)
	}
	if len(dictionaries) > 0 {
		v.dictionary = slices.Min(dictionaries)
	}
	return v
}
