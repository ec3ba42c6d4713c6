package lint

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

const maxLines = 500

func TestFilesAreShort(t *testing.T) {
	for _, f := range tree(t) {
		if !f.test && f.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by topic, type and contract first", f.path, f.lines, maxLines)
		}
	}
}

// vague matches names that say nothing about what is inside.
var vague = regexp.MustCompile(`(^|[_\-])(utils?|commons?|helpers?|managers?|impls?|base|misc)($|[_\-])|.(utils?|helpers?)$`)

func TestNamesSayWhatIsInside(t *testing.T) {
	for _, f := range tree(t) {
		stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if vague.MatchString(stem) {
			t.Errorf("%s: name the file after its topic", f.path)
		}
		if name := strings.TrimSuffix(f.ast.Name.Name, "_test"); vague.MatchString(name) {
			t.Errorf("%s: name package %s after what it is for", f.path, name)
		}
	}
}

func TestVagueNames(t *testing.T) {
	for name, want := range map[string]bool{
		"util": true, "read_utils": true, "common": true, "helper_x": true, "testutil": true, "base": true, "impl": true, "lock_manager": true,
		"database": false, "baseline": false, "simple": false, "implicit": false, "commit": false, "manage": false,
	} {
		if got := vague.MatchString(name); got != want {
			t.Errorf("vague(%q) = %v, want %v", name, got, want)
		}
	}
}

var floorMark = regexp.MustCompile(`Floor (F[0-7])`)

// TestEveryPackageHasDoc wants a doc.go in each package: what it is for and, in
// the library, on which floor it stands.
func TestEveryPackageHasDoc(t *testing.T) {
	fl := readFloors(t)
	files := tree(t)
	docs := map[string]*file{}
	for _, f := range files {
		if path.Base(f.path) == "doc.go" {
			docs[f.pkg] = f
		}
	}
	for _, pkg := range packages(files) {
		f := docs[pkg]
		if f == nil {
			t.Errorf("package %s has no doc.go: add one with a short package comment: what it is for, its floor, its place in the walk", pkg)
			continue
		}
		comment := f.ast.Doc.Text()
		start := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			start = "Command " // "Command tarn …"
		}
		if !strings.HasPrefix(comment, start) {
			t.Errorf("%s: the package comment must begin with %q", f.path, start)
		}
		floor, _ := fl.floor(pkg)
		if !isFloor(floor) || f.ast.Name.Name == "main" {
			continue
		}
		if m := floorMark.FindStringSubmatch(comment); m == nil || m[1] != floor {
			t.Errorf("%s: say `Floor %s.`, as internal/lint/%s does", f.path, floor, floorsFile)
		}
	}
	for _, f := range files {
		if !f.test && f.ast.Doc != nil && path.Base(f.path) != "doc.go" && docs[f.pkg] != nil && !onlyDirectives(f) {
			t.Errorf("%s: the package comment belongs into %s/doc.go", f.path, f.pkg)
		}
	}
}

// onlyDirectives tells whether the comment above the package clause is nothing but //go: lines.
func onlyDirectives(f *file) bool { return strings.TrimSpace(f.ast.Doc.Text()) == "" }
