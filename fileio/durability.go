package fileio

import "github.com/tarnlake/tarn/tarnerr"

// Durability says when a backend that writes to a disk of this machine calls a
// write done.
type Durability uint8

const (
	// Fsync: what was written and its name survive a power cut. The default.
	Fsync Durability = iota
	// OS: the operating system has it; a power cut may lose it. For tests and
	// tables that can be made again.
	OS
)

// String is the setting's value: fsync or os.
func (d Durability) String() string {
	if d == OS {
		return "os"
	}
	return "fsync"
}

// ParseDurability reads what String prints; "" is the default.
func ParseDurability(s string) (Durability, error) {
	switch s {
	case "", "fsync":
		return Fsync, nil
	case "os":
		return OS, nil
	}
	return Fsync, tarnerr.New(tarnerr.Invalid, "reading durability", "unknown value", "value", s).
		WithHint("Use fsync or os.")
}
