package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"testing"
)

// deletions lists where a file uses a method Delete or DeleteAll of anything: a
// storage, or what stands before one. What packages name so is none.
func deletions(f *file) []string {
	packages := map[string]bool{}
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := importName(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = true
	}
	var out []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Delete" && sel.Sel.Name != "DeleteAll" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] {
			return true
		}
		out = append(out, f.at(sel.Pos()))
		return true
	})
	return out
}

// TestCommitsDeleteInOnePlace holds internal/commit to its promise: files are deleted
// in cleanup.go alone, where what is in doubt is held back.
func TestCommitsDeleteInOnePlace(t *testing.T) {
	in := 0
	for _, f := range tree(t) {
		if f.test || f.pkg != "internal/commit" {
			continue
		}
		found := deletions(f)
		if path.Base(f.path) == "cleanup.go" {
			in += len(found)
			continue
		}
		for _, at := range found {
			t.Errorf("%s: files are deleted in cleanup.go alone", at)
		}
	}
	if in == 0 {
		t.Error("internal/commit/cleanup.go deletes nothing: has it been moved?")
	}
}

// TestDeletionsAreFound proves that the search can fail.
func TestDeletionsAreFound(t *testing.T) {
	const src = `package p
import (
	"slices"
	log "example.com/manifest"
)
func f(c committer) {
	c.cfg.FileIO.Delete(ctx, "x")
	slices.Delete(s, 1, 2)
	_ = log.Delete
	remove := fio.DeleteAll
}
`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := deletions(&file{path: "p/p.go", pkg: "p", ast: parsed, fset: fset})
	if want := []string{"p/p.go:7", "p/p.go:10"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
