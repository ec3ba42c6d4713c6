package variant

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

// le is a number in n little-endian bytes.
func le(v int64, n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v))[:n] }

func scalar(typ int, content ...[]byte) []byte {
	out := []byte{byte(typ << 2)}
	for _, c := range content {
		out = append(out, c...)
	}
	return out
}

// dictionary is metadata whose sizes and offsets take so many bytes.
func dictionary(width int, names ...string) []byte {
	out := append([]byte{1 | byte(width-1)<<6}, le(int64(len(names)), width)...)
	at := 0
	for _, n := range names {
		out = append(out, le(int64(at), width)...)
		at += len(n)
	}
	out = append(out, le(int64(at), width)...)
	return append(out, strings.Join(names, "")...)
}

// container is an array, or an object when there are ids.
func container(large bool, idWidth, offsetWidth int, ids []int, children ...[]byte) []byte {
	n := 1
	head := byte(offsetWidth-1)<<2 | list
	if ids != nil {
		head = byte(offsetWidth-1)<<2 | byte(idWidth-1)<<4 | object
	}
	if large {
		n = 4
		if ids != nil {
			head |= 1 << 6
		} else {
			head |= 1 << 4
		}
	}
	out := append([]byte{head}, le(int64(len(children)), n)...)
	for _, id := range ids {
		out = append(out, le(int64(id), idWidth)...)
	}
	at := 0
	for _, c := range children {
		out = append(out, le(int64(at), offsetWidth)...)
		at += len(c)
	}
	out = append(out, le(int64(at), offsetWidth)...)
	for _, c := range children {
		out = append(out, c...)
	}
	return out
}

func short(s string) []byte { return append([]byte{byte(len(s)<<2 | shortString)}, s...) }

func TestJSON(t *testing.T) {
	id, _ := hex.DecodeString("00112233445566778899aabbccddeeff")
	names := dictionary(1, "a", "b\"", "ä")
	for want, c := range map[string]struct{ value, metadata []byte }{
		`null`:                                   {scalar(null), names},
		`true`:                                   {scalar(yes), names},
		`false`:                                  {scalar(no), names},
		`-1`:                                     {scalar(int1, le(-1, 1)), names},
		`-300`:                                   {scalar(int2, le(-300, 2)), names},
		`2147483647`:                             {scalar(int4, le(math.MaxInt32, 4)), names},
		`-9223372036854775808`:                   {scalar(int8bytes, le(math.MinInt64, 8)), names},
		`1.0`:                                    {scalar(double, le(int64(math.Float64bits(1)), 8)), names},
		`1.0E10`:                                 {scalar(double, le(int64(math.Float64bits(1e10)), 8)), names},
		`"NaN"`:                                  {scalar(double, le(int64(math.Float64bits(math.NaN())), 8)), names},
		`"-Infinity"`:                            {scalar(float, le(int64(math.Float32bits(float32(math.Inf(-1)))), 4)), names},
		`0.1`:                                    {scalar(float, le(int64(math.Float32bits(0.1)), 4)), names},
		`2.5`:                                    {scalar(decimal4, []byte{2}, le(250, 4)), names},
		`-0.05`:                                  {scalar(decimal8, []byte{3}, le(-50, 8)), names},
		`100`:                                    {scalar(decimal8, []byte{1}, le(1000, 8)), names},
		`0`:                                      {scalar(decimal4, []byte{4}, le(0, 4)), names},
		`-18446744073709551616.5`:                {scalar(decimal16, []byte{1}, le(-5, 8), le(-11, 8)), names},
		`"1969-12-31"`:                           {scalar(date, le(-1, 4)), names},
		`"1970-01-02 00:00:00.000001+00:00"`:     {scalar(timestamp, le(86_400_000_001, 8)), names},
		`"1969-12-31 23:59:59.5"`:                {scalar(timestampNTZ, le(-500_000, 8)), names},
		`"AQL/"`:                                 {scalar(bytes, le(3, 4), []byte{1, 2, 255}), names},
		`"` + strings.Repeat("x", 70) + `"`:      {scalar(longString, le(70, 4), []byte(strings.Repeat("x", 70))), names},
		`"00112233-4455-6677-8899-aabbccddeeff"`: {scalar(uuid, id), names},
		`"q\"\\\b\t\n\f\r\u0001\u001Fä` + "\x7f\ufffd" + `"`: {short("q\"\\\b\t\n\f\r\x01\x1fä\x7f\xff"), names},
		`{}`:                           {container(false, 1, 1, []int{}), names},
		`[]`:                           {container(true, 0, 4, nil), names},
		`{"b\"":[1,{"ä":""}],"a":"x"}`: {container(true, 2, 3, []int{1, 0}, container(false, 0, 2, nil, scalar(int1, le(1, 1)), container(false, 1, 1, []int{2}, short(""))), short("x")), names},
		`{"b":null}`:                   {container(false, 4, 1, []int{1}, scalar(null)), dictionary(4, "a", "b")},
	} {
		got, err := AppendJSON([]byte("-"), c.value, c.metadata)
		if err != nil || string(got) != "-"+want {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
		if !json.Valid([]byte(want)) {
			t.Errorf("%s is no JSON", want)
		}
	}
}

func TestBadVariants(t *testing.T) {
	names := dictionary(1, "a")
	deep := scalar(null)
	for range maxDepth {
		deep = container(true, 0, 4, nil, deep)
	}
	// A list of many elements that are all the same one.
	shared := container(false, 0, 1, nil, scalar(null), scalar(null), scalar(null))
	copy(shared[2:], []byte{0, 0, 0})
	for name, c := range map[string]struct {
		value, metadata []byte
		kind            error
	}{
		"no byte":            {nil, names, tarnerr.Corrupt},
		"no such type":       {scalar(17), names, tarnerr.Corrupt},
		"cut number":         {scalar(int8bytes, le(1, 7)), names, tarnerr.Corrupt},
		"cut string":         {short("abc")[:3], names, tarnerr.Corrupt},
		"long string":        {scalar(longString, le(math.MaxInt32, 4)), names, tarnerr.Corrupt},
		"huge string":        {scalar(longString, le(-1, 4)), names, tarnerr.Corrupt},
		"digits":             {scalar(decimal4, []byte{0}, le(1_000_000_000, 4)), names, tarnerr.Corrupt},
		"scale":              {scalar(decimal4, []byte{10}, le(1, 4)), names, tarnerr.Corrupt},
		"name":               {container(false, 1, 1, []int{1}, scalar(null)), names, tarnerr.Corrupt},
		"no dictionary":      {container(false, 1, 1, []int{0}, scalar(null)), nil, tarnerr.Corrupt},
		"cut dictionary":     {container(false, 1, 1, []int{0}, scalar(null)), names[:3], tarnerr.Corrupt},
		"cut name":           {container(false, 1, 1, []int{0}, scalar(null)), names[:len(names)-1], tarnerr.Corrupt},
		"elements":           {container(true, 0, 1, nil)[:5], names, tarnerr.Corrupt},
		"many elements":      {append([]byte{1<<4 | list}, le(math.MaxInt32, 4)...), names, tarnerr.Corrupt},
		"shared elements":    {shared[:6], names, tarnerr.Corrupt},
		"offset beyond":      {[]byte{list, 1, 200, 0, 0}, names, tarnerr.Corrupt},
		"nested too deep":    {deep, names, tarnerr.Unsupported},
		"uuid":               {scalar(uuid, le(1, 8)), names, tarnerr.Corrupt},
		"object without ids": {[]byte{object, 3, 0}, names, tarnerr.Corrupt},
	} {
		if got, err := AppendJSON(nil, c.value, c.metadata); !errors.Is(err, c.kind) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	names := dictionary(2, "a", "b")
	f.Add(container(false, 1, 1, []int{0, 1}, scalar(int1, le(1, 1)), container(false, 0, 1, nil, short("x"), scalar(decimal4, []byte{2}, le(250, 4)))), names)
	f.Add(scalar(timestamp, le(math.MinInt64, 8)), names)
	f.Add(scalar(date, le(math.MaxInt32, 4)), names)
	f.Add(scalar(longString, le(3, 4), []byte("\xff\xfe\x00")), names)
	f.Fuzz(func(t *testing.T, value, metadata []byte) {
		text, err := AppendJSON(nil, value, metadata)
		if err != nil {
			if !errors.Is(err, tarnerr.Corrupt) && !errors.Is(err, tarnerr.Unsupported) {
				t.Fatal(err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
	})
}
