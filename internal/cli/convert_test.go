package cli

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The text of a value, which errors show, stays when the memory is used again.
func TestTextOutlivesItsArray(t *testing.T) {
	text := []byte("kept")
	data := array.NewData(arrow.BinaryTypes.LargeString, 1, []*memory.Buffer{
		nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes([]int64{0, 4})), memory.NewBufferBytes(text),
	}, nil, 0, 0)
	defer data.Release()
	col := array.NewLargeStringData(data)
	defer col.Release()
	got, err := foreignText(col, 0)
	clear(text)
	if err != nil || got != "kept" {
		t.Errorf("%q, %v", got, err)
	}
}
