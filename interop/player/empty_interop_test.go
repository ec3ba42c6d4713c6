//go:build interop

package player

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Commits of nothing, by a stream, a batch and an overwrite, make a snapshot exactly
// where they make one in Java, under each setting of the two options about it.
func TestEmptyCommitsLikeJava(t *testing.T) {
	t.Parallel()
	p := newSiblings(t, judges.of(t))
	p.both(`{"op":"create_table","columns":[["k","INT"]],"options":{"bucket":"-1"}}`)
	const force, ignore = `"commit.force-create-snapshot":"true"`, `"snapshot.ignore-empty-commit":`
	made, identifier := map[int]bool{}, 0
	empty := func(options string) {
		for _, op := range []string{`"user":"s","commit_id":%d`, `"mode":"batch","user":"b%d"`, `"overwrite":{},"user":"o%d"`} {
			identifier++
			op = fmt.Sprintf(`{"op":"write",`+op+`,"rows":[],"options":{%s}}`, identifier, options)
			before := len(p.snapshots(p.theirs))
			p.tarn(p.ours, op)
			p.java(p.theirs, op)
			after := p.snapshots(p.theirs)
			if d := cmp.Diff(after, p.snapshots(p.ours)); d != "" {
				t.Fatalf("after %s: snapshots (-Java's +Tarn's):\n%s", op, d)
			}
			made[len(after)-before] = true
		}
	}
	for _, options := range []string{"", force, ignore + `"true"`, ignore + `"false"`} {
		empty(options)
	}
	// The same of the table.
	p.both(`{"op":"alter","changes":[{"set_option":["snapshot.ignore-empty-commit","true"]}]}`)
	empty("")
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("a commit has made %v snapshots", got)
	}
}
