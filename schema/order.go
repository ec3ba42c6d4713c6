package schema

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
)

// hashMapOrder is the order in which a java.util.HashMap made from a map of
// this size iterates, so that schema files come out as Java's. Nothing but
// byte equality depends on it. Keys of one hash bin, which Java keeps in the
// order they came in, are sorted by name.
func hashMapOrder(m map[string]string) []string {
	type slot struct {
		bin uint32
		key string
	}
	slots := make([]slot, 0, len(m))
	for k := range m {
		slots = append(slots, slot{hashBin(k, len(m)), k})
	}
	slices.SortFunc(slots, func(a, b slot) int {
		if a.bin != b.bin {
			return int(a.bin) - int(b.bin)
		}
		return strings.Compare(a.key, b.key)
	})
	keys := make([]string, len(slots))
	for i, s := range slots {
		keys[i] = s.key
	}
	return keys
}

// hashBin is the bin of a key in a hash map made for size keys. Java 17: the
// table has the power of two that holds size/0.75 + 1.
func hashBin(key string, size int) uint32 {
	capacity := uint32(1)
	if n := uint32(float32(size)/0.75 + 1); n > 1 {
		capacity = 1 << bits.Len32(n-1)
	}
	h := stringHash(key)
	return (h ^ h>>16) & (capacity - 1)
}

// stringHash is java.lang.String.hashCode.
func stringHash(s string) uint32 {
	var h uint32
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(u)
	}
	return h
}
