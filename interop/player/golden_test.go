package player

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/internal/golden"
	"github.com/tarnlake/tarn/interop"
	"github.com/tarnlake/tarn/tarnerr"
)

var update = flag.Bool("update", false, "rewrite the lists in testdata")

// refusedFile lists the golden scenarios that cannot be replayed yet, each with
// the first thing it is refused for. The list only shrinks.
const refusedFile = "testdata/refused.txt"

func refused(t *testing.T) map[string]string {
	t.Helper()
	return readList(t, refusedFile)
}

// readList reads lines of a name and a reason.
func readList(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, why, ok := strings.Cut(lines.Text(), "\t"); ok {
			out[name] = why
		}
	}
	return out
}

// replay plays a golden's scenario into a warehouse directory.
func replay(ctx context.Context, warehouse string, s *interop.Scenario) error {
	cat, err := tarn.Open(ctx, warehouse, tarn.Config{Memory: 64 << 20, Workers: 1, Durability: fileio.OS})
	if err != nil {
		return err
	}
	defer cat.Close()
	return Play(ctx, cat, s)
}

func goldenScenario(t *testing.T, set *golden.Set, name string) *interop.Scenario {
	t.Helper()
	s, err := interop.ParseScenario(set.Table(t, name).Scenario)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every golden scenario is carried out, its expectations met, or refused by name.
func TestGoldenScenarios(t *testing.T) {
	set := golden.Open(t)
	got := map[string]string{}
	var text bytes.Buffer
	for _, name := range set.Names() {
		err := replay(t.Context(), t.TempDir(), goldenScenario(t, set, name))
		switch {
		case err == nil:
		case tarnerr.KindOf(err) == tarnerr.Unsupported:
			got[name] = feature(err)
			text.WriteString(name + "\t" + got[name] + "\n")
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	if *update {
		if err := os.WriteFile(refusedFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known := refused(t)
	for name, why := range got {
		switch known[name] {
		case why:
		case "":
			t.Errorf("%s is refused, but not in %s: %s", name, refusedFile, why)
		default:
			t.Errorf("%s is refused for %q, but in %s for %q (go test ./interop/player -update)", name, why, refusedFile, known[name])
		}
	}
	for name := range known {
		if got[name] == "" {
			t.Errorf("%s can be replayed now: drop it from %s (go test ./interop/player -update)", name, refusedFile)
		}
	}
}

var (
	option    = regexp.MustCompile(`option=(\S+) value=(\S+)`)
	wrapping  = regexp.MustCompile(`^[a-z ]+: `)
	decorated = regexp.MustCompile(`(\. [A-Z].*| scenario=.*)$`)
)

// feature is the middle of a refusal: neither where it was met nor the way out.
func feature(err error) string {
	text := err.Error()
	if m := option.FindStringSubmatch(text); m != nil {
		return "option " + m[1] + "=" + strings.TrimSuffix(m[2], ".")
	}
	for wrapping.MatchString(text) {
		text = wrapping.ReplaceAllString(text, "")
	}
	return decorated.ReplaceAllString(text, "")
}
