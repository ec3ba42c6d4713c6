package option

// ParseMemorySize reads a size such as "512 mb", as table options and settings write
// it, in bytes; name is what the error names.
func ParseMemorySize(name, value string) (int64, error) { return parseMemorySize(name, value) }
