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

// deleters are the stages that remove files of a table, each in one file: where what
// is in doubt, or needed by others, is held back.
var deleters = map[string]string{"internal/commit": "cleanup.go", "internal/maintain": "delete.go"}

// TestStagesDeleteInOnePlace holds them to it.
func TestStagesDeleteInOnePlace(t *testing.T) {
	in := map[string]int{}
	for _, f := range tree(t) {
		where, held := deleters[f.pkg]
		if f.test || !held {
			continue
		}
		found := deletions(f)
		if path.Base(f.path) == where {
			in[f.pkg] += len(found)
			continue
		}
		for _, at := range found {
			t.Errorf("%s: files are deleted in %s alone", at, where)
		}
	}
	for pkg, where := range deleters {
		if in[pkg] == 0 {
			t.Errorf("%s/%s deletes nothing: has it been moved?", pkg, where)
		}
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
