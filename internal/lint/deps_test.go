package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const depsFile = "testdata/deps.txt"

// entries are the packages a library user starts from.
var entries = []string{".", "table", "fileio/local"}

const depsHead = `# The modules that a library user's program links, by the package imported.
# Rewritten by: go test ./internal/lint -update
# A new line here is a decision: it becomes a dependency of everyone who embeds Tarn.
`

func TestDependenciesOfLibraryUsers(t *testing.T) {
	got := depsHead
	for _, entry := range entries {
		got += "\n" + entry + "\n"
		for _, m := range modulesOf(t, entry) {
			got += "  " + m + "\n"
		}
	}
	compareFile(t, depsFile, got, "a dependency appeared or went away. Prefer to move the import out of the library; if it is wanted, run `make update` and say why in the commit")
}

// modulesOf lists the modules other than this one whose packages entry links.
// Platform and cgo are pinned, so that the list is the same on every machine.
func modulesOf(t *testing.T, entry string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+entry)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing the dependencies of %s: %v\n%s", entry, err, stderr.String())
	}
	seen := map[string]bool{}
	for _, m := range strings.Fields(string(out)) {
		if m != module {
			seen[m] = true
		}
	}
	mods := make([]string, 0, len(seen))
	for m := range seen {
		mods = append(mods, m)
	}
	sort.Strings(mods)
	return mods
}

// compareFile compares got with a file kept in the repository, or rewrites it with -update.
func compareFile(t *testing.T, name, got, advice string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if added, gone := lineDiff(string(want), got); len(added)+len(gone) > 0 || string(want) != got {
		t.Errorf("%s differs: %s.\n%s", name, advice, strings.Join(append(prefixed("- ", gone), prefixed("+ ", added)...), "\n"))
	}
}

// lineDiff lists the lines only in b, and those only in a.
func lineDiff(a, b string) (added, gone []string) {
	count := map[string]int{}
	for _, l := range strings.Split(a, "\n") {
		count[l]++
	}
	for _, l := range strings.Split(b, "\n") {
		if count[l] > 0 {
			count[l]--
			continue
		}
		added = append(added, l)
	}
	for _, l := range strings.Split(a, "\n") {
		if count[l] > 0 {
			count[l]--
			gone = append(gone, l)
		}
	}
	return added, gone
}

func prefixed(p string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p + l
	}
	return out
}
