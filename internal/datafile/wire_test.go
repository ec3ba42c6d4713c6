package datafile

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestUTF(t *testing.T) {
	for _, s := range []string{"", "a", "grüße", "\x00", "😀", "a\x00😀b", "\uffff", strings.Repeat("x", 65535)} {
		b, err := AppendUTF(nil, s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		w := NewWire(b)
		if got := w.UTF(); got != s || w.End() != nil {
			t.Errorf("%q: %q %v", s, got, w.Err())
		}
	}
	if b, err := AppendUTF(nil, "\x00"); err != nil || string(b) != "\x00\x02\xc0\x80" {
		t.Errorf("a zero byte: %x %v", b, err)
	}
	if b, err := AppendUTF(nil, "😀"); err != nil || string(b) != "\x00\x06\xed\xa0\xbd\xed\xb8\x80" {
		t.Errorf("a surrogate pair: %x %v", b, err)
	}
	if _, err := AppendUTF(nil, strings.Repeat("\x00", 40000)); err == nil || tarnerr.KindOf(err) != tarnerr.Invalid {
		t.Errorf("too long: %v, want Invalid", err)
	}
	for _, bad := range []string{"", "\x00", "\x00\x01", "\x00\x01\xff", "\x00\x02\xc0\x00", "\x00\x02\xe0\x80"} {
		w := NewWire([]byte(bad))
		if w.UTF(); w.Err() == nil || tarnerr.KindOf(w.Err()) != tarnerr.Corrupt {
			t.Errorf("%x: %v, want Corrupt", bad, w.Err())
		}
	}
	// A half of a pair has no character; the text around it stays.
	w := NewWire([]byte("\x00\x05a\xed\xa0\xbdb"))
	if got := w.UTF(); got != "a\uFFFDb" || w.End() != nil {
		t.Errorf("half a pair: %q %v", got, w.Err())
	}
}

func TestFormat(t *testing.T) {
	for name, want := range map[string]string{
		"data-1.parquet": "parquet", "data-1.zstd.parquet": "parquet", "data-1.csv.gz": "csv", "data-1": "", "data-1.orc": "orc", "x.gz": "gz",
	} {
		if got := (&Meta{FileName: name}).Format(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An upgrade is another file to ADD and DELETE, and leaves the old one as it was.
func TestUpgrade(t *testing.T) {
	m := &Meta{FileName: "f", Level: 0, ExtraFiles: []string{"f.index"}}
	up := m.Upgrade(5)
	if up.Level != 5 || m.Level != 0 || up.FileName != "f" || up.Identity() == m.Identity() {
		t.Errorf("upgraded %+v of %+v", up, m)
	}
}

// Identities differ by each part that Java compares.
func TestIdentity(t *testing.T) {
	path := "oss://b/f"
	seen := map[string]int{}
	for i, m := range []*Meta{
		{FileName: "f"}, {FileName: "g"}, {FileName: "f", Level: 1}, {FileName: "f", ExtraFiles: []string{"x"}}, {FileName: "f", EmbeddedIndex: []byte{1}}, {FileName: "f", ExternalPath: &path},
	} {
		if j, ok := seen[m.Identity()]; ok {
			t.Errorf("files %d and %d have one identity", j, i)
		}
		seen[m.Identity()] = i
	}
}
