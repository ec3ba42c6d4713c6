package manifest

import (
	"bytes"

	"github.com/tarnlake/tarn/tarnerr"
)

// Avro's object container: magic, metadata, a sync marker, then blocks of
// records, each followed by the marker.

const (
	containerMagic = "Obj\x01"
	parquetMagic   = "PAR1"
	orcMagic       = "ORC"

	schemaKey = "avro.schema"
	codecKey  = "avro.codec"

	markerSize = 16
)

// container is an open object container.
type container struct {
	schema *node
	codec  codec
	marker []byte
	data   []byte // the whole file
	pos    int    // where the next block begins
}

// openContainer reads the header of a container that data holds as a whole.
func openContainer(data []byte, schemas *schemaCache) (*container, error) {
	const op = "reading Avro container"
	switch {
	case bytes.HasPrefix(data, []byte(containerMagic)):
	case bytes.HasPrefix(data, []byte(parquetMagic)):
		return nil, tarnerr.New(tarnerr.Unsupported, op, "manifests in Parquet", "manifest.format", "parquet")
	case bytes.HasPrefix(data, []byte(orcMagic)):
		return nil, tarnerr.New(tarnerr.Unsupported, op, "manifests in ORC", "manifest.format", "orc")
	default:
		return nil, tarnerr.New(tarnerr.Corrupt, op, "not an Avro object container", "offset", 0)
	}
	c := cursor{buf: data, pos: len(containerMagic)}
	meta := map[string][]byte{}
	c.blocks(func() {
		key := string(c.take(c.count()))
		meta[key] = c.take(c.count())
	})
	f := &container{marker: c.take(markerSize), data: data, pos: c.pos}
	if c.err != nil {
		return nil, tarnerr.Trace("reading header of Avro container", c.err)
	}
	var err error
	if f.schema, err = schemas.node(meta[schemaKey]); err != nil {
		return nil, err
	}
	if f.codec, err = codecByAvroName(string(meta[codecKey])); err != nil {
		return nil, err
	}
	return f, nil
}

// next returns the records of the next block, decompressed into dst, and how
// many they are; more is false after the last block.
func (f *container) next(cs *codecs, dst []byte) (records []byte, count int, more bool, err error) {
	start := f.pos
	packed, n, more, err := f.nextPacked()
	if err != nil || !more {
		return nil, 0, false, err
	}
	records, count, err = f.unpack(cs, packed, n, dst)
	return records, count, err == nil, tarnerr.Trace("reading block of Avro container", err, "offset", start)
}

// unpack decompresses a block of n records into dst.
func (f *container) unpack(cs *codecs, packed []byte, n int64, dst []byte) (records []byte, count int, err error) {
	if records, err = cs.unpack(f.codec, packed, dst); err != nil {
		return nil, 0, err
	}
	if n < 0 || n > int64(len(records)) {
		return nil, 0, tarnerr.New(tarnerr.Corrupt, "reading block of Avro container", "more records than bytes", "records", n)
	}
	return records, int(n), nil
}

// nextPacked returns the next block as it is stored, and how many records it says
// it has; more is false after the last block.
func (f *container) nextPacked() (packed []byte, n int64, more bool, err error) {
	if !f.blocksLeft() {
		return nil, 0, false, nil
	}
	start := f.pos
	c := cursor{buf: f.data, pos: f.pos}
	n = c.long()
	packed = c.take(c.count())
	marker := c.take(markerSize)
	if c.err != nil {
		return nil, 0, false, tarnerr.Trace("reading block of Avro container", c.err, "offset", start)
	}
	if !bytes.Equal(marker, f.marker) {
		return nil, 0, false, tarnerr.New(tarnerr.Corrupt, "reading block of Avro container", "sync marker does not follow the block", "offset", start)
	}
	f.pos = c.pos
	return packed, n, true, nil
}

// blocksLeft tells whether another block follows.
func (f *container) blocksLeft() bool { return f.pos < len(f.data) }

// Avro's own writers end a block as soon as its records have this many bytes.
const blockSize = 64_000

// containerWriter writes an object container through write.
type containerWriter struct {
	write   func([]byte) error
	codecs  *codecs
	codec   codec
	marker  [markerSize]byte
	records []byte // of the block under construction; appended to by the caller
	count   int64
	packed  []byte
	size    int64 // bytes given to write so far
}

// begin writes the header.
func (w *containerWriter) begin(schema string) error {
	head := []byte(containerMagic)
	head = appendLong(head, 2)
	head = appendString(appendString(head, schemaKey), schema)
	head = appendString(appendString(head, codecKey), w.codec.avroName())
	head = appendLong(head, 0)
	return w.emit(append(head, w.marker[:]...))
}

// added notes that the caller has appended records to records.
func (w *containerWriter) added(n int) error {
	w.count += int64(n)
	if len(w.records) < blockSize {
		return nil
	}
	return w.flush()
}

// flush ends the block, if it has records.
func (w *containerWriter) flush() error {
	if w.count == 0 {
		return nil
	}
	var err error
	if w.packed, err = w.codecs.pack(w.codec, w.records, w.packed[:0]); err != nil {
		return err
	}
	n := w.count
	w.records, w.count = w.records[:0], 0
	return w.block(w.packed, n)
}

// block writes a block that is compressed already; none may be under construction.
func (w *containerWriter) block(packed []byte, n int64) error {
	if err := w.emit(appendLong(appendLong(make([]byte, 0, 20), n), int64(len(packed)))); err != nil {
		return err
	}
	if err := w.emit(packed); err != nil {
		return err
	}
	return w.emit(w.marker[:])
}

func (w *containerWriter) emit(b []byte) error {
	w.size += int64(len(b))
	return w.write(b)
}

// The append functions write Avro values.

func appendLong(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

func appendBytes(dst, b []byte) []byte { return append(appendLong(dst, int64(len(b))), b...) }

func appendString(dst []byte, s string) []byte { return append(appendLong(dst, int64(len(s))), s...) }

// A nullable value is a union with null first: branch 0 or 1.
const (
	nullBranch  = 0
	valueBranch = 2 // 1 in zig-zag
)

func appendOptLong[T int32 | int64](dst []byte, v *T) []byte {
	if v == nil {
		return append(dst, nullBranch)
	}
	return appendLong(append(dst, valueBranch), int64(*v))
}

func appendOptString(dst []byte, v *string) []byte {
	if v == nil {
		return append(dst, nullBranch)
	}
	return appendString(append(dst, valueBranch), *v)
}

func appendOptBytes(dst, v []byte) []byte {
	if v == nil {
		return append(dst, nullBranch)
	}
	return appendBytes(append(dst, valueBranch), v)
}

// appendStrings writes an array of strings as one block.
func appendStrings(dst []byte, vs []string) []byte {
	if len(vs) > 0 {
		dst = appendLong(dst, int64(len(vs)))
		for _, v := range vs {
			dst = appendString(dst, v)
		}
	}
	return append(dst, 0)
}

func appendOptStrings(dst []byte, vs []string) []byte {
	if vs == nil {
		return append(dst, nullBranch)
	}
	return appendStrings(append(dst, valueBranch), vs)
}
