package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namedTest = regexp.MustCompile("`([a-z/]*)\\.(Test[A-Za-z0-9]+)(?:/([a-z/.]+))?`")

// TestCasesHaveTests holds docs/cases.md to the tests that it names: a test of a
// package, and perhaps a file of its testdata that names the report.
func TestCasesHaveTests(t *testing.T) {
	top := root(t)
	page, err := os.ReadFile(filepath.Join(top, "docs", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the tests of a package, as text
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| report") {
			continue
		}
		rows++
		source := strings.TrimSpace(strings.Split(line, "|")[1])
		named := namedTest.FindAllStringSubmatch(line, -1)
		if named == nil && !strings.Contains(line, "waits for") {
			t.Errorf("docs/cases.md: %s names no test", source)
		}
		for _, m := range named {
			pkg, name, file := m[1], m[2], m[3]
			if tests[pkg] == "" {
				files, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(pkg), "*_test.go"))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					data, err := os.ReadFile(f)
					if err != nil {
						t.Fatal(err)
					}
					tests[pkg] += string(data)
				}
			}
			if !strings.Contains(tests[pkg], "func "+name+"(t ") {
				t.Errorf("docs/cases.md: %s names %s.%s, which is not there", source, pkg, name)
			}
			if file == "" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(pkg), "testdata", filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("docs/cases.md: %s: %v", source, err)
			} else if !strings.Contains(string(data), strings.Split(source, ",")[0]) {
				t.Errorf("docs/cases.md: %s of %s does not name %s", file, name, source)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d cases were found", rows)
	}
}
