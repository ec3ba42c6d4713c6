//go:build interop

package player

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/interop"
)

// unreadFile lists the queries of golden scenarios that pypaimon does not answer on
// Java's own tables as Java does: the scenario, the query and why. The list only shrinks.
const unreadFile = "testdata/pypaimon.txt"

// otherRows is why a query is on the list that pypaimon answers, but not as Java does.
const otherRows = "other rows"

// unread is that list and what has become of it.
type unread struct {
	known map[string]string

	mu  sync.Mutex
	got map[string]string // what was asked, with "" where the answer is right
}

// readUnread reads the list, which is of these scenarios alone. After the test with all
// its parts, a line for what they do not ask fails it.
func readUnread(t *testing.T, scenarios []string) *unread {
	t.Helper()
	u := &unread{known: readList(t, unreadFile), got: map[string]string{}}
	for key := range u.known {
		if name, _, _ := strings.Cut(key, " "); !slices.Contains(scenarios, name) {
			t.Errorf("%s: %s is no scenario that is replayed", unreadFile, name)
		}
	}
	t.Cleanup(func() {
		if *update {
			u.write(t)
			return
		}
		for key := range u.known {
			name, _, _ := strings.Cut(key, " ")
			_, ran := u.got[name+" plain"] // -run may have left it out
			if _, asked := u.got[key]; ran && !asked {
				t.Errorf("%s: nothing asks for %q", unreadFile, key)
			}
		}
	})
	return u
}

// check compares why a query is not answered, "" when it is, with the list, and reports
// whether it is.
func (u *unread) check(t *testing.T, key, why string) bool {
	t.Helper()
	u.mu.Lock()
	u.got[key] = why
	u.mu.Unlock()
	switch known := u.known[key]; {
	case *update, known == why:
	case known == "":
		t.Errorf("pypaimon on Java's table, %s: %s", key, why)
	case why == "":
		t.Errorf("pypaimon reads %s now: drop it from %s", key, unreadFile)
	default:
		t.Errorf("pypaimon on Java's table, %s: %s, but in %s for %s", key, why, unreadFile, known)
	}
	return why == ""
}

func (u *unread) write(t *testing.T) {
	all := maps.Clone(u.known)
	maps.Copy(all, u.got)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != "" {
			text.WriteString(key + "\t" + all[key] + "\n")
		}
	}
	if err := os.WriteFile(unreadFile, []byte(text.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// misread is why pypaimon does not answer a query with the lines wanted, "" when it does.
func misread(t *testing.T, p *interop.Python, q interop.Query, want []string) string {
	t.Helper()
	rows, err := p.Read(t.Context(), q)
	if failure := new(interop.Failure); errors.As(err, &failure) {
		root := failure.Chain[len(failure.Chain)-1]
		first, _, _ := strings.Cut(strings.ReplaceAll(root, q.Warehouse, "WAREHOUSE"), "\n")
		return first
	}
	if err != nil {
		t.Fatal(err) // it ended: that is no answer
	}
	if !slices.Equal(rows.Lines, want) {
		return otherRows
	}
	return ""
}
