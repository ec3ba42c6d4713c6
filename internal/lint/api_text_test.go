package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestExportedFinds proves that the listing sees each form of declaration and
// nothing that is not exported.
func TestExportedFinds(t *testing.T) {
	const src = `package p
type Kind uint8
const (
	A Kind = iota
	B
	c
)
const Text = "x"
var Default, other Kind
type Alias = Kind
type Box[T any] struct {
	Name string // comment
	hidden int
	Kind
}
func (b *Box[T]) Get(
	i int,
) (T, error) { var z T; return z, nil }
func (b *Box[T]) get() {}
type closed interface{ M() }
type Open interface {
	M(ctx int) error
	seal()
}
func Do(f func(int) bool, opts ...string) {}
func (closed2) Seen() {}
type closed2 struct{}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"const A Kind",
		"const B Kind",
		"const Text",
		"func Do(f func(int) bool, opts ...string)",
		"method (*Box[T]) Get(i int) (T, error)",
		"type Alias = Kind",
		"type Box[T any] struct",
		"type Box[T any] struct, Kind",
		"type Box[T any] struct, Name string",
		"type Kind uint8",
		"type Open interface",
		"type Open interface, M(ctx int) error",
		"type Open interface, seal()",
		"var Default Kind",
	}
	if got := exported([]*ast.File{f}); !slices.Equal(got, want) {
		t.Errorf("exported:\n%q\nwant:\n%q", got, want)
	}
}
