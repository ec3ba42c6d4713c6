package snapshot

import (
	"bytes"
	"context"
	"path"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/internal/layout"
)

// Every snapshot of every golden table parses, and those of Java's making are
// printed with the same bytes again; tags too unless they have fields of their own.
func TestGoldenSnapshots(t *testing.T) {
	set := golden.Open(t)
	ctx := context.Background()
	java := 0
	for _, name := range set.Names() {
		g := set.Table(t, name)
		for e, err := range fileio.All(ctx, g.FileIO, g.Path(), fileio.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			file := path.Base(e.Path)
			_, snapshot := layout.ParseVersion(layout.SnapshotPrefix, file)
			_, changelog := layout.ParseVersion(layout.ChangelogPrefix, file)
			tag := strings.HasPrefix(file, layout.TagPrefix)
			if !snapshot && !tag && !(changelog && path.Base(path.Dir(e.Path)) == "changelog") {
				continue
			}
			data, err := fileio.ReadFile(ctx, g.FileIO, e.Path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(data)
			if err != nil {
				t.Errorf("%s: %v", e.Path, err)
				continue
			}
			if strings.HasPrefix(name, "py-") || bytes.Contains(data, []byte(`"tagCreateTime"`)) {
				continue
			}
			want := data
			if strings.HasSuffix(name, "-0.8.2") || strings.HasSuffix(name, "-1.0.1") {
				want = withoutLogOffsets(data)
			}
			java++
			if got := s.Marshal(); !bytes.Equal(got, want) {
				t.Errorf("%s:\n%s\nwant\n%s", e.Path, got, want)
			}
		}
	}
	if java < 500 {
		t.Errorf("only %d snapshots by Java", java)
	}
}

// withoutLogOffsets removes what releases up to 1.2 wrote beside today's
// fields, and nulls that are no longer written.
func withoutLogOffsets(data []byte) []byte {
	var out []string
	for _, line := range strings.Split(string(data), "\n") {
		if strings.Contains(line, `"logOffsets"`) || strings.HasSuffix(line, ": null,") {
			continue
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\n"))
}
