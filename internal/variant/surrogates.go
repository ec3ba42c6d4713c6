package variant

import (
	"fmt"
	"strconv"
)

// CheckSurrogates refuses \ud800 to \udfff in JSON text that do not come in pairs;
// Go's decoder would put U+FFFD in their place.
func CheckSurrogates(text []byte) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(text, i)
		switch {
		case !ok || unit < 0xd800 || unit > 0xdfff:
			continue
		case unit < 0xdc00:
			if low, ok := escapedUnit(text, i+6); ok && i+5 < len(text) && text[i+5] == '\\' && low >= 0xdc00 && low <= 0xdfff {
				i += 10
				continue
			}
		}
		return fmt.Errorf("half a surrogate pair: \\%s", text[i:i+5])
	}
	return nil
}

// escapedUnit reads uXXXX at i.
func escapedUnit(text []byte, i int) (uint64, bool) {
	if i+5 > len(text) || text[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
	return n, err == nil
}
