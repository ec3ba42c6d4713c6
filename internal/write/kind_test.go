package write

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A row kind that is none is told as it was, whatever stands in its memory later.
func TestWrongKindOutlivesItsRows(t *testing.T) {
	text := []byte("+Ioops")
	data := array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{
		nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 2, 6})), memory.NewBufferBytes(text),
	}, nil, 0, 0)
	defer data.Release()
	col := array.NewStringData(data)
	defer col.Release()
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "kind", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{col}, 2)
	defer rec.Release()
	_, err := kindRules{}.parse(memory.DefaultAllocator, rec)
	clear(text)
	if err == nil || !strings.Contains(err.Error(), "value=oops") {
		t.Errorf("%v", err)
	}
}
