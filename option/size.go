package option

import "time"

// ParseMemorySize reads a size such as "512 mb", as table options and settings write
// it, in bytes; name is what the error names.
func ParseMemorySize(name, value string) (int64, error) { return parseMemorySize(name, value) }

// ParseDuration reads a time interval such as "36 h" or "7d", as table options write
// it; name is what the error names. Without a unit it is in milliseconds; what does not
// fit 292 years is the longest interval there is.
func ParseDuration(name, value string) (time.Duration, error) { return parseDuration(name, value) }
