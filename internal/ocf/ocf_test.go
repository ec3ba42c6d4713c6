package ocf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"github.com/tarnlake/tarn/tarnerr"
)

func TestParseSchema(t *testing.T) {
	s, err := ParseSchema([]byte(`["null",{"type":"record","name":"r","namespace":"a.b","fields":[
		{"name":"x","type":{"type":"fixed","name":"f","size":3}},
		{"name":"y","type":["null","f",{"type":"enum","name":"c.e","symbols":["p"]}]},
		{"name":"z","type":{"type":"map","values":{"type":{"type":"array","items":"a.b.f"}}}},
		{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
		{"name":"e","type":"c.e"},
		{"name":"n","type":{"type":"record","name":"empty","fields":[{"name":"q","type":"null"}]}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Parts[1]
	d := r.Member("d")
	if s.Kind != Union || r.Kind != Record || len(r.Parts) != 6 || r.Member("x").Size != 3 || r.Member("y").Parts[1] != r.Member("x") ||
		r.Member("z").Parts[0].Parts[0] != r.Member("x") || r.Member("e") != r.Member("y").Parts[2] || !r.Member("n").Empty || r.Empty ||
		d.Type != "bytes (decimal)" || d.Precision != 9 || d.Scale != 2 || r.Member("nothing") != nil {
		t.Errorf("%+v", r)
	}
}

func TestBadSchemas(t *testing.T) {
	for _, c := range []struct {
		text, says string
		kind       tarnerr.Kind
	}{
		{`{`, "unexpected EOF", tarnerr.Corrupt},
		{`"int" "int"`, "behind its end", tarnerr.Corrupt},
		{`7`, "neither name", tarnerr.Corrupt},
		{`"nothing"`, "no such type", tarnerr.Corrupt},
		{`"record"`, "no such type", tarnerr.Corrupt},
		{`{"name":"x"}`, "without type", tarnerr.Corrupt},
		{`[]`, "without branches", tarnerr.Corrupt},
		{`["null",["int"]]`, "union in a union", tarnerr.Corrupt},
		{`{"type":"array"}`, "neither name", tarnerr.Corrupt},
		{`{"type":"fixed","name":"f","size":-1}`, "negative size", tarnerr.Corrupt},
		{`{"type":"fixed","name":"f","size":1.5}`, "negative size", tarnerr.Corrupt},
		{`{"type":"record","fields":[]}`, "without a name", tarnerr.Corrupt},
		{`{"type":"record","name":"r"}`, "without fields", tarnerr.Corrupt},
		{`{"type":"record","name":"r","fields":[7]}`, "name of its own", tarnerr.Corrupt},
		{`{"type":"array","items":{"type":"fixed","name":"f","size":0}}`, "take no bytes", tarnerr.Corrupt},
		{`["null",{"type":"record","name":"r","fields":[{"name":"x","type":["null","r"]}]}]`, "contain themselves", tarnerr.Unsupported},
		{`"` + strings.Repeat("x", maxText) + `"`, "too large", tarnerr.Corrupt},
	} {
		_, err := ParseSchema([]byte(c.text))
		if tarnerr.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60s: %v", c.text, err)
		}
	}
}

// TestSpelledOut: named types count as often as they are used.
func TestSpelledOut(t *testing.T) {
	text := `{"type":"record","name":"a0","fields":[]}`
	for i := 1; i < 60; i++ {
		text = fmt.Sprintf(`{"type":"record","name":"a%d","fields":[{"name":"x","type":%s},{"name":"y","type":"a%d"}]}`, i, text, i-1)
	}
	if _, err := ParseSchema([]byte(text)); !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

func TestLongs(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, -64, 64, 1 << 20, math.MaxInt64, math.MinInt64} {
		c := Cursor{Buf: AppendLong(nil, v)}
		if got := c.Long(); got != v || c.Err != nil || c.Pos != len(c.Buf) {
			t.Errorf("%d: %d, %v", v, got, c.Error("reading"))
		}
	}
	for _, bad := range []string{"", "\x80", strings.Repeat("\x80", 10)} {
		c := Cursor{Buf: []byte(bad)}
		if c.Long(); !errors.Is(c.Error("reading", "path", "p"), tarnerr.Corrupt) {
			t.Errorf("%x was read", bad)
		}
	}
}

func TestCodecs(t *testing.T) {
	text := []byte(strings.Repeat("what a block holds ", 1000))
	for _, codec := range []string{CodecNull, CodecDeflate, CodecSnappy} {
		packed, err := Pack(codec, []byte("before"), text, nil)
		if err != nil || !bytes.HasPrefix(packed, []byte("before")) {
			t.Fatalf("%s: %v", codec, err)
		}
		for _, buf := range [][]byte{nil, make([]byte, 10), make([]byte, 1<<20)} {
			if plain, err := Unpack(codec, buf, packed[len("before"):]); err != nil || !bytes.Equal(plain, text) {
				t.Errorf("%s: %d bytes, %v", codec, len(plain), err)
			}
		}
	}
	// One of Python's bz2, which Go can only read.
	packed := []byte("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x19\x31\x65\x3d\x00\x00\x00\x81\x00\x02\x44\xa0\x00\x21\x9a\x68\x33\x4d\x07\x33\x8b\xb9\x22\x9c\x28\x48\x0c\x98\xb2\x9e\x80")
	if plain, err := Unpack(CodecBzip2, nil, packed); err != nil || string(plain) != "hello" {
		t.Errorf("bzip2: %q, %v", plain, err)
	}
	for codec, bad := range map[string][]byte{
		CodecSnappy:  {0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0}, // four gigabytes
		CodecDeflate: text, CodecZstd: text, CodecBzip2: text,
	} {
		if _, err := Unpack(codec, nil, bad); err == nil {
			t.Errorf("%s: no error", codec)
		}
	}
	if err := CheckCodec(CodecXZ); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("xz: %v", err)
	}
}

func TestCache(t *testing.T) {
	c := NewCache()
	compiled := 0
	compile := func(s *Schema) (*int, error) {
		compiled++
		if s.Kind == Null {
			return nil, errors.New("no")
		}
		return new(int), nil
	}
	text := func(i int) []byte { return fmt.Appendf(nil, `{"type":"fixed","name":"f","size":%d}`, i) }
	for range 3 {
		for i := range cachedSchemas {
			if _, err := Compiled(c, text(i), compile); err != nil {
				t.Fatal(err)
			}
		}
	}
	if compiled != cachedSchemas || c.Missed() != cachedSchemas {
		t.Errorf("%d compiled, %d missed", compiled, c.Missed())
	}
	for i := range 2 * cachedSchemas {
		if _, err := Compiled(c, text(i), compile); err != nil {
			t.Fatal(err)
		}
	}
	if compiled != 2*cachedSchemas || len(c.byText) != cachedSchemas || len(c.order) != cachedSchemas {
		t.Errorf("%d compiled, %d kept in order %d", compiled, len(c.byText), len(c.order))
	}
	for range 2 { // errors are not kept
		if _, err := Compiled(c, []byte(`"null"`), compile); err == nil {
			t.Error("no error")
		}
	}
	if compiled != 2*cachedSchemas+2 {
		t.Error("an error was kept")
	}
	if _, err := Compiled[int](nil, []byte(`"int"`), compile); err != nil {
		t.Error(err)
	}
}

// FuzzSchema: what another library takes we take as well, but for types that
// contain themselves and those that are too large.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{
		`"int"`, `["null","long"]`, `{"type":"array","items":"string"}`, `{"type":"map","values":["null","bytes"]}`,
		`{"type":"record","name":"r","namespace":"a.b","fields":[{"name":"x","type":{"type":"fixed","name":"f","size":3}},{"name":"y","type":"f"}]}`,
		`{"type":"record","name":"r","fields":[{"name":"x","type":["null","r"]}]}`,
	} {
		f.Add([]byte(text), []byte{2, 2, 0})
	}
	f.Fuzz(func(t *testing.T, text, value []byte) {
		s, err := ParseSchema(text)
		theirs, theirErr := avro.Parse(string(text))
		if err != nil {
			if k := tarnerr.KindOf(err); k != tarnerr.Corrupt && k != tarnerr.Unsupported {
				t.Fatal(err)
			}
			return
		}
		c := Cursor{Buf: value}
		c.Skip(s)
		if theirErr != nil || c.Err != nil {
			return
		}
		var v any
		if rest, err := theirs.Decode(value, &v); err == nil && len(rest) != len(value)-c.Pos {
			t.Fatalf("%d bytes of the value are left, another library has %d", len(value)-c.Pos, len(rest))
		}
	})
}
