package uniontest

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

// Union appends the union of two sets.
type Union = func(dst, a, b []byte) ([]byte, error)

// Javas reads testdata/name.txt, two sets and their union a line, and expects the
// same bytes. Of a set that is cut anywhere the answer is Corrupt; whole says of
// which beginnings of one this cannot be told.
func Javas(t *testing.T, name string, union Union, whole func(set []byte, n int) bool) {
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		a, b, want := Of(t, line)
		got, err := union([]byte("before"), a, b)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if string(got) != "before"+string(want) {
			t.Errorf("%s of\n %x\n %x\n want %x\n got  %x", name, a, b, want, got[6:])
		}
		for n := 0; n < len(a); n += 1 + len(a)/50 {
			if _, err := union(nil, a[:n], b); err == nil && !whole(a, n) {
				t.Errorf("%s: %d of %d bytes are taken", name, n, len(a))
			} else if err != nil && tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Fatal(err)
			}
		}
	}
}

// Of reads a line: two sets and their union.
func Of(t testing.TB, line string) (a, b, union []byte) {
	parts := strings.Fields(line)
	if len(parts) != 3 {
		t.Fatalf("no union: %q", line)
	}
	var out [3][]byte
	for i, p := range parts {
		var err error
		if out[i], err = hex.DecodeString(p); err != nil {
			t.Fatal(err)
		}
	}
	return out[0], out[1], out[2]
}
