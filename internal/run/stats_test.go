package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/internal/fileformat/avro"
	"github.com/tarnlake/tarn/internal/fileformat/parquet"
	"github.com/tarnlake/tarn/types"
)

func TestParseStatsMode(t *testing.T) {
	for in, want := range map[string]string{
		"none": "none", "NONE": "none", "Counts": "counts", "full": "full",
		"truncate(16)": "truncate(16)", "TRUNCATE(1)": "truncate(1)",
		"": "", "truncate": "", "truncate(0)": "", "truncate(-1)": "", "truncate(x)": "", "truncate(1": "", "truncate(+1)": "", "fully": "",
	} {
		m, err := ParseStatsMode(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was read as %v", in, m)
		case want != "" && (err != nil || m.String() != want):
			t.Errorf("%q was read as %v, %v", in, m, err)
		}
	}
}

func TestStatsModesOfColumns(t *testing.T) {
	fields := func(names ...string) (out []types.Field) {
		for _, n := range names {
			out = append(out, types.Field{Name: n, Type: types.Type{Root: types.Int}})
		}
		return out
	}
	kv := fields("_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "a", "b")
	thin := fields("_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "a", "b")
	for _, c := range []struct {
		name   string
		opts   StatsOptions
		fields []types.Field
		keys   []string
		want   string
	}{
		{"all the same", StatsOptions{Mode: StatsFull, KeepFirstN: -1}, fields("a", "b"), nil, "full full"},
		{"own mode first", StatsOptions{Mode: StatsNone, KeepFirstN: -1, PerColumn: map[string]StatsMode{"b": StatsCounts}}, fields("a", "b"), nil, "none counts"},
		{"first n", StatsOptions{Mode: StatsFull, KeepFirstN: 1}, fields("a", "b", "c"), nil, "full none none"},
		{"own modes count", StatsOptions{Mode: StatsFull, KeepFirstN: 2, PerColumn: map[string]StatsMode{"a": StatsCounts}}, fields("a", "b", "c"), nil, "counts full none"},
		{"none kept", StatsOptions{Mode: StatsFull, KeepFirstN: 0}, fields("a"), nil, "none"},
		{"system columns", StatsOptions{Mode: StatsNone, KeepFirstN: -1}, kv, nil, "truncate(128) truncate(128) truncate(128) none none none"},
		{"system columns do not count", StatsOptions{Mode: StatsFull, KeepFirstN: 2}, kv, nil, "truncate(128) truncate(128) truncate(128) full full none"},
		{"keys of thin files", StatsOptions{Mode: StatsNone, KeepFirstN: 1}, thin, []string{"k"}, "truncate(128) truncate(128) truncate(128) none none"},
	} {
		var got []string
		for _, m := range c.opts.Modes(c.fields, c.keys) {
			got = append(got, m.String())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// TestStatsModesOfAvro: in key tables, `_KEY_*` and system columns follow the
// table's mode, and count.
func TestStatsModesOfAvro(t *testing.T) {
	key, value := types.Field{ID: 0, Name: "k", Type: types.Type{Root: types.Int}}, types.Field{ID: 1, Name: "v", Type: types.Type{Root: types.Int}}
	spec := &FileSpec{Values: []types.Field{key, value}, Stats: StatsOptions{Mode: StatsFull, KeepFirstN: 2, PerColumn: map[string]StatsMode{"v": StatsCounts}}}
	modes := func() string { return fmt.Sprint(spec.layout().modes) }
	spec.Format = avro.New()
	if got := modes(); got != "[full counts]" {
		t.Errorf("append table: %s", got)
	}
	spec.Keys = spec.Values[:1]
	if got := modes(); got != "[full full none none counts]" { // _KEY_k, _SEQUENCE_NUMBER, _VALUE_KIND, k, v
		t.Errorf("key table: %s", got)
	}
	spec.Stats = StatsOptions{Mode: StatsNone, KeepFirstN: -1}
	if got := modes(); got != "[none none none none none]" {
		t.Errorf("without statistics: %s", got)
	}
	spec.Format = parquet.New()
	if got := modes(); got != "[truncate(128) truncate(128) truncate(128) none none]" {
		t.Errorf("in Parquet: %s", got)
	}
}

// Java rounds a cut maximum up at its last code point that can be raised.
func TestTruncate(t *testing.T) {
	const last = "\U0010FFFF"
	for _, c := range []struct {
		in       string
		n        int
		min, max string
		ok       bool
	}{
		{"", 3, "", "", true},
		{"abc", 3, "abc", "abc", true},
		{"abcd", 3, "abc", "abd", true},
		{"漢字仮名", 2, "漢字", "漢存", true},
		{"ab" + last + "x", 3, "ab" + last, "ac", true},
		{"a" + last + last + "x", 3, "a" + last + last, "b", true},
		{last + last + last + last, 3, last + last + last, "", false},
		{last + last, 2, last + last, last + last, true},
		{"a\uD7FFx", 2, "a\uD7FF", "a\uE000", true},
		{"é😀z", 2, "é😀", "é😁", true},
		{"a\x7fz", 2, "a\x7f", "a\u0080", true},
	} {
		if got := truncateMin(c.in, c.n); got != c.min {
			t.Errorf("minimum of %q: %q, want %q", c.in, got, c.min)
		}
		got, ok := truncateMax(c.in, c.n)
		if got != c.max || ok != c.ok {
			t.Errorf("maximum of %q: %q, %v, want %q, %v", c.in, got, ok, c.max, c.ok)
		}
		if ok && got < c.in {
			t.Errorf("the maximum %q is below %q", got, c.in)
		}
		if c.min > c.in {
			t.Errorf("the minimum %q is above %q", c.min, c.in)
		}
	}
}

func TestKeep(t *testing.T) {
	str := types.Type{Root: types.VarChar, Length: types.MaxLength}
	n := int64(2)
	s := fileformat.ColumnStats{Min: "abcdef", Max: "uvwxyz", NullCount: 2}
	array := types.Type{Root: types.Array, Element: &str}
	top := strings.Repeat("\U0010FFFF", 4)
	for _, c := range []struct {
		name string
		mode StatsMode
		t    types.Type
		in   fileformat.ColumnStats
		want columnStats
	}{
		{"none", StatsNone, str, s, columnStats{}},
		{"counts", StatsCounts, str, s, columnStats{nulls: &n}},
		{"full", StatsFull, str, s, columnStats{"abcdef", "uvwxyz", &n}},
		{"truncate", StatsTruncate(2), str, s, columnStats{"ab", "uw", &n}},
		{"truncate leaves numbers", StatsTruncate(1), types.Type{Root: types.Int}, fileformat.ColumnStats{Min: int64(-500), Max: int64(500), NullCount: 2}, columnStats{int64(-500), int64(500), &n}},
		{"no upper bound", StatsTruncate(3), str, fileformat.ColumnStats{Min: "a", Max: top, NullCount: 2}, columnStats{nulls: &n}},
		{"all null", StatsFull, str, fileformat.ColumnStats{NullCount: 2}, columnStats{nulls: &n}},
		{"nested, not counted", StatsFull, array, fileformat.ColumnStats{NullCount: -1}, columnStats{}},
		{"nested, counted", StatsFull, array, fileformat.ColumnStats{NullCount: 2}, columnStats{nulls: &n}},
		{"bytes", StatsFull, types.Type{Root: types.VarBinary}, fileformat.ColumnStats{Min: []byte{1}, Max: []byte{2}, NullCount: 2}, columnStats{nulls: &n}},
	} {
		got := keep(c.mode, c.t, c.in)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(columnStats{})); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// Dense rows list their columns, unless all are there; no columns is a list of none.
func TestStatsRowDense(t *testing.T) {
	one := int64(1)
	fields := []types.Field{{Name: "a", Type: types.Type{Root: types.Int}}, {Name: "b", Type: types.Type{Root: types.Int, Nullable: true}}}
	known := columnStats{int64(1), int64(2), &one}
	for _, c := range []struct {
		name    string
		stats   []columnStats
		dense   bool
		columns []string
		arity   int
	}{
		{"all", []columnStats{known, known}, true, nil, 2},
		{"some", []columnStats{{}, known}, true, []string{"b"}, 1},
		{"none", []columnStats{{}, {}}, true, []string{}, 0},
		{"not dense", []columnStats{{}, known}, false, nil, 2},
	} {
		s, columns, err := statsRow(fields, c.stats, c.dense)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.columns, columns); d != "" || (columns == nil) != (c.columns == nil) {
			t.Errorf("%s: columns %s", c.name, d)
		}
		if s.Min.Arity() != c.arity || s.Max.Arity() != c.arity || len(s.NullCounts) != c.arity {
			t.Errorf("%s: %d, %d, %d values, want %d", c.name, s.Min.Arity(), s.Max.Arity(), len(s.NullCounts), c.arity)
		}
	}
	s, _, _ := statsRow(fields, []columnStats{{}, known}, false)
	if !s.Min.IsNull(0) || s.NullCounts[0] != nil {
		t.Error("an unknown column is not null in a row that is not dense")
	}
	v := s.Max
	if got, _ := v.Value(1, fields[1].Type); got != int64(2) {
		t.Errorf("maximum of b is %v", got)
	}
}
