package lint

import (
	"bufio"
	"os"
	"path"
	"sort"
	"strings"
	"testing"
)

const floorsFile = "testdata/floors.txt"

// floors is the parsed floors.txt.
type floors struct {
	of   map[string]string  // package or pattern → F0 … F7, P, T
	same map[[2]string]bool // importer, imported
}

func readFloors(t *testing.T) floors {
	t.Helper()
	f, err := os.Open(floorsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fl := floors{of: map[string]string{}, same: map[[2]string]bool{}}
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		words := strings.Fields(scanner.Text())
		switch {
		case len(words) == 0 || words[0][0] == '#':
		case len(words) == 4 && words[0] == "same" && words[2] == "->":
			fl.same[[2]string{words[1], words[3]}] = true
		case len(words) == 2 && (words[0] == "P" || words[0] == "T" || isFloor(words[0])):
			if _, twice := fl.of[words[1]]; twice {
				t.Fatalf("%s:%d: %s is listed twice", floorsFile, n, words[1])
			}
			fl.of[words[1]] = words[0]
		default:
			t.Fatalf("%s:%d: %q is neither `F0…F7|P|T package` nor `same A -> B`", floorsFile, n, scanner.Text())
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return fl
}

func isFloor(s string) bool { return len(s) == 2 && s[0] == 'F' && s[1] >= '0' && s[1] <= '7' }

// floor of a package: its own line, or that of the closest `parent/*`.
func (fl floors) floor(pkg string) (string, bool) {
	if f, ok := fl.of[pkg]; ok {
		return f, true
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) {
		if f, ok := fl.of[dir+"/*"]; ok {
			return f, true
		}
	}
	return "", false
}

// violation says why from may not import to, or "".
func (fl floors) violation(from, to string) string {
	a, okA := fl.floor(from)
	b, okB := fl.floor(to)
	switch {
	case !okA || !okB:
		return "" // reported by TestEveryPackageHasAFloor
	case b == "T" && a != "T":
		return "only tests may import a package of floor T"
	case b == "P":
		return "a program is not imported; move what is shared into a package of its own"
	case a == "P" || a == "T":
		return ""
	case a > b:
		return ""
	case a == b && fl.same[[2]string{from, to}]:
		return ""
	case a == b:
		return "both stand on floor " + a + "; pass one of the nouns instead, or, when one is truly made of the other, add `same " + from + " -> " + to + "` with its reason to " + floorsFile
	default:
		return from + " (" + a + ") stands below " + to + " (" + b + "); let the upper one call the lower one, or declare an interface below"
	}
}

func TestEveryPackageHasAFloor(t *testing.T) {
	fl := readFloors(t)
	for _, pkg := range packages(tree(t)) {
		if _, ok := fl.floor(pkg); !ok {
			t.Errorf("package %s has no floor: add a line `F<n> %s` to internal/lint/%s; n is one more than the highest floor it imports", pkg, pkg, floorsFile)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	fl := readFloors(t)
	used := map[[2]string]bool{}
	files := tree(t)
	for _, f := range files {
		if f.test {
			continue
		}
		for _, to := range f.imports() {
			used[[2]string{f.pkg, to}] = true
			if why := fl.violation(f.pkg, to); why != "" {
				t.Errorf("%s imports %s: %s", f.path, to, why)
			}
		}
	}
	if len(used) == 0 {
		t.Fatal("no import inside the module was seen: the walk is broken")
	}
	built := map[string]bool{}
	for _, pkg := range packages(files) {
		built[pkg] = true
	}
	for pair := range fl.same {
		if built[pair[0]] && built[pair[1]] && !used[pair] {
			t.Errorf("%s allows %s -> %s, which nobody needs: remove the line", floorsFile, pair[0], pair[1])
		}
	}
}

// TestFloorRules proves that the rules can fail.
func TestFloorRules(t *testing.T) {
	fl := floors{
		of: map[string]string{
			"types": "F0", "expr": "F0", "fileio": "F1", "internal/write": "F4", "internal/read": "F4",
			"examples/*": "P", "internal/golden": "T",
		},
		same: map[[2]string]bool{{"expr", "types"}: true},
	}
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"fileio", "types", true},
		{"expr", "types", true},
		{"types", "expr", false},
		{"types", "fileio", false},
		{"internal/write", "internal/read", false},
		{"internal/write", "internal/golden", false},
		{"internal/golden", "internal/write", true},
		{"examples/demo", "internal/write", true},
		{"internal/write", "examples/demo", false},
	} {
		if got := fl.violation(c.from, c.to) == ""; got != c.allowed {
			t.Errorf("%s -> %s: allowed = %v, want %v", c.from, c.to, got, c.allowed)
		}
	}
	if _, ok := fl.floor("internal/unknown"); ok {
		t.Error("an unlisted package has a floor")
	}
}

// packages lists the directories that hold Go files, sorted.
func packages(files []*file) []string {
	seen := map[string]bool{}
	var out []string
	for _, f := range files {
		if !seen[f.pkg] {
			seen[f.pkg] = true
			out = append(out, f.pkg)
		}
	}
	sort.Strings(out)
	return out
}
