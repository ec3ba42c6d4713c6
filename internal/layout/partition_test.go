package layout

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// javaValue reads the second column of testdata/partitions.txt.
func javaValue(t *testing.T, ty types.Type, text string) types.Value {
	t.Helper()
	if text == "null" {
		return nil
	}
	if s, ok := strings.CutPrefix(text, "utf8:"); ok {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if s, ok := strings.CutPrefix(text, "i:"); ok {
		millis, nanos, _ := strings.Cut(s, ".")
		ms, err1 := strconv.ParseInt(millis, 10, 64)
		n, err2 := strconv.ParseInt(nanos, 10, 32)
		if err1 != nil || err2 != nil {
			t.Fatalf("bad instant %q", s)
		}
		return types.Instant{Millis: ms, NanoOfMilli: int32(n)}
	}
	v, err := types.ParseValue(ty, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The directories Java 1.4.2 gives the same partitions, in both spellings, and
// the partitions back from them.
func TestPartitionPathsOfJava(t *testing.T) {
	data, err := os.ReadFile("testdata/partitions.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 200 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		cols := strings.Split(line, "\t")
		ty := types.MustParse(cols[0])
		v := javaValue(t, ty, cols[1])
		row, err := binaryrow.Encode([]types.Type{ty}, []types.Value{v})
		if err != nil {
			t.Fatal(err)
		}
		for i, legacy := range []bool{true, false} {
			p := NewPartitioner([]types.Field{{Name: "p", Type: ty}}, "", legacy)
			got, err := p.Path(row)
			if want := strings.TrimSuffix(cols[2+i], "/"); err != nil || got != want {
				t.Errorf("%s %s legacy=%v: %q %v, want %q", cols[0], cols[1], legacy, got, err, want)
				continue
			}
			fields, err := ParsePartitionPath(got)
			if err != nil {
				t.Errorf("%q: %v", got, err)
				continue
			}
			back, err := p.Row(fields)
			if err != nil {
				t.Errorf("%q: %v", got, err)
				continue
			}
			again, err := p.Path(back)
			if err != nil || again != got {
				t.Errorf("%q read and written again: %q %v", got, again, err)
			}
			// What the text holds in full comes back; TIME(0) and blanks do not.
			if exact := !strings.HasPrefix(cols[0], "TIME(") && !strings.Contains(got, DefaultPartitionName); exact && string(back) != string(row) {
				t.Errorf("%q gives %x, want %x", got, back, row)
			}
		}
	}
}

// Null, empty and blank share a directory and stay three partitions.
func TestBlankPartitionsStayApart(t *testing.T) {
	ty := types.MustParse("STRING")
	p := NewPartitioner([]types.Field{{Name: "p", Type: ty}}, "nothing", true)
	rows := map[string]bool{}
	for _, v := range []types.Value{nil, "", "  "} {
		row, err := binaryrow.Encode([]types.Type{ty}, []types.Value{v})
		if err != nil {
			t.Fatal(err)
		}
		rows[string(row)] = true
		if got, err := p.Path(row); err != nil || got != "p=nothing" {
			t.Errorf("path of %q: %q %v", v, got, err)
		}
	}
	if len(rows) != 3 {
		t.Errorf("%d different rows, want 3", len(rows))
	}
}

func TestPartitionTextThatIsNone(t *testing.T) {
	for _, c := range []struct{ ty, text string }{
		{"TIMESTAMP(6)", "2024-01-0112:30"}, {"TIMESTAMP(6)", "T12:30"}, {"INT", "1.5"}, {"INT", ""}, {"BIGINT", "x"},
		{"BOOLEAN", "maybe"}, {"DATE", "2024-13-01"}, {"DATE", "99999999999"}, {"TIME(3)", "25:00"}, {"DECIMAL(4,2)", "1.234"}, {"STRING", "\xff"},
	} {
		for _, legacy := range []bool{true, false} {
			p := NewPartitioner([]types.Field{{Name: "p", Type: types.MustParse(c.ty)}}, "", legacy)
			if row, err := p.Row([]PartitionField{{"p", c.text}}); tarnerr.KindOf(orInternal(err)) != tarnerr.Invalid {
				t.Errorf("%s %q: %x %v, want Invalid", c.ty, c.text, row, err)
			}
		}
	}
}

func orInternal(err error) error {
	if err == nil {
		return tarnerr.Internal
	}
	return err
}

func TestTimestampPartitionText(t *testing.T) {
	p := NewPartitioner([]types.Field{{Name: "p", Type: types.MustParse("TIMESTAMP(6)")}}, "", true)
	for text, want := range map[string]types.Instant{
		"2024-01-01T12:30":           {Millis: 1704112200000},
		"2024-01-01 12:30:00":        {Millis: 1704112200000},
		"2024-01-01T12:30:05.123456": {Millis: 1704112205123, NanoOfMilli: 456000},
		"0001-01-01T00:00":           {Millis: -62135596800000},
		"2024-01-01":                 {Millis: 1704067200000},
	} {
		row, err := p.Row([]PartitionField{{"p", text}})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := row.Value(0, p.fields[0].Type); err != nil || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
}

func TestPartitionColumns(t *testing.T) {
	fields := []types.Field{{Name: "dt", Type: types.MustParse("STRING")}, {Name: "hour", Type: types.MustParse("INT")}}
	p := NewPartitioner(fields, "", true)
	row, err := p.Row([]PartitionField{{"hour", "5"}, {"dt", "a/b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Path(row); err != nil || got != "dt=a%2Fb/hour=5" {
		t.Errorf("path %q %v", got, err)
	}
	for _, bad := range [][]PartitionField{{{"dt", "a"}}, {{"dt", "a"}, {"h", "5"}}} {
		if _, err := p.Row(bad); tarnerr.KindOf(orInternal(err)) != tarnerr.Invalid {
			t.Errorf("%v: %v, want Invalid", bad, err)
		}
	}
	if _, err := p.Path(binaryrow.Empty); tarnerr.KindOf(orInternal(err)) != tarnerr.Corrupt {
		t.Errorf("path of a row without fields: %v, want Corrupt", err)
	}
	none := NewPartitioner(nil, "", true)
	if got, err := none.Path(binaryrow.Empty); err != nil || got != "" {
		t.Errorf("path without partitions: %q %v", got, err)
	}
}

func TestTypesWithoutPartitions(t *testing.T) {
	row, err := binaryrow.Encode([]types.Type{types.MustParse("BYTES")}, []types.Value{[]byte("abc")})
	if err != nil {
		t.Fatal(err)
	}
	f := []types.Field{{Name: "p", Type: types.MustParse("BYTES")}}
	if got, err := NewPartitioner(f, "", true).Path(row); tarnerr.KindOf(orInternal(err)) != tarnerr.Unsupported {
		t.Errorf("legacy name of bytes: %q %v, want Unsupported", got, err)
	}
	if got, err := NewPartitioner(f, "", false).Path(row); err != nil || got != "p=abc" {
		t.Errorf("name of bytes: %q %v", got, err)
	}
}

func FuzzPartitionPath(f *testing.F) {
	f.Add("dt=a%2Fb/h=5")
	f.Add("p=%")
	f.Add("=")
	f.Fuzz(func(t *testing.T, p string) {
		fields, err := ParsePartitionPath(p)
		if err != nil {
			return
		}
		again, err := ParsePartitionPath(PartitionPath(fields))
		if err != nil {
			t.Fatalf("%q: %v", PartitionPath(fields), err)
		}
		if len(again) != len(fields) {
			t.Fatalf("%q: %v, again %v", p, fields, again)
		}
		for i := range fields {
			if again[i] != fields[i] {
				t.Fatalf("%q: %v, again %v", p, fields, again)
			}
		}
	})
}
