package option

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/options.md anew")

const docs = "../docs/options.md"

// docs/options.md is the table, printed.
func TestDocs(t *testing.T) {
	want := render()
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docs)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./option -run TestDocs -update", err)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("docs/options.md is not the table of package option; write it anew with: go test ./option -run TestDocs -update\n%s", d)
	}
}

func render() string {
	var b strings.Builder
	b.WriteString(`# Table options

Every table option of Paimon 1.4.2 and what this version of Tarn makes of it. The file is printed from the table in package
` + "`option`" + ` by its test; change the table, not this page.

| state | meaning |
|---|---|
| honoured | does what Paimon documents |
| harmless | kept; ignoring it changes neither what a read returns nor what other readers and writers of the table see |
| refuses writes | a value other than the default and those listed refuses writes, by key and value; reads stay right |
| refuses reads | such a value refuses reads and writes |

Keys that are not listed are kept and carried. A listed key whose value does not parse is refused when a table is created,
altered, read or written. Sizes are written "128 mb" (steps of 1024; no unit: bytes), durations "10 ms", "5 min", "1 h" (no unit: milliseconds).

`)
	counts := map[State]int{}
	for _, k := range Keys() {
		counts[k.State]++
	}
	fmt.Fprintf(&b, "%d honoured, %d harmless, %d refuse writes, %d refuse reads.\n",
		counts[Honoured], counts[Harmless], counts[RefusesWrites], counts[RefusesReads])
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| option | type | default | state | what |\n|---|---|---|---|---|\n", g.title)
		for _, k := range g.keys {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", nameCell(&k), typeCell(&k), defaultCell(&k), k.State, noteCell(&k))
		}
	}
	b.WriteString("\n## Families of options\n\n| option | state | what |\n|---|---|---|\n")
	for _, p := range Patterns() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p, p.State, p.Note)
	}
	return b.String()
}

func nameCell(k *Key) string {
	s := "`" + k.Name + "`"
	if len(k.Fallbacks) > 0 {
		s += " (also `" + strings.Join(k.Fallbacks, "`, `") + "`)"
	}
	return s
}

func typeCell(k *Key) string {
	if k.Kind == Enum {
		return strings.Join(k.Values, ", ")
	}
	return k.Kind.String()
}

func defaultCell(k *Key) string {
	switch {
	case !k.HasDefault():
		return ""
	case k.Default == "":
		return "empty"
	}
	return "`" + k.Default + "`"
}

func noteCell(k *Key) string {
	s := strings.ReplaceAll(k.Note, "|", `\|`)
	if len(k.Accept) > 0 {
		s = strings.TrimSuffix(s+"; also `"+strings.Join(k.Accept, "`, `")+"`", "; ")
	}
	if k.Immutable {
		if s != "" {
			s += "; "
		}
		s += "fixed once the table holds data"
	}
	return s
}
