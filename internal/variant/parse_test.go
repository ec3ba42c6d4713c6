package variant

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

// Texts and their values, as the format says. The bytes that Java makes of texts are
// compared with ours where it runs (interop/player).
func TestParse(t *testing.T) {
	long := strings.Repeat("ä", 32)
	none := dictionary(1)
	for text, want := range map[string]struct{ value, metadata []byte }{
		" null\n":                            {scalar(null), none},
		`true`:                               {scalar(yes), none},
		`false`:                              {scalar(no), none},
		`-0`:                                 {scalar(int1, le(0, 1)), none},
		`-128`:                               {scalar(int1, le(-128, 1)), none},
		`128`:                                {scalar(int2, le(128, 2)), none},
		`-32769`:                             {scalar(int4, le(-32769, 4)), none},
		`2147483648`:                         {scalar(int8bytes, le(1<<31, 8)), none},
		`-9223372036854775808`:               {scalar(int8bytes, le(math.MinInt64, 8)), none},
		`9223372036854775808`:                {scalar(decimal16, []byte{0}, le(math.MinInt64, 8), le(0, 8)), none},
		`-9223372036854775809`:               {scalar(decimal16, []byte{0}, le(math.MaxInt64, 8), le(-1, 8)), none},
		`2.50`:                               {scalar(decimal4, []byte{2}, le(250, 4)), none},
		`-0.0`:                               {scalar(decimal4, []byte{1}, le(0, 4)), none},
		`-0.999999999`:                       {scalar(decimal4, []byte{9}, le(-999999999, 4)), none},
		`1.999999999`:                        {scalar(decimal8, []byte{9}, le(1999999999, 8)), none},
		`0.0000000000`:                       {scalar(decimal8, []byte{10}, le(0, 8)), none},
		`0.0000000000000000001`:              {scalar(decimal16, []byte{19}, le(1, 8), le(0, 8)), none},
		`1e1`:                                {scalar(double, le(int64(math.Float64bits(10)), 8)), none},
		strings.Repeat("9", 39):              {scalar(double, le(int64(math.Float64bits(1e39)), 8)), none},
		`0.` + strings.Repeat("0", 38) + `1`: {scalar(double, le(int64(math.Float64bits(1e-39)), 8)), none},
		`""`:                                 {short(""), none},
		`"\u00e4\n\ud83d\ude00"`:             {short("ä\n😀"), none},
		`"` + long[1:] + `"`:                 {nil, nil},
		`"` + long + `"`:                     {scalar(longString, le(64, 4), []byte(long)), none},
		`[]`:                                 {container(false, 0, 1, nil), none},
		`{}`:                                 {container(false, 1, 1, []int{}), none},
		`[1, [true]]`:                        {container(false, 0, 1, nil, scalar(int1, le(1, 1)), container(false, 0, 1, nil, scalar(yes))), none},
	} {
		got, err := ParseJSON(text)
		if want.value == nil { // cut in a character
			if !errors.Is(err, tarnerr.Invalid) {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err != nil || string(got.Value) != string(want.value) || string(got.Metadata) != string(want.metadata) {
			t.Errorf("%q: % x, % x, %v, want % x, % x", text, got.Value, got.Metadata, err, want.value, want.metadata)
		}
	}
}

// Names are numbered as they come and sorted as Java's strings, where U+1F600 begins
// with a smaller unit than U+FF5E. Values stay where they are.
func TestParseObjects(t *testing.T) {
	got, err := ParseJSON(`{"～":1,"b":{"a":null,"b":true},"😀":"x","a":2}`)
	if err != nil {
		t.Fatal(err)
	}
	inner := container(false, 1, 1, []int{2, 1}, scalar(null), scalar(yes))
	children := [][]byte{scalar(int1, le(1, 1)), inner, short("x"), scalar(int1, le(2, 1))}
	at := func(n int) byte { return byte(len(slices.Concat(children[:n]...))) }
	want := append([]byte{object, 4, 2, 1, 3, 0, at(3), at(1), at(2), at(0), at(4)}, slices.Concat(children...)...)
	if names := dictionary(1, "～", "b", "a", "😀"); string(got.Value) != string(want) || string(got.Metadata) != string(names) {
		t.Errorf("% x, % x, want % x, % x", got.Value, got.Metadata, want, names)
	}
}

// Sizes, offsets and numbers of names take more bytes as they grow.
func TestParseWidths(t *testing.T) {
	var text strings.Builder
	var names []string
	var ids []int
	var children [][]byte
	for i := range 300 {
		names = append(names, strconv.Itoa(1000+i))
		ids, children = append(ids, i), append(children, short(names[i]))
		text.WriteString(`,"` + names[i] + `":"` + names[i] + `"`)
	}
	got, err := ParseJSON("{" + text.String()[1:] + "}")
	if err != nil {
		t.Fatal(err)
	}
	if want := container(true, 2, 2, ids, children...); string(got.Value) != string(want) || string(got.Metadata) != string(dictionary(2, names...)) {
		t.Error("an object of 300 names is not what it should be")
	}
	big := strings.Repeat("x", 70_000)
	got, err = ParseJSON(`["` + big + `"]`)
	if err != nil {
		t.Fatal(err)
	}
	if want := container(false, 0, 3, nil, scalar(longString, le(70_000, 4), []byte(big))); string(got.Value) != string(want) {
		t.Error("a list of 70,000 bytes is not what it should be")
	}
	got, err = ParseJSON(`{"` + big + `":` + strings.Repeat("[", maxDepth-2) + strings.Repeat("]", maxDepth-2) + `}`)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Metadata) != string(dictionary(3, big)) {
		t.Error("a dictionary of 70,000 bytes is not what it should be")
	}
	if _, err := AppendJSON(nil, got.Value, got.Metadata); err != nil {
		t.Error(err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "unexpected EOF",
		`{"a":1`:                   "unexpected EOF",
		`[1,]`:                     "invalid character",
		`{"a" 1}`:                  "invalid character",
		`[1}`:                      "invalid character",
		`01`:                       "text after",
		`1 2`:                      "text after",
		`NaN`:                      "invalid character",
		`'a'`:                      "invalid character",
		"\"\n\"":                   "invalid character",
		"\"\xff\"":                 "not UTF-8",
		`"\ud800"`:                 "half a surrogate pair",
		`{"a":1,"b":2,"\u0061":3}`: `"a" is given twice`,
		`-1e400`:                   "beyond the range of doubles: -1e400",
	} {
		if _, err := ParseJSON(text); !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	if _, err := ParseJSON(deep); !errors.Is(err, tarnerr.Unsupported) {
		t.Errorf("%d levels: %v", maxDepth+1, err)
	}
}

// Whatever can be parsed has a text that can be parsed. Its second text is its last
// one: a double is written with a point, which then reads as a decimal.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"b":[1,-2.50,1e300,null,true,"\ud83d\ude00"],"a":{"b":123456789012345678901}}`,
		`[[],{},"",0.00000000000000000000000000000000000001]`, `"\u0000\"\\/"`, `-0.0`, `1e1`, `{"～":1,"😀":{"～":2}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var texts [4]string
		for i := range texts {
			v, err := ParseJSON(text)
			if i == 0 && (errors.Is(err, tarnerr.Invalid) || errors.Is(err, tarnerr.Unsupported)) {
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			out, err := AppendJSON(nil, v.Value, v.Metadata)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			text = string(out)
			texts[i] = text
		}
		if texts[1] != texts[3] {
			t.Fatalf("%q", texts)
		}
	})
}
