package maintain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestFiles holds what goes, and what stays for whom, to cases in text. "table" writes
// a history, a snapshot a line (see fixture.snapshot), beside "tag NAME OF" and "branch
// NAME OF"; "expire" leaves one snapshot and tells what is gone and what is left of
// the data, in plans of so many files.
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata/files", func(t *testing.T, file string) {
		var f *fixture
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table":
				f = newFixture(t)
				for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					words := strings.Fields(line)
					switch words[0] {
					case "tag":
						f.copyTo(number(t, words[2]), place.TagFile(words[1]))
					case "branch":
						branch := place.WithBranch(words[1])
						for _, id := range words[2:] {
							f.copyTo(number(t, id), branch.SnapshotFile(number(t, id)))
						}
					case "lose":
						for p, name := range f.names {
							if name == strings.Join(words[1:], " ") {
								f.fs.Remove(p)
							}
						}
					default:
						f.snapshot(number(t, words[0]), words[1:])
					}
				}
				return ""
			case "expire":
				changelogs, most := 1, 0
				producer := d.HasArg("producer")
				d.MaybeScanArgs(t, "changelogs", &changelogs)
				d.MaybeScanArgs(t, "plan", &most)
				before := f.left()
				foretold, err := f.run(changelogs, producer, most, true)
				if err == nil && !slices.Equal(f.left(), before) {
					t.Error("a dry run has removed something")
				}
				r, err2 := f.run(changelogs, producer, most, false)
				if err != nil || err2 != nil {
					return fmt.Sprintf("%v\n%v\n", err, err2)
				}
				if fmt.Sprint(foretold.Snapshots, foretold.Changelogs, foretold.Files, foretold.Bytes) != fmt.Sprint(r.Snapshots, r.Changelogs, r.Files, r.Bytes) {
					t.Errorf("foretold %+v, did %+v", foretold, r)
				}
				again, err := f.run(changelogs, producer, most, false)
				if err != nil || again.Files != 0 || len(again.Snapshots)+len(again.Changelogs) != 0 {
					t.Errorf("the next run: %+v, %v", again, err)
				}
				left := f.left()
				gone := slices.DeleteFunc(before, func(n string) bool { _, there := slices.BinarySearch(left, n); return there })
				out := fmt.Sprintf("snapshots %v changelogs %v, %d files (%d failed), %d bytes\n", r.Snapshots, r.Changelogs, r.Files, r.Failed, r.Bytes)
				return out + "gone: " + strings.Join(gone, ", ") + "\nleft: " + strings.Join(left, ", ") + "\n"
			}
			d.Fatalf(t, "no such command")
			return ""
		})
	})
}

func (f *fixture) run(changelogs int, producer bool, most int, dry bool) (*Report, error) {
	x := f.expirer(changelogs, producer)
	if most > 0 {
		x.mostFiles = most
	}
	return x.Run(f.ctx, Request{By: "test", DryRun: dry})
}
