package lsm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/option"
)

// bucket is a tree of sizes only, which picks again and again.
type bucket struct {
	universal Universal
	memory    Memory
	count     int
	now       time.Time
}

// parseRuns reads lines `level size …`, the newest run first.
func parseRuns(t *testing.T, input string) []LeveledRun {
	var out []LeveledRun
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		r := LeveledRun{}
		var err error
		if r.Level, err = strconv.Atoi(words[0]); err != nil {
			t.Fatal(err)
		}
		for i, w := range words[1:] {
			n, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			r.Run = append(r.Run, &datafile.Meta{FileName: fmt.Sprintf("%d.%d", len(out)+1, i+1), FileSize: n, Level: int32(r.Level)})
		}
		out = append(out, r)
	}
	return out
}

// TestPicks replays testdata/picks: `options` opens a bucket, `pick` and `full`
// ask for the next unit of the runs given, `wait` lets time pass.
func TestPicks(t *testing.T) {
	datadriven.Walk(t, "testdata/picks", func(t *testing.T, path string) {
		var b bucket
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "options":
				set := map[string]string{}
				for line := range strings.Lines(d.Input) {
					key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
					set[key] = value
				}
				o, err := option.Parse(set)
				if err != nil {
					t.Fatal(err)
				}
				b = bucket{universal: Universal{o.Compaction}, count: o.NumLevels, now: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)}
				return fmt.Sprintf("%d levels\n", b.count)
			case "wait":
				var text string
				d.ScanArgs(t, "for", &text)
				pause, err := time.ParseDuration(text)
				if err != nil {
					t.Fatal(err)
				}
				b.now = b.now.Add(pause)
				return b.now.Format("15:04:05\n")
			case "pick":
				u, ok := b.universal.Pick(&b.memory, b.now, b.count, parseRuns(t, d.Input))
				return u.text(ok)
			case "full":
				rewrite := map[string]bool{}
				for _, a := range d.CmdArgs {
					rewrite[a.Key] = true
				}
				u, ok := PickFull(b.count, parseRuns(t, d.Input), func(f *datafile.Meta) bool { return rewrite[f.FileName] })
				return u.text(ok)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (u *Unit) text(ok bool) string {
	if !ok {
		return "nothing\n"
	}
	alone := ""
	if u.Alone {
		alone = ", each alone"
	}
	return fmt.Sprintf("%s to level %d%s\n", Run(u.Files).names(), u.OutputLevel, alone)
}

// TestSteps replays testdata/steps: which files of a unit are merged and which
// move up, and whether its deletes go.
func TestSteps(t *testing.T) {
	datadriven.Walk(t, "testdata/steps", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "steps" {
				t.Fatalf("unknown command %s", d.Cmd)
			}
			rules := StepRules{Highest: 5, SmallFile: 100}
			u := Unit{OutputLevel: 5}
			d.MaybeScanArgs(t, "to", &u.OutputLevel)
			if d.HasArg("all") {
				rules.Rewrite = func(*datafile.Meta) bool { return true }
			}
			u.Alone = d.HasArg("alone")
			var all []*datafile.Meta
			for _, f := range parseFiles(t, d.Input) {
				if all = append(all, f); !strings.HasPrefix(f.FileName, "-") {
					u.Files = append(u.Files, f)
				}
			}
			levels, err := NewLevels(all, intKey, 6)
			if err != nil {
				return err.Error() + "\n"
			}
			steps, err := u.Steps(intKey, rules)
			if err != nil {
				return err.Error() + "\n"
			}
			var b strings.Builder
			for _, s := range steps {
				if s.Upgrade != nil {
					fmt.Fprintf(&b, "move %s\n", Run(s.Upgrade).names())
					continue
				}
				b.WriteString("merge")
				for i, section := range s.Rewrite {
					if i > 0 {
						b.WriteString(" then")
					}
					for _, r := range section {
						b.WriteString(" " + r.names())
					}
				}
				b.WriteString("\n")
			}
			if levels.DropsDeletes(&u) {
				b.WriteString("deletes go\n")
			}
			return b.String()
		})
	})
}

func TestLevelsAfterACompaction(t *testing.T) {
	files := parseFiles(t, "a 0 9 seq=5-9\nb 0 9 seq=1-4\nc 0 5 level=2\n")
	l, err := NewLevels(files, intKey, 4)
	if err != nil {
		t.Fatal(err)
	}
	after := parseFiles(t, "d 0 9 level=3")
	if l, err = l.With(files[1:], append(after, files[0].Upgrade(1)), intKey); err != nil {
		t.Fatal(err)
	}
	if l.Count() != 4 || len(l.Level0()) != 1 || l.Level(1).names() != "[a]" || l.Level(2).Size() != 0 || l.Level(3).names() != "[d]" {
		t.Errorf("levels are %v", l.Runs())
	}
	if l, err = l.With(l.Level0(), nil, intKey); err != nil || Run(l.Files()).names() != "[a d]" {
		t.Errorf("levels are %v, %v", l, err)
	}
	if _, err := l.With(nil, parseFiles(t, "e 9 9 level=3"), intKey); err == nil {
		t.Error("files of a level overlap")
	}
}
