package table

import (
	"github.com/tarnlake/tarn/internal/commitmsg"
	"github.com/tarnlake/tarn/internal/split"
	"github.com/tarnlake/tarn/tarnerr"
)

// MessageVersion is the version of Java's CommitMessageSerializer whose bytes
// Message.MarshalBinary gives. As in Java the version is kept beside the bytes.
const MessageVersion = commitmsg.Version

// MarshalBinary gives the bytes of Java's CommitMessageSerializer, version MessageVersion.
func (m Message) MarshalBinary() ([]byte, error) {
	if m.m == nil {
		return nil, tarnerr.New(tarnerr.Invalid, "serialising commit message", "a message that no writer prepared")
	}
	return m.m.MarshalBinary()
}

// UnmarshalBinary reads the bytes of version MessageVersion.
func (m *Message) UnmarshalBinary(data []byte) error {
	got, err := UnmarshalMessage(MessageVersion, data)
	if err == nil {
		*m = got
	}
	return err
}

// UnmarshalMessage reads the bytes that a writer with the serializer version
// given wrote. Corrupt when they are cut or no message, Unsupported for versions
// of later releases.
func UnmarshalMessage(version int, data []byte) (Message, error) {
	m, err := commitmsg.Decode(version, data)
	if err != nil {
		return Message{}, err
	}
	return Message{m}, nil
}

// IsEmpty reports a message that changes nothing.
func (m Message) IsEmpty() bool { return m.m == nil || m.m.IsEmpty() }

// MarshalBinary gives the bytes of Java's DataSplit.
func (s Split) MarshalBinary() ([]byte, error) {
	if s.s == nil {
		return nil, tarnerr.New(tarnerr.Invalid, "serialising split", "a split that is no split of a plan")
	}
	return s.s.MarshalBinary()
}

// UnmarshalBinary reads what MarshalBinary gives, of this release and earlier ones.
func (s *Split) UnmarshalBinary(data []byte) error {
	got, err := UnmarshalSplit(data)
	if err == nil {
		*s = got
	}
	return err
}

// UnmarshalSplit reads the bytes of Java's DataSplit. Corrupt when they are cut
// or no split, Unsupported for versions of later releases.
func UnmarshalSplit(data []byte) (Split, error) {
	var s split.Split
	if err := s.UnmarshalBinary(data); err != nil {
		return Split{}, err
	}
	return Split{&s}, nil
}
