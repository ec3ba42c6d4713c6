package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/tarnerr"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	invariant     = regexp.MustCompile(`INV-[A-Z]+-[0-9]+`)
	invariantHead = regexp.MustCompile(`(?m)^\*\*(INV-[A-Z]+-[0-9]+)\. `)
)

// TestInvariantsAreListed wants each number that the source names explained in
// docs/invariants.md, once. INV-X is the number tests make up.
func TestInvariantsAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range invariantHead.FindAllStringSubmatch(readDoc(t, "invariants.md"), -1) {
		if listed[m[1]] {
			t.Errorf("docs/invariants.md: %s stands there twice", m[1])
		}
		listed[m[1]] = true
	}
	if len(listed) == 0 {
		t.Fatal("no invariant found in docs/invariants.md")
	}
	for _, f := range tree(t) {
		src, err := os.ReadFile(filepath.Join(root(t), f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range invariant.FindAllString(string(src), -1) {
			if !listed[id] && !strings.HasPrefix(id, "INV-X-") {
				t.Errorf("%s names %s, which docs/invariants.md does not explain", f.path, id)
			}
		}
	}
}

var kindRow = regexp.MustCompile(`(?m)^\| ([A-Z][A-Za-z]+) \| ([a-z ]+) \| ([0-9]+) \|`)

// TestErrorsAreListed holds the table of docs/errors.md equal to package tarnerr.
func TestErrorsAreListed(t *testing.T) {
	type row struct {
		name string
		code int
	}
	listed := map[string]row{} // by reason
	for _, m := range kindRow.FindAllStringSubmatch(readDoc(t, "errors.md"), -1) {
		code, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		listed[m[2]] = row{m[1], code}
	}
	kinds := 0
	// Kinds are consecutive; the first value without a name of its own ends them.
	for k := tarnerr.Internal; k == tarnerr.Internal || k.String() != tarnerr.Internal.String(); k++ {
		kinds++
		got, ok := listed[k.String()]
		if !ok {
			t.Errorf("docs/errors.md has no row for kind %q", k)
			continue
		}
		if got.code != k.ExitCode() {
			t.Errorf("docs/errors.md: kind %q has exit code %d, in the code %d", k, got.code, k.ExitCode())
		}
		if flat := strings.ReplaceAll(k.String(), " ", ""); !strings.EqualFold(flat, got.name) {
			t.Errorf("docs/errors.md: kind %q is called %s", k, got.name)
		}
	}
	if len(listed) != kinds {
		t.Errorf("docs/errors.md lists %d kinds, package tarnerr has %d", len(listed), kinds)
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// TestLinksLeadSomewhere checks the relative links of every Markdown file.
func TestLinksLeadSomewhere(t *testing.T) {
	top := root(t)
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "testdata/*.md", "testdata/*/*.md", "examples/*/*.md", "interop/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	if len(docs) < 4 {
		t.Fatalf("found only %d Markdown files", len(docs))
	}
	for _, doc := range docs {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(top, doc)
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", filepath.ToSlash(rel), m[1])
			}
		}
	}
}
