package roaring

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/merge/aggregate/uniontest"
	"github.com/tarnlake/tarn/tarnerr"
)

// The unions of testdata were made by Java.
func TestUnionsAreJavas(t *testing.T) {
	for name, union := range map[string]uniontest.Union{"rbm32": Union32, "rbm64": Union64} {
		uniontest.Javas(t, name, union, func([]byte, int) bool { return false })
	}
}

// Random containers of all forms are united as sets are, in any number of keys.
func TestUnionsAreSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	forms := map[form]int{}
	for range 60 {
		x, y := randomBitmap(rnd), randomBitmap(rnd)
		want := map[uint16]*set{}
		for _, m := range []*bitmap32{x, y} {
			for i, c := range m.parts {
				if want[m.keys[i]] == nil {
					want[m.keys[i]] = &set{}
				}
				want[m.keys[i]].add(c)
			}
		}
		out, err := Union32(nil, x.append(nil), y.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		z, err := decode32(out)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(z.keys, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("containers of %v", z.keys)
		}
		for i, c := range z.parts {
			var s set
			if s.add(c); s != *want[z.keys[i]] {
				t.Fatalf("container %d of form %d holds other numbers", z.keys[i], c.form)
			}
		}
		for _, c := range z.parts {
			forms[c.form]++
		}
		if again, err := Union32(nil, out, out); err != nil || !bytes.Equal(again, out) {
			t.Fatal("a union with itself is another", err)
		}
	}
	if len(forms) != 3 {
		t.Errorf("forms reached: %v", forms)
	}
}

func randomBitmap(rnd *rand.Rand) *bitmap32 {
	m := &bitmap32{}
	for key := range uint16(6) {
		if rnd.IntN(3) == 0 {
			continue
		}
		var s set
		switch rnd.IntN(4) {
		case 0:
			for range 1 + rnd.IntN(50) {
				s[rnd.IntN(1024)] |= 1 << rnd.IntN(64)
			}
		case 1:
			for range 1 + rnd.IntN(5) {
				from := rnd.IntN(full)
				s.fill(from, min(from+rnd.IntN(9000), full-1))
			}
		case 2:
			for i := range s {
				s[i] = rnd.Uint64() & rnd.Uint64()
			}
		case 3:
			s.fill(0, full-1)
		}
		card, n := s.count()
		f := array
		if rnd.IntN(2) == 0 {
			f = runs
		} else if card > maxArray {
			f = bitsN
		}
		m.add(key, s.container(f, card, n))
	}
	return m
}

// The tree grows through all kinds of nodes, and finds every key at each size.
func TestTree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, spread := range []int{1, 2, 6} {
		var root *node
		var keys [][keyBytes]byte
		known := map[[keyBytes]byte]int64{}
		for len(keys) < min(600, 1<<(8*spread)) {
			var k [keyBytes]byte
			for i := keyBytes - spread; i < keyBytes; i++ {
				k[i] = byte(rnd.IntN(1 << min(8, 3+len(keys)/5)))
			}
			if _, ok := known[k]; ok {
				continue
			}
			known[k] = int64(len(keys))
			keys = append(keys, k)
			root = root.insert(&node{kind: leafNode, key: k, index: known[k]}, 0)
		}
		stored := root.append(nil)
		read, err := (&reader{b: stored, total: len(stored)}).node(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read.append(nil), stored) {
			t.Error("a tree read is stored otherwise")
		}
		for _, n := range []*node{root, read} {
			for k, i := range known {
				if leaf := n.find(k); leaf == nil || leaf.index != i {
					t.Fatalf("key %x is not found", k)
				}
			}
			var walked [][keyBytes]byte
			n.walk(func(leaf *node) { walked = append(walked, leaf.key) })
			if len(walked) != len(known) || !slices.IsSortedFunc(walked, func(a, b [keyBytes]byte) int { return bytes.Compare(a[:], b[:]) }) {
				t.Error("the walk is not in order")
			}
		}
		if root.find([keyBytes]byte{0xff, 0xfe, 0xfd, 1, 2, 3}) != nil {
			t.Error("found what is not there")
		}
	}
}

func FuzzUnion32(f *testing.F) { fuzzUnion(f, "rbm32", Union32) }
func FuzzUnion64(f *testing.F) { fuzzUnion(f, "rbm64", Union64) }

func fuzzUnion(f *testing.F, name string, union func(dst, a, b []byte) ([]byte, error)) {
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		a, b, _ := uniontest.Of(f, line)
		f.Add(a, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		out, err := union(nil, a, b)
		if err != nil {
			if tarnerr.KindOf(err) != tarnerr.Corrupt {
				t.Fatal(err)
			}
			return
		}
		if _, err := union(nil, out, a); err != nil {
			t.Fatalf("a union cannot be read: %v", err)
		}
	})
}
