package lint

import (
	"bytes"
	"go/ast"
	"go/printer"
	"go/token"
	"path"
	"sort"
	"strings"
	"testing"
)

const apiFile = "../../docs/api.txt"

const apiHead = `# The exported API of Tarn's public packages, one declaration a line.
# Rewritten by: go test ./internal/lint -update
# A line that goes away or changes breaks users: it needs a decision record in docs/adr.
`

// TestExportedAPI holds docs/api.txt equal to what the public packages export.
func TestExportedAPI(t *testing.T) {
	fl := readFloors(t)
	byPkg := map[string][]*ast.File{}
	for _, f := range tree(t) {
		floor, _ := fl.floor(f.pkg)
		if f.test || !isFloor(floor) || isInternal(f.pkg) || f.ast.Name.Name == "main" {
			continue
		}
		byPkg[f.pkg] = append(byPkg[f.pkg], f.ast)
	}
	pkgs := make([]string, 0, len(byPkg))
	for pkg := range byPkg {
		pkgs = append(pkgs, pkg)
	}
	sort.Strings(pkgs)
	got := apiHead
	for _, pkg := range pkgs {
		lines := exported(byPkg[pkg])
		if len(lines) == 0 {
			continue
		}
		got += "\n" + path.Join(module, pkg) + "\n"
		for _, l := range lines {
			got += "  " + l + "\n"
		}
	}
	compareFile(t, apiFile, got, "the exported API changed. If that is wanted, run `make update`; a line that went away needs a decision record in docs/adr")
}

func isInternal(pkg string) bool {
	return strings.HasPrefix(pkg+"/", "internal/") || strings.Contains(pkg+"/", "/internal/")
}

// exported lists what files export, one line each, sorted, twins from files of
// different build tags once.
func exported(files []*ast.File) []string {
	seen := map[string]bool{}
	add := func(line string) { seen[line] = true }
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exportedFunc(d, add)
			case *ast.GenDecl:
				exportedGen(d, add)
			}
		}
	}
	lines := make([]string, 0, len(seen))
	for l := range seen {
		lines = append(lines, l)
	}
	sort.Strings(lines)
	return lines
}

func exportedFunc(d *ast.FuncDecl, add func(string)) {
	if !d.Name.IsExported() {
		return
	}
	sig := strings.TrimPrefix(text(d.Type), "func")
	if d.Recv == nil {
		add("func " + d.Name.Name + sig)
		return
	}
	recv := d.Recv.List[0].Type
	if !ast.IsExported(typeName(recv)) {
		return
	}
	add("method (" + text(recv) + ") " + d.Name.Name + sig)
}

func exportedGen(d *ast.GenDecl, add func(string)) {
	var implied ast.Expr // type of the constants above in an iota group
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				exportedType(spec, add)
			}
		case *ast.ValueSpec:
			if d.Tok == token.CONST && (spec.Type != nil || len(spec.Values) > 0) {
				implied = spec.Type
			}
			typ := spec.Type
			if d.Tok == token.CONST && typ == nil {
				typ = implied
			}
			for _, name := range spec.Names {
				if !name.IsExported() {
					continue
				}
				line := d.Tok.String() + " " + name.Name
				if typ != nil {
					line += " " + text(typ)
				}
				add(line)
			}
		}
	}
}

func exportedType(spec *ast.TypeSpec, add func(string)) {
	head := "type " + spec.Name.Name
	if spec.TypeParams != nil {
		head += typeParams(spec.TypeParams)
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		add(head + " struct")
		for _, field := range typ.Fields.List {
			if len(field.Names) == 0 && ast.IsExported(typeName(field.Type)) {
				add(head + " struct, " + text(field.Type))
			}
			for _, name := range field.Names {
				if name.IsExported() {
					add(head + " struct, " + name.Name + " " + text(field.Type))
				}
			}
		}
	case *ast.InterfaceType:
		add(head + " interface")
		for _, m := range typ.Methods.List {
			if len(m.Names) == 0 {
				add(head + " interface, " + text(m.Type))
			}
			for _, name := range m.Names {
				// Unexported methods count: they close the interface to other packages.
				add(head + " interface, " + name.Name + strings.TrimPrefix(text(m.Type), "func"))
			}
		}
	default:
		if spec.Assign.IsValid() {
			head += " ="
		}
		add(head + " " + text(spec.Type))
	}
}

// typeName is the bare name of a receiver or embedded type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}

func typeParams(list *ast.FieldList) string {
	var parts []string
	for _, f := range list.List {
		for _, n := range f.Names {
			parts = append(parts, n.Name+" "+text(f.Type))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// text prints an expression on one line, without comments.
func text(e ast.Expr) string {
	var b bytes.Buffer
	// The nodes carry positions of many lines; an empty file set makes the printer ignore them.
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	line := strings.Join(strings.Fields(b.String()), " ")
	return strings.NewReplacer(",)", ")", "( ", "(").Replace(line)
}
