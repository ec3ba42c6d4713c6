package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// A ban forbids an import, or some functions of one. Simulation and replay
// depend on it: whatever differs from run to run comes through internal/env.
type ban struct {
	path  string
	names []string // empty: the import itself
	way   string   // the way out
}

var bans = []ban{
	{"time", []string{"Now", "Since", "Until"}, "take the time from env.Env.Now"},
	{"time", []string{"Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}, "wait with env.Env.Sleep"},
	{"math/rand", nil, "take random numbers from env.Env"},
	{"math/rand/v2", nil, "take random numbers from env.Env"},
	{"crypto/rand", nil, "take random numbers and UUIDs from env.Env"},
	{"github.com/google/uuid", []string{"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7"}, "take UUIDs from env.Env.UUID"},
	{"os", []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, "read the environment in internal/cli and hand the value down"},
}

// mayBan tells whether the ban list holds for a file: not in the seam itself,
// in the command, in tests, or in programs beside the library.
func mayBan(fl floors, f *file) bool {
	if f.test || f.pkg == "internal/env" || f.pkg == "internal/cli" {
		return false
	}
	floor, _ := fl.floor(f.pkg)
	return floor != "P" && floor != "T"
}

// banned lists what a file uses of the ban list.
func banned(f *file) []string {
	var out []string
	local := map[string][]ban{} // local name of an import → its bans
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		for _, b := range bans {
			if b.path != p {
				continue
			}
			name := importName(p)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if len(b.names) == 0 || name == "." {
				out = append(out, fmt.Sprintf("%s: import of %s: %s", f.at(spec.Pos()), p, b.way))
				continue
			}
			local[name] = append(local[name], b)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, b := range local[x.Name] {
			for _, name := range b.names {
				if sel.Sel.Name == name {
					out = append(out, fmt.Sprintf("%s: use of %s.%s: %s", f.at(sel.Pos()), b.path, name, b.way))
				}
			}
		}
		return true
	})
	return out
}

// importName is the name a package goes by: its last element, major versions left out.
func importName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	return base
}

func TestBanList(t *testing.T) {
	fl := readFloors(t)
	for _, f := range tree(t) {
		if !mayBan(fl, f) {
			continue
		}
		for _, hit := range banned(f) {
			t.Error(hit)
		}
	}
}

// TestBanListFinds proves that the search can fail.
func TestBanListFinds(t *testing.T) {
	const src = `package p
import (
	"math/rand/v2"
	"os"
	clock "time"
	"github.com/google/uuid"
)
var _ = clock.Now()
var wait = clock.Sleep
var _ = uuid.New()
var _ = uuid.MustParse("x")
var _ = os.Getenv("HOME")
var _ clock.Duration = rand.N(clock.Second)
`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := banned(&file{path: "p/p.go", pkg: "p", ast: parsed, fset: fset})
	want := []string{"p/p.go:3", "p/p.go:8", "p/p.go:9", "p/p.go:10", "p/p.go:12"}
	if len(got) != len(want) {
		t.Fatalf("found %q, want one hit each at %q", got, want)
	}
	for i, place := range want {
		if !strings.HasPrefix(got[i], place+":") {
			t.Errorf("hit %d is %q, want it at %s", i, got[i], place)
		}
	}
}
