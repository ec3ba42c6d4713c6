package lint

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/tarnlake/tarn"

var update = flag.Bool("update", false, "rewrite docs/api.txt and testdata/deps.txt")

// file is one Go source file of the module, parsed whatever its build tags say.
type file struct {
	path  string // from the module's root, with slashes
	pkg   string // directory from the module's root, "." for the root
	test  bool
	lines int
	ast   *ast.File
	fset  *token.FileSet
}

// at is the place of pos as path:line.
func (f *file) at(pos token.Pos) string {
	p := f.fset.Position(pos)
	p.Filename = f.path
	p.Column = 0
	return p.String()
}

// imports lists the packages of this module that f imports, as directories.
func (f *file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if p == module {
			out = append(out, ".")
		} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree parses every Go file of the module. Nested modules, testdata and hidden
// folders are left out.
func tree(t *testing.T) []*file {
	t.Helper()
	top := root(t)
	fset := token.NewFileSet()
	var files []*file
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "." {
				return nil
			}
			if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fset, p, src, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, &file{
			path:  rel,
			pkg:   path.Dir(rel),
			test:  strings.HasSuffix(rel, "_test.go"),
			lines: strings.Count(string(src), "\n"),
			ast:   parsed,
			fset:  fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files below %s: the walk is broken", len(files), top)
	}
	return files
}
