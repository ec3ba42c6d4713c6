package table

import (
	"encoding"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

var (
	_ encoding.BinaryMarshaler   = Message{}
	_ encoding.BinaryUnmarshaler = (*Message)(nil)
	_ encoding.BinaryMarshaler   = Split{}
	_ encoding.BinaryUnmarshaler = (*Split)(nil)
)

func TestZeroNounsAreRefused(t *testing.T) {
	if _, err := (Message{}).MarshalBinary(); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Error(err)
	}
	if _, err := (Split{}).MarshalBinary(); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Error(err)
	}
	if s := (Split{}); s.Files() != 0 || s.RowCount() != 0 || s.Bucket() != 0 || !(Message{}).IsEmpty() {
		t.Error("a zero noun is empty")
	}
	for _, data := range [][]byte{nil, {1}, make([]byte, 40)} {
		if _, err := UnmarshalMessage(MessageVersion, data); err == nil {
			t.Errorf("%x became a message", data)
		}
	}
	if _, err := UnmarshalMessage(MessageVersion+1, nil); tarnerr.KindOf(err) != tarnerr.Unsupported {
		t.Error(err)
	}
	if err := (&Split{}).UnmarshalBinary([]byte{1, 2}); err == nil || tarnerr.KindOf(err) != tarnerr.Corrupt {
		t.Error(err)
	}
}
