package lsm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/tarnlake/tarn/internal/binaryrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var intKey = []types.Type{{Root: types.Int}}

func keyRow(t interface{ Fatal(...any) }, v int64) binaryrow.Row {
	r, err := binaryrow.Encode(intKey, []types.Value{v})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// parseFiles reads lines `name min max [level=N] [seq=MIN-MAX] [at=MILLIS] [rows=N]`.
func parseFiles(t *testing.T, input string) []*datafile.Meta {
	var out []*datafile.Meta
	for line := range strings.Lines(input) {
		f := &datafile.Meta{FileSize: 1, RowCount: 1}
		var lo, hi int64
		words := strings.Fields(line)
		f.FileName = words[0]
		if _, err := fmt.Sscan(words[1]+" "+words[2], &lo, &hi); err != nil {
			t.Fatal(err)
		}
		f.MinKey, f.MaxKey = keyRow(t, lo), keyRow(t, hi)
		for _, w := range words[3:] {
			name, value, _ := strings.Cut(w, "=")
			var err error
			switch name {
			case "level":
				_, err = fmt.Sscan(value, &f.Level)
			case "seq":
				_, err = fmt.Sscanf(value, "%d-%d", &f.MinSequence, &f.MaxSequence)
			case "at":
				f.CreationMillis = new(int64)
				_, err = fmt.Sscan(value, f.CreationMillis)
			case "rows":
				_, err = fmt.Sscan(value, &f.RowCount)
			case "size":
				_, err = fmt.Sscan(value, &f.FileSize)
			case "deletes":
				f.DeleteRowCount = new(int64)
				_, err = fmt.Sscan(value, f.DeleteRowCount)
			default:
				t.Fatalf("unknown %s", w)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, f)
	}
	return out
}

func (r Run) names() string {
	var out []string
	for _, f := range r {
		out = append(out, f.FileName)
	}
	return "[" + strings.Join(out, " ") + "]"
}

// TestText replays testdata/trees: sections.txt was recorded from Java 1.4.2's
// IntervalPartition, levels.txt and ages.txt are written by hand.
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata/trees", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			files := parseFiles(t, d.Input)
			var b strings.Builder
			switch d.Cmd {
			case "sections":
				sections, err := Sections(files, intKey)
				if err != nil {
					return err.Error() + "\n"
				}
				for _, s := range sections {
					b.WriteString("section")
					for _, r := range s {
						b.WriteString(" " + r.names())
					}
					b.WriteString("\n")
				}
			case "ages":
				sections, err := Sections(files, intKey)
				if err != nil {
					return err.Error() + "\n"
				}
				for _, s := range sections {
					runs, ok := s.ByAge()
					if !ok {
						runs = s
					}
					fmt.Fprintf(&b, "by age %v", ok)
					for _, r := range runs {
						b.WriteString(" " + r.names())
					}
					b.WriteString("\n")
				}
			case "levels":
				count := 6
				d.MaybeScanArgs(t, "count", &count)
				l, err := NewLevels(files, intKey, count)
				if err != nil {
					return err.Error() + "\n"
				}
				fmt.Fprintf(&b, "%d levels, highest %d\n", l.Count(), l.HighestLevel())
				for _, r := range l.Runs() {
					fmt.Fprintf(&b, "level %d %s\n", r.Level, r.Run.names())
				}
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return b.String()
		})
	})
}

func TestSectionsKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []*datafile.Meta
		type span struct{ lo, hi int64 }
		spans := map[string]span{}
		for i := range rapid.IntRange(0, 30).Draw(t, "files") {
			lo := rapid.Int64Range(0, 60).Draw(t, "lo")
			hi := lo + rapid.Int64Range(0, 10).Draw(t, "length")
			f := &datafile.Meta{FileName: fmt.Sprint("f", i), MinKey: keyRow(t, lo), MaxKey: keyRow(t, hi)}
			spans[f.FileName] = span{lo, hi}
			files = append(files, f)
		}
		sections, err := Sections(files, intKey)
		if err != nil {
			t.Fatal(err)
		}
		seen, end := 0, int64(-1)
		for _, s := range sections {
			last := end
			depth := map[int64]int{}
			deepest := 0
			for _, r := range s {
				for i, f := range r {
					seen++
					if i > 0 && spans[r[i-1].FileName].hi >= spans[f.FileName].lo {
						t.Fatalf("run %s overlaps", r.names())
					}
					if spans[f.FileName].lo <= end {
						t.Fatalf("%s reaches into the section before", f.FileName)
					}
					last = max(last, spans[f.FileName].hi)
					for k := spans[f.FileName].lo; k <= spans[f.FileName].hi; k++ {
						depth[k]++
						deepest = max(deepest, depth[k])
					}
				}
			}
			if len(s) != deepest {
				t.Fatalf("%d runs where %d files overlap at most", len(s), deepest)
			}
			if len(s.Files()) < len(s) {
				t.Fatal("an empty run")
			}
			end = last
		}
		if seen != len(files) {
			t.Fatalf("%d files of %d", seen, len(files))
		}
	})
}

func TestKeysThatCannotBeReadAreCorrupt(t *testing.T) {
	bad := &datafile.Meta{FileName: "cut", MinKey: keyRow(t, 1), MaxKey: binaryrow.Row{0, 0, 0, 9}}
	if _, err := Sections([]*datafile.Meta{bad}, intKey); !errors.Is(err, tarnerr.Corrupt) || !strings.Contains(err.Error(), "cut") {
		t.Errorf("sections: %v", err)
	}
	bad.Level = 2
	if _, err := NewLevels([]*datafile.Meta{bad}, intKey, 6); !errors.Is(err, tarnerr.Corrupt) {
		t.Errorf("levels: %v", err)
	}
	bad.Level = -1
	if _, err := NewLevels([]*datafile.Meta{bad}, intKey, 6); !errors.Is(err, tarnerr.Corrupt) {
		t.Errorf("negative level: %v", err)
	}
}

func TestNullKeysComeFirst(t *testing.T) {
	nullable := []types.Type{{Root: types.Int, Nullable: true}}
	row := func(v types.Value) binaryrow.Row {
		r, err := binaryrow.Encode(nullable, []types.Value{v})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	files := []*datafile.Meta{
		{FileName: "b", MinKey: row(int64(-5)), MaxKey: row(int64(3))},
		{FileName: "a", MinKey: row(nil), MaxKey: row(nil)},
	}
	sections, err := Sections(files, nullable)
	if err != nil {
		t.Fatal(err)
	}
	if len(sections) != 2 || sections[0][0].names() != "[a]" || !slices.Equal(sections[1].Files(), files[:1]) {
		t.Errorf("sections are %v", sections)
	}
}

// A merge takes the two zeroes as one key, so files that end and begin with them
// overlap.
func TestZeroesAreOneKey(t *testing.T) {
	negative := math.Copysign(0, -1)
	for _, typ := range []types.Type{{Root: types.Float}, {Root: types.Double}} {
		keys := []types.Type{typ}
		file := func(name string, level int32, lo, hi float64) *datafile.Meta {
			row := func(v float64) binaryrow.Row {
				var value types.Value = v
				if typ.Root == types.Float {
					value = float32(v)
				}
				r, err := binaryrow.Encode(keys, []types.Value{value})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			return &datafile.Meta{FileName: name, Level: level, MinKey: row(lo), MaxKey: row(hi)}
		}
		sections, err := Sections([]*datafile.Meta{file("a", 0, -1, negative), file("b", 0, 0, 1), file("c", 0, 2, 3)}, keys)
		if err != nil {
			t.Fatal(err)
		}
		if len(sections) != 2 || len(sections[0]) != 2 {
			t.Errorf("%v: sections are %v", typ, sections)
		}
		if _, err := NewLevels([]*datafile.Meta{file("a", 1, -1, negative), file("b", 1, 0, 1)}, keys, 2); !errors.Is(err, tarnerr.Corrupt) {
			t.Errorf("%v: levels that overlap in a zero: %v", typ, err)
		}
	}
}
