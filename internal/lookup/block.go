package lookup

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/tarnerr"
)

// blockCodec makes bytes of batches of one schema and back: the messages of an Arrow
// stream without the schema, which is the same in all. Immutable.
type blockCodec struct {
	schema *arrow.Schema
	head   []byte // what a stream of the schema begins with
	mem    memory.Allocator
}

// endOfStream is what an Arrow stream ends with: a message of no length.
const endOfStream = 8

func newBlockCodec(schema *arrow.Schema, mem memory.Allocator) (blockCodec, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := w.Close(); err != nil {
		return blockCodec{}, tarnerr.Wrap(tarnerr.Internal, "encoding schema", err)
	}
	return blockCodec{schema: schema, head: b.Bytes()[:b.Len()-endOfStream], mem: mem}, nil
}

// encode puts the bytes of a batch into buf.
func (c *blockCodec) encode(buf *bytes.Buffer, rec arrow.RecordBatch) ([]byte, error) {
	buf.Reset()
	w := ipc.NewWriter(buf, ipc.WithSchema(c.schema), ipc.WithAllocator(c.mem))
	err := w.Write(rec)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Internal, "encoding block", err)
	}
	return buf.Bytes()[len(c.head):], nil
}

// decode reads a batch. The caller releases it.
func (c *blockCodec) decode(data []byte) (arrow.RecordBatch, error) {
	const op = "decoding block"
	r, err := ipc.NewReader(io.MultiReader(bytes.NewReader(c.head), bytes.NewReader(data)), ipc.WithAllocator(c.mem))
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	defer r.Release()
	rec, err := r.Read()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, op, err)
	}
	rec.Retain()
	return rec, nil
}
