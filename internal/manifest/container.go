package manifest

import (
	"bytes"

	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/internal/ocf"
	"github.com/tarnlake/tarn/tarnerr"
)

// container is an open object container.
type container struct {
	schema []byte
	codec  string
	marker []byte
	data   []byte // the whole file
	pos    int    // where the next block begins
	plain  int    // bytes of blocks decompressed so far
}

// openContainer reads the header of a container that data holds as a whole.
func openContainer(data []byte) (*container, error) {
	const op = "reading Avro container"
	switch {
	case bytes.HasPrefix(data, []byte("PAR1")):
		return nil, tarnerr.New(tarnerr.Unsupported, op, "manifests in Parquet", "manifest.format", "parquet")
	case bytes.HasPrefix(data, []byte("ORC")):
		return nil, tarnerr.New(tarnerr.Unsupported, op, "manifests in ORC", "manifest.format", "orc")
	}
	c := ocf.Cursor{Buf: data}
	h := c.Header()
	if err := c.Error(op); err != nil {
		return nil, err
	}
	return &container{schema: h.Schema, codec: h.Codec, marker: h.Marker, data: data, pos: c.Pos}, ocf.CheckCodec(h.Codec)
}

// A manifest decompresses to at most so many bytes, or so many times its size:
// entries, however alike, come to a tenth of that.
const (
	plainAlways = 64 << 20
	plainTimes  = 256
)

// next returns the records of the next block, decompressed into dst, and how
// many they are; more is false after the last block.
func (f *container) next(dst []byte) (records []byte, count int, more bool, err error) {
	start := f.pos
	packed, n, more, err := f.nextPacked()
	if err != nil || !more {
		return nil, 0, false, err
	}
	records, count, err = f.unpack(packed, n, dst)
	return records, count, err == nil, tarnerr.Trace("reading block of Avro container", err, "offset", start)
}

// unpack decompresses a block of n records into dst.
func (f *container) unpack(packed []byte, n int64, dst []byte) (records []byte, count int, err error) {
	const op = "reading block of Avro container"
	if records, err = ocf.Unpack(f.codec, dst, packed); err != nil {
		return nil, 0, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	if f.plain += len(records); f.plain > plainAlways && f.plain/plainTimes > len(f.data) {
		return nil, 0, tarnerr.New(tarnerr.Corrupt, op, "manifest decompresses to more than entries could", "bytes", f.plain, "file", len(f.data))
	}
	if n < 0 || n > int64(len(records)) {
		return nil, 0, tarnerr.New(tarnerr.Corrupt, op, "more records than bytes", "records", n)
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
	c := ocf.Cursor{Buf: f.data, Pos: f.pos}
	n = c.Long()
	packed = c.Text()
	marker := c.Take(ocf.MarkerSize)
	if c.Err != nil {
		return nil, 0, false, c.Error("reading block of Avro container", "offset", start)
	}
	if !bytes.Equal(marker, f.marker) {
		return nil, 0, false, tarnerr.New(tarnerr.Corrupt, "reading block of Avro container", "sync marker does not follow the block", "offset", start)
	}
	f.pos = c.Pos
	return packed, n, true, nil
}

// blocksLeft tells whether another block follows.
func (f *container) blocksLeft() bool { return f.pos < len(f.data) }

// containerWriter writes an object container through write.
type containerWriter struct {
	write   func([]byte) error
	zstd    *zstd.Encoder
	codec   string
	marker  [ocf.MarkerSize]byte
	records []byte // of the block under construction; appended to by the caller
	count   int64
	packed  []byte
	size    int64 // bytes given to write so far
}

// begin writes the header.
func (w *containerWriter) begin(schema string) error {
	return w.emit(append(ocf.AppendHeader(nil, schema, w.codec), w.marker[:]...))
}

// added notes that the caller has appended records to records.
func (w *containerWriter) added(n int) error {
	w.count += int64(n)
	if len(w.records) < ocf.BlockSize {
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
	if w.packed, err = ocf.Pack(w.codec, w.packed[:0], w.records, w.encode); err != nil {
		return err
	}
	n := w.count
	w.records, w.count = w.records[:0], 0
	return w.block(w.packed, n)
}

func (w *containerWriter) encode(dst, block []byte) []byte { return w.zstd.EncodeAll(block, dst) }

// block writes a block that is compressed already; none may be under construction.
func (w *containerWriter) block(packed []byte, n int64) error {
	if err := w.emit(ocf.AppendLong(ocf.AppendLong(make([]byte, 0, 20), n), int64(len(packed)))); err != nil {
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

func appendLong(dst []byte, v int64) []byte { return ocf.AppendLong(dst, v) }

func appendBytes(dst, b []byte) []byte { return ocf.AppendText(dst, b) }

func appendString(dst []byte, s string) []byte { return ocf.AppendText(dst, s) }

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
