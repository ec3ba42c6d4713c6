package parquet

import "encoding/binary"

// thriftOut writes Thrift's compact protocol.
type thriftOut struct {
	b     []byte
	id    int16 // of the field before
	outer []int16
}

func (o *thriftOut) reset() { o.b, o.id, o.outer = o.b[:0], 0, o.outer[:0] }

func (o *thriftOut) field(id int16, typ byte) {
	if d := id - o.id; d > 0 && d <= 15 {
		o.b = append(o.b, byte(d)<<4|typ)
	} else {
		o.b = append(o.b, typ)
		o.number(int64(id))
	}
	o.id = id
}

func (o *thriftOut) number(v int64) {
	o.b = binary.AppendUvarint(o.b, uint64(v<<1)^uint64(v>>63))
}

func (o *thriftOut) text(v string) {
	o.b = append(binary.AppendUvarint(o.b, uint64(len(v))), v...)
}

func (o *thriftOut) i32(id int16, v int32) {
	o.field(id, thriftI32)
	o.number(int64(v))
}

func (o *thriftOut) i64(id int16, v int64) {
	o.field(id, thriftI64)
	o.number(v)
}

func (o *thriftOut) i8(id int16, v int8) {
	o.field(id, thriftByte)
	o.b = append(o.b, byte(v))
}

func (o *thriftOut) bool(id int16, v bool) {
	if v {
		o.field(id, thriftTrue)
	} else {
		o.field(id, thriftFalse)
	}
}

func (o *thriftOut) bytes(id int16, v []byte) {
	o.field(id, thriftBinary)
	o.b = append(binary.AppendUvarint(o.b, uint64(len(v))), v...)
}

func (o *thriftOut) string(id int16, v string) {
	o.field(id, thriftBinary)
	o.text(v)
}

// list begins a list, whose n elements follow.
func (o *thriftOut) list(id int16, typ byte, n int) {
	o.field(id, thriftList)
	if n < 15 {
		o.b = append(o.b, byte(n)<<4|typ)
		return
	}
	o.b = binary.AppendUvarint(append(o.b, 0xf0|typ), uint64(n))
}

// begin starts a struct that is field id; close ends it.
func (o *thriftOut) begin(id int16) {
	o.field(id, thriftStruct)
	o.open()
}

// open starts a struct that is an element of a list.
func (o *thriftOut) open() {
	o.outer = append(o.outer, o.id)
	o.id = 0
}

func (o *thriftOut) close() {
	o.b = append(o.b, thriftStop)
	last := len(o.outer) - 1
	o.id, o.outer = o.outer[last], o.outer[:last]
}

// end ends the outermost struct.
func (o *thriftOut) end() { o.b = append(o.b, thriftStop) }
